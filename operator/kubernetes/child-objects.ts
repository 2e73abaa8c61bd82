// The children of gateways behind a real API server: watched by the operator's label, read, applied, removed.
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import {
  type ChildKind,
  type ChildManifest,
  type Children,
  childKinds,
  type KubernetesObject,
  leavesReplicas,
} from './cluster.ts';
import type { Connection } from './connection.ts';
import { appliedReplicas, fieldManager, othersWroteSpec, replicasManager } from './field-manager.ts';
import { isKind, KubernetesError } from './kubernetes-error.ts';
import { ListWatch, type WatchMetrics } from './list-watch.ts';
import { ObjectStore } from './object-store.ts';
import {
  collectionPath,
  deployments,
  horizontalPodAutoscalers,
  httpRoutes,
  ingresses,
  networkPolicies,
  podDisruptionBudgets,
  services,
  trim,
  type WatchedResource,
} from './watched-resource.ts';

export interface ChildrenOptions {
  connection: Connection;
  namespaces: readonly string[];
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  metrics: WatchMetrics;
  log: Logger;
}

const resources: Record<ChildKind, WatchedResource> = {
  Deployment: deployments,
  Service: services,
  HorizontalPodAutoscaler: horizontalPodAutoscalers,
  PodDisruptionBudget: podDisruptionBudgets,
  NetworkPolicy: networkPolicies,
  Ingress: ingresses,
  HTTPRoute: httpRoutes,
};
/** An object is at most some 2 MB in the API server's store. */
const mostObjectBytes = 8 * 1024 * 1024;

export class ApiServerChildren implements Children {
  readonly listWatches: readonly ListWatch[];
  readonly #connection: Connection;
  readonly #stores: Record<ChildKind, ObjectStore>;
  readonly #servedListeners: (() => void)[] = [];

  constructor({ namespaces, ...common }: ChildrenOptions) {
    this.#connection = common.connection;
    const stores = childKinds.map((kind) => [kind, new ObjectStore(namespaces, common.log)]);
    this.#stores = Object.fromEntries(stores);
    const served = (): void => {
      for (const listener of this.#servedListeners) listener();
    };
    this.listWatches = childKinds.flatMap((kind) =>
      namespaces.map(
        (namespace) =>
          new ListWatch({ ...common, namespace, resource: resources[kind], store: this.#stores[kind], served }),
      ),
    );
  }

  get stores(): readonly ObjectStore[] {
    return Object.values(this.#stores);
  }

  store(kind: ChildKind): ObjectStore {
    return this.#stores[kind];
  }

  onServed(listener: () => void): void {
    this.#servedListeners.push(listener);
  }

  /** @throws KubernetesError */
  async read(kind: ChildKind, namespace: string, name: string): Promise<KubernetesObject | undefined> {
    const options = { accept: 'application/json', mostBytes: mostObjectBytes };
    try {
      return this.#trimmed(kind, await this.#connection.getJson(pathOf(kind, namespace, name), {}, options));
    } catch (error) {
      if (isKind(error, 'notFound')) return undefined;
      throw error;
    }
  }

  /**
   * The uid in the body is a precondition: a namesake that has taken the object's place is refused. An object that is new is
   * applied without force, so that one which somebody else makes at the same moment stays his.
   * @throws KubernetesError: conflict when another object stands there now
   */
  async apply(manifest: ChildManifest, found: KubernetesObject | undefined): Promise<KubernetesObject> {
    const { kind, metadata } = manifest;
    const path = pathOf(kind, metadata.namespace, metadata.name);
    if (found !== undefined && leavesReplicas(manifest)) await this.#handOverReplicas(path, manifest, found);
    const applied = await this.#connection.patchJson(
      path,
      { fieldManager, force: String(found !== undefined) },
      {
        contentType: 'application/apply-patch+yaml',
        body: found === undefined ? manifest : { ...manifest, metadata: { ...metadata, uid: found.metadata.uid } },
      },
    );
    for (const listWatch of this.listWatches) if (listWatch.isOf(resources[kind])) listWatch.lookAgain();
    if (!othersWroteSpec((applied as Applied).metadata?.managedFields)) return this.#trimmed(kind, applied);
    const replaced = await this.#connection.patchJson(
      path,
      { fieldManager },
      { contentType: 'application/json-patch+json', body: withoutOthers(manifest, applied as Applied) },
    );
    return this.#trimmed(kind, replaced);
  }

  /** @throws KubernetesError: conflict when another object stands there now */
  async remove({ kind, metadata: { namespace, name, uid } }: KubernetesObject): Promise<void> {
    const options = { preconditions: { uid }, propagationPolicy: 'Background' };
    try {
      await this.#connection.deleteJson(pathOf(kind as ChildKind, namespace, name), options);
    } catch (error) {
      if (!isKind(error, 'notFound')) throw error;
    }
  }

  /**
   * Apply takes away what is applied no more, so that a number of pods which is nobody else's would fall to 1: it is given to
   * another manager first, with whom it stays until the autoscaler sets it.
   */
  async #handOverReplicas(path: string, manifest: ChildManifest, found: KubernetesObject): Promise<void> {
    const options = { accept: 'application/json', mostBytes: mostObjectBytes };
    const raw = (await this.#connection.getJson(path, {}, options)) as Applied;
    if (!appliedReplicas(raw.metadata?.managedFields)) return;
    const { apiVersion, kind, metadata } = manifest;
    const { namespace, name } = metadata;
    const body = {
      ...{ apiVersion, kind, metadata: { namespace, name, uid: found.metadata.uid } },
      spec: { replicas: raw.spec?.replicas },
    };
    const query = { fieldManager: replicasManager, force: 'true' };
    await this.#connection.patchJson(path, query, { contentType: 'application/apply-patch+yaml', body });
  }

  #trimmed(kind: ChildKind, raw: unknown): KubernetesObject {
    try {
      return trim(resources[kind], raw);
    } catch (cause) {
      throw new KubernetesError('server', `the API server answered something that is no ${kind}`, { cause });
    }
  }
}

interface Applied {
  metadata?: { uid?: string; managedFields?: unknown };
  spec?: {
    replicas?: number;
    template?: { metadata?: { annotations?: Record<string, string> } };
    loadBalancerClass?: string;
  };
}

/**
 * Apply leaves what others own, so the spec is replaced by the operator's; the API server fills in defaults anew. The version
 * is not tested: Kubernetes writes the status all the while. Kubernetes never lets the class of a load balancer change, and on
 * some clouds an admission webhook gives each new Service one.
 */
function withoutOthers({ spec }: ChildManifest, { metadata, spec: applied }: Applied): object[] {
  const annotations = applied?.template?.metadata?.annotations;
  const template = spec.template as { metadata: object } | undefined;
  const { loadBalancerClass, replicas } = applied ?? {};
  const value = {
    ...(loadBalancerClass === undefined ? {} : { loadBalancerClass }),
    ...(replicas === undefined ? {} : { replicas }),
    ...spec,
    ...(template === undefined || annotations === undefined
      ? {}
      : { template: { ...template, metadata: { ...template.metadata, annotations } } }),
  };
  return [
    { op: 'test', path: '/metadata/uid', value: metadata?.uid },
    { op: 'replace', path: '/spec', value },
  ];
}

const pathOf = (kind: ChildKind, namespace: string, name: string): string =>
  `${collectionPath(resources[kind], namespace)}/${encodeURIComponent(name)}`;
