// The backends by URL scheme: what opens a source for one look.
import { GuardedClient, type GuardOptions } from '../../upstream/guard/client.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import type { SkillSourceSpec } from '../resources/skill-source.ts';
import type { LookContext } from './backend.ts';
import { openConfigMapSource } from './configmap.ts';
import { openDiscoverySource } from './discovery.ts';
import { type FolderRoots, openFolderSource } from './folder.ts';
import { openGitSource } from './git.ts';
import { openOciSource } from './oci.ts';
import { openS3Source } from './s3.ts';
import type { Source } from './source.ts';
import { openWebDavSource } from './webdav.ts';

export interface BackendsOptions extends FolderRoots {
  guard: GuardOptions;
}

export class Backends {
  readonly #client: GuardedClient;
  readonly #roots: FolderRoots;

  /** @throws Error when a denied range is no CIDR; UpstreamFault TLSFailed when the extra authorities cannot be read */
  constructor({ guard, fileRoot, closedFolders }: BackendsOptions) {
    this.#client = new GuardedClient(guard);
    this.#roots = { fileRoot, closedFolders };
  }

  /**
   * @param spec a valid spec's address
   * @param cluster where ConfigMaps are read
   * @throws UpstreamFault, SourceFault, KubernetesError
   */
  async open(
    spec: Pick<SkillSourceSpec, 'url' | 'ref' | 'subdirectory' | 'region'>,
    namespace: string,
    context: LookContext,
    cluster: Pick<Cluster, 'readConfigMap'>,
  ): Promise<Source> {
    const { url, ref, subdirectory } = spec;
    switch (url.slice(0, url.indexOf(':'))) {
      case 'configmap': {
        const name = url.slice('configmap://'.length);
        return openConfigMapSource(name, await cluster.readConfigMap(namespace, name), context);
      }
      case 'file':
        return openFolderSource(url, this.#roots, context);
      case 'webdav+https':
      case 'webdav+http':
        return openWebDavSource(url, subdirectory, context, this.#client);
      case 's3':
      case 's3+https':
      case 's3+http':
        return openS3Source(spec, context, this.#client);
      case 'oci':
      case 'oci+http':
        return openOciSource(url, context, this.#client);
      case 'https':
      case 'http':
        return openDiscoverySource(url, context, this.#client);
      default:
        return openGitSource(url, ref, context, this.#client);
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
