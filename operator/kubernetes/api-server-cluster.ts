// The cluster behind a real API server: stores kept by list and watch, single objects read, statuses and events written.
import { CoreV1Api, CustomObjectsApi, EventsV1Api, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../clock.ts';
import { ApiServerChildren } from './child-objects.ts';
import {
  type Cluster,
  type ConfigMapContent,
  childKinds,
  type EventRecord,
  type KubernetesObject,
  keyOf,
  type SecretContent,
} from './cluster.ts';
import type { Connection } from './connection.ts';
import { EventRecorder } from './event-recorder.ts';
import { fieldManager } from './field-manager.ts';
import { isKind, KubernetesError } from './kubernetes-error.ts';
import { ListWatch, type WatchMetrics, type WatchState } from './list-watch.ts';
import { ObjectStore } from './object-store.ts';
import { appliedStatus, UnconfirmedWrites } from './status.ts';
import { allNamespaces, configMaps, skillGateways, skillSources, type WatchedResource } from './watched-resource.ts';

export interface ApiServerClusterOptions {
  /** Closed by whoever made it, after `run` has ended and the last status is written. */
  connection: Connection;
  /** At least one; or `allNamespaces` alone. */
  namespaces: readonly string[];
  /** Where gateways have Deployments and Services; left out where the operator starts no servers. */
  childNamespaces?: readonly string[] | undefined;
  /** The pod's name, told in events. */
  instance: string;
  metrics: WatchMetrics;
  log: Logger;
  clock?: Clock;
  /** In [0, 1). */
  random?: () => number;
}

/** Connections that watches of so many namespaces keep for themselves over HTTP/1.1, and some for calls. */
export const connectionsFor = (namespaces: number, childNamespaces = 0): number =>
  watched.length * namespaces + childKinds.length * childNamespaces + 8;

const watched: readonly WatchedResource[] = [skillSources, skillGateways, configMaps];
/** How long a stop waits for the last events, in milliseconds. */
const lastEventsMilliseconds = 2_000;

export class ApiServerCluster implements Cluster {
  readonly sources: ObjectStore;
  readonly gateways: ObjectStore;
  readonly configMaps: ObjectStore;
  readonly children: ApiServerChildren | undefined;
  readonly #namespaces: ReadonlySet<string>;
  readonly #listWatches: ListWatch[];
  readonly #core: CoreV1Api;
  readonly #custom: CustomObjectsApi;
  readonly #events: EventRecorder;
  readonly #sourceWrites: UnconfirmedWrites;
  readonly #gatewayWrites: UnconfirmedWrites;

  constructor(options: ApiServerClusterOptions) {
    const { connection, namespaces, log, instance, metrics } = options;
    const clock = options.clock ?? systemClock;
    const random = options.random ?? Math.random;
    const storeOf = (): ObjectStore => new ObjectStore(namespaces, log);
    this.#namespaces = new Set(namespaces);
    this.sources = storeOf();
    this.gateways = storeOf();
    this.configMaps = storeOf();
    const stores = new Map([
      [skillSources, this.sources],
      [skillGateways, this.gateways],
      [configMaps, this.configMaps],
    ]);
    this.#listWatches = [...stores].flatMap(([resource, store]) =>
      namespaces.map(
        (namespace) => new ListWatch({ connection, resource, namespace, store, clock, random, metrics, log }),
      ),
    );
    const { childNamespaces } = options;
    if (childNamespaces !== undefined) {
      const common = { connection, clock, random, metrics, log };
      this.children = new ApiServerChildren({ ...common, namespaces: childNamespaces });
      this.#listWatches.push(...this.children.listWatches);
    }
    this.#core = new CoreV1Api(connection.configuration);
    this.#custom = new CustomObjectsApi(connection.configuration);
    this.#events = new EventRecorder({ api: new EventsV1Api(connection.configuration), instance, clock, log });
    this.#sourceWrites = confirmedBy(this.sources);
    this.#gatewayWrites = confirmedBy(this.gateways);
  }

  covers(namespace: string): boolean {
    return this.#namespaces.has(allNamespaces) || this.#namespaces.has(namespace);
  }

  /** How far every list and watch is: for readiness. */
  state(): WatchState[] {
    return this.#listWatches.map((listWatch) => listWatch.state);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#listWatches.map((listWatch) => listWatch.run(signal)));
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, lastEventsMilliseconds);
    await Promise.race([this.#events.drained(), late]);
    clearTimeout(timer);
  }

  /** @throws the signal's reason when it aborts first */
  async synced(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const stores = [this.sources, this.gateways, this.configMaps, ...(this.children?.stores ?? [])];
    try {
      await Promise.race([aborted, Promise.all(stores.map((store) => store.whenSynced))]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** @throws KubernetesError */
  async readSecret(namespace: string, name: string): Promise<SecretContent | undefined> {
    if (!isObjectName(name)) return undefined;
    const secret = await unlessAbsent(this.#core.readNamespacedSecret({ namespace, name }));
    if (secret === undefined) return undefined;
    return { data: decoded(secret.data), resourceVersion: secret.metadata?.resourceVersion ?? '' };
  }

  /** @throws KubernetesError */
  async readConfigMap(namespace: string, name: string): Promise<ConfigMapContent | undefined> {
    if (!isObjectName(name)) return undefined;
    const configMap = await unlessAbsent(this.#core.readNamespacedConfigMap({ namespace, name }));
    if (configMap === undefined) return undefined;
    const data = decoded(configMap.binaryData);
    for (const [key, text] of Object.entries(configMap.data ?? {})) data.set(key, Buffer.from(text));
    return { data, annotations: configMap.metadata?.annotations ?? {} };
  }

  /** @throws KubernetesError; a status of an object that is gone is no fault */
  async applyStatus(object: KubernetesObject, status: Record<string, unknown>): Promise<void> {
    const target = object.kind === skillSources.kind ? skillSources : skillGateways;
    const [store, writes] =
      target === skillSources ? [this.sources, this.#sourceWrites] : [this.gateways, this.#gatewayWrites];
    const key = keyOf(object);
    const shown = store.get(key);
    if (shown === undefined || shown.metadata.uid !== object.metadata.uid) return;
    const wanted = appliedStatus(status);
    if (!writes.isNeeded(key, shown, wanted)) return;
    writes.wrote(key, object.metadata.uid, wanted, undefined);
    const resourceVersion = await this.#apply(target, object, wanted);
    writes.wrote(key, object.metadata.uid, wanted, resourceVersion);
    writes.shown(key, store.get(key));
  }

  recordEvent(object: KubernetesObject, event: EventRecord): void {
    this.#events.record(object, event);
  }

  async #apply(
    resource: WatchedResource,
    object: KubernetesObject,
    status: Record<string, unknown>,
  ): Promise<string | undefined> {
    const [group = '', version = ''] = resource.apiVersion.split('/');
    const { namespace, name, uid } = object.metadata;
    const { apiVersion, kind } = resource;
    const answer: { metadata?: { uid?: string; resourceVersion?: string } } | undefined = await unlessAbsent(
      this.#custom.patchNamespacedCustomObjectStatus(
        {
          group,
          version,
          namespace,
          plural: resource.plural,
          name,
          body: { apiVersion, kind, metadata: { name, namespace }, status },
          fieldManager,
          force: true,
        },
        setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
      ),
    );
    if (answer !== undefined && answer.metadata?.uid !== uid) {
      // The API server takes no precondition here; the reconcile that follows puts the namesake's status right.
      throw new KubernetesError('conflict', `${kind} ${namespace}/${name} was replaced while its status was written`);
    }
    return answer?.metadata?.resourceVersion;
  }
}

function confirmedBy(store: ObjectStore): UnconfirmedWrites {
  const writes = new UnconfirmedWrites();
  store.onChange((key) => writes.shown(key, store.get(key)));
  return writes;
}

async function unlessAbsent<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isKind(error, 'notFound')) return undefined;
    if (error instanceof KubernetesError) throw error;
    throw new KubernetesError('server', 'the API server answered something that is no Kubernetes object', {
      cause: error,
    });
  }
}

function decoded(data: Readonly<Record<string, string>> | undefined): Map<string, Buffer> {
  return new Map(Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64')]));
}

/** No object has another name (RFC 1123 subdomain), and another one must not become part of a path. */
const isObjectName = (name: string): boolean =>
  name.length <= 253 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(name);
