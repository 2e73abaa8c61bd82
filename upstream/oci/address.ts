// From `spec.url` to an artifact in a registry.

export interface ArtifactAddress {
  /** Where the registry's API stands, `https://HOST/v2/`. */
  api: URL;
  /** The registry as people name it, with its port. */
  registry: string;
  repository: string;
  tag: string | undefined;
  /** `sha256:<hex>`: these bytes and no others. */
  digest: string | undefined;
}

export type OciAddress = ({ ok: true } & ArtifactAddress) | { ok: false; message: string };

const refuse = (message: string): OciAddress => ({ ok: false, message });

const repositoryPart = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const form = new RegExp(
  `^oci(\\+http)?://([^/?#\\\\@]+)/(${repositoryPart}(?:/${repositoryPart})*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$`,
);

/** Docker Hub is called by other names than its API has. */
const dockerHub: ReadonlySet<string> = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io']);
const dockerHubApi = 'registry-1.docker.io';

/** `oci://HOST/REPOSITORY:TAG`, `oci+http://…` without TLS. A message never repeats the URL, which may hold a credential. */
export function ociAddress(text: string): OciAddress {
  if (text.split(/[/?#]/, 3)[2]?.includes('@')) {
    return refuse(
      'spec.url holds a user name or password; put credentials into a Secret and name it in spec.secretRef',
    );
  }
  const [, plain, host = '', path = '', tag, digest] = form.exec(text) ?? [];
  const registry = dockerHub.has(host.toLowerCase()) ? 'docker.io' : host.toLowerCase();
  const api = URL.parse(
    `http${plain === undefined ? 's' : ''}://${registry === 'docker.io' ? dockerHubApi : host}/v2/`,
  );
  if (host === '' || api === null) {
    return refuse('the URL of an OCI artifact is oci://HOST/REPOSITORY:TAG, or oci://HOST/REPOSITORY@sha256:DIGEST');
  }
  const repository = registry === 'docker.io' && !path.includes('/') ? `library/${path}` : path;
  return { ok: true, api, registry, repository, tag: tag ?? (digest === undefined ? 'latest' : undefined), digest };
}

/** What the artifact's state is called: a moving tag says which one. */
export const revisionOf = ({ tag }: Pick<ArtifactAddress, 'tag'>, digest: string): string =>
  tag === undefined ? digest : `${tag}@${digest}`;
