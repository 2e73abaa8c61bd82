// Where everything stands on the volume. All paths are relative to the volume's root and use `/`.

/** `gateways/<namespace>/<name>/index.json`. */
export const indexPath = (namespace: string, name: string): string => `${gatewayFolder(namespace, name)}/index.json`;

/** Which catalogues a gateway served and until when, so that they are collected neither early nor never. */
export const historyPath = (namespace: string, name: string): string =>
  `${gatewayFolder(namespace, name)}/history.json`;

/** How often a gateway's artifacts were taken, as its servers told. */
export const downloadsPath = (namespace: string, name: string): string =>
  `${gatewayFolder(namespace, name)}/downloads.json`;

export const gatewayFolder = (namespace: string, name: string): string => `gateways/${namespace}/${name}`;

/** Everything that one source has published, and the operator's own record of it. */
export const sourceFolder = (namespace: string, name: string): string => `sources/${namespace}/${name}`;

/** The operator's record of a source: what is published and what upstream called it. Servers do not read it. */
export const recordPath = (namespace: string, name: string): string => `${sourceFolder(namespace, name)}/record.json`;

/** What a source's backend wants to remember between looks (git: tree objects). Servers do not read it. */
export const memoryPath = (namespace: string, name: string): string => `${sourceFolder(namespace, name)}/upstream`;

export const cataloguesFolder = (namespace: string, name: string): string =>
  `${sourceFolder(namespace, name)}/catalogues`;

export const segmentsFolder = (namespace: string, name: string): string => `${sourceFolder(namespace, name)}/segments`;

/** @param digest `sha256:<hex>` of the file's bytes */
export const cataloguePath = (namespace: string, name: string, digest: string): string =>
  `${cataloguesFolder(namespace, name)}/${hex(digest)}.jsonl`;

/** Blobs one after the other. @param digest `sha256:<hex>` of the file's bytes */
export const segmentPath = (namespace: string, name: string, digest: string): string =>
  `${segmentsFolder(namespace, name)}/${hex(digest)}.segment`;

/** Sorted records of 44 bytes: SHA-256 (32), offset (8, big-endian), length (4, big-endian). */
export const segmentIndexPath = (namespace: string, name: string, digest: string): string =>
  `${segmentsFolder(namespace, name)}/${hex(digest)}.index`;

/** Which operator publishes, where one of several is elected. Servers do not read it. */
export const claimPath = 'claim';

/** Files under construction; on the same file system as the rest, since they are renamed into place. */
export const temporaryFolder = 'tmp';

const hex = (digest: string): string => digest.replace(/^sha256:/, '');
