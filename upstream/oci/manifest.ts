// Manifests and indexes of registries, as OCI and Docker write them: which layers an artifact has. Pure.
import { z } from 'zod';
import { UpstreamFault } from '../fault.ts';

/** Some bytes in the registry. */
export interface Descriptor {
  mediaType: string;
  /** `sha256:<hex>` */
  digest: string;
  size: number;
}

export interface Layer extends Descriptor {
  /** The path that `org.opencontainers.image.title` gives; undefined without one. */
  title: string | undefined;
  /** Whether it says that it is a tar. */
  isArchive: boolean;
  /** Whether it says that it stands for a folder, in a tar whatever its title. */
  isFolder: boolean;
}

/** What a registry has under a tag: layers, or another manifest that has them. */
export type Manifest = { kind: 'layers'; layers: Layer[] } | { kind: 'index'; chosen: Descriptor };

const ociIndex = 'application/vnd.oci.image.index.v1+json';
const ociManifest = 'application/vnd.oci.image.manifest.v1+json';
const dockerIndex = 'application/vnd.docker.distribution.manifest.list.v2+json';
const dockerManifest = 'application/vnd.docker.distribution.manifest.v2+json';

/** Without all of these a registry says that there is nothing. */
export const manifestTypes = [ociIndex, ociManifest, dockerIndex, dockerManifest].join(', ');

/** Of one manifest, as registries bound it too. */
export const largestManifest = 4 * 2 ** 20;
/** Far more than an image may have, and than anybody keeps single files in. */
const mostLayers = 4096;

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const descriptorSchema = z.object({
  mediaType: z.string().max(255).default(''),
  digest,
  size: z.int().min(0),
  annotations: z.record(z.string(), z.string()).nullish(),
});
const manifestSchema = z.object({
  schemaVersion: z.literal(2),
  layers: z.array(descriptorSchema),
});
const indexSchema = z.object({
  schemaVersion: z.literal(2),
  manifests: z.array(
    descriptorSchema.extend({
      platform: z.object({ os: z.string().optional(), architecture: z.string().optional() }).nullish(),
    }),
  ),
});

const titleKey = 'org.opencontainers.image.title';
/** `oras` marks so what it has packed of a folder. */
const unpackKey = 'io.deis.oras.content.unpack';
const archiveType = /[./+]tar([.+](gzip|gz|zstd))?$/;

/**
 * @param called what messages call it
 * @throws UpstreamFault UpstreamInvalid for what is none, or of a form that is not read; LimitExceeded for too many layers
 */
export function readManifest(bytes: Buffer, called: string): Manifest {
  const invalid = (words: string) => new UpstreamFault('UpstreamInvalid', `${called} ${words}`);
  let content: unknown;
  try {
    content = JSON.parse(bytes.toString());
  } catch {
    throw invalid('is no manifest: check spec.url, and whether a sign-in page stands in front of the registry');
  }
  if (typeof content !== 'object' || content === null) throw invalid('is no manifest');
  if ('schemaVersion' in content && content.schemaVersion === 1) {
    throw invalid('has a manifest of schema 1, which is not read: push it again with a program of today');
  }
  if ('manifests' in content) {
    const parsed = indexSchema.safeParse(content);
    if (!parsed.success) throw invalid('has an index that is not made as indexes are');
    const chosen = chosenOf(parsed.data.manifests);
    if (chosen === undefined) throw invalid('has an index that names nothing to read');
    return { kind: 'index', chosen };
  }
  const parsed = manifestSchema.safeParse(content);
  if (!parsed.success)
    throw invalid('has a manifest that is not made as manifests are, or whose digests are no sha256');
  const { layers } = parsed.data;
  if (layers.length > mostLayers) {
    throw new UpstreamFault(
      'LimitExceeded',
      `${called} has more than ${mostLayers} layers, which no field raises: pack its files into one`,
    );
  }
  return { kind: 'layers', layers: layers.map(layerOf) };
}

/** Skills are the same for every platform: the commonest one's, else the first. Attestations name no platform that there is. */
function chosenOf(manifests: z.infer<typeof indexSchema>['manifests']): Descriptor | undefined {
  const usable = manifests.filter(({ platform }) => platform?.os !== 'unknown');
  return usable.find(({ platform }) => platform?.os === 'linux' && platform.architecture === 'amd64') ?? usable[0];
}

function layerOf({ mediaType, digest, size, annotations }: z.infer<typeof descriptorSchema>): Layer {
  return {
    mediaType,
    digest,
    size,
    title: annotations?.[titleKey] || undefined,
    isArchive: archiveType.test(mediaType),
    isFolder: annotations?.[unpackKey] === 'true',
  };
}
