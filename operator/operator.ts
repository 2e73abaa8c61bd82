// The operator as a whole: stores feed queues, queues feed reconcilers, sources feed gateways. Everything is given in.
import type { Logger } from 'pino';
import type { GuardOptions } from '../upstream/guard/client.ts';
import type { Limits } from '../upstream/limits.ts';
import { systemClock } from './clock.ts';
import { DownloadsKeeper, type Kept } from './downloads/keeper.ts';
import type { PodSettings } from './gateway/children/pod-settings.ts';
import { GatewayPods } from './gateway/gateway-pods.ts';
import { GatewayReconciler } from './gateway/gateway-reconciler.ts';
import { type Reindexed, type ReindexRefusal, reindex } from './gateway/reindex.ts';
import { type Cluster, childKinds, type KubernetesObject, keyOf, type ObjectKey } from './kubernetes/cluster.ts';
import type { OperatorMetrics } from './metrics.ts';
import { Claim, type Displaced } from './publish/claim.ts';
import { Collector } from './publish/collector.ts';
import { Volume } from './publish/volume.ts';
import { watchVolume } from './publish/volume-watch.ts';
import { SourceFault, type SourceFaultReason } from './reasons.ts';
import { conditionsOf } from './reconcile/conditions.ts';
import { Controller } from './reconcile/controller.ts';
import { type SecretUsers, secretsOfGateways, secretsOfSources, watchSecrets } from './reconcile/secret-watch.ts';
import { SourceReconciler } from './reconcile/source-reconciler.ts';
import { Backends } from './source/backends.ts';

export interface OperatorOptions {
  cluster: Cluster;
  metrics: OperatorMetrics;
  /** Folder to publish to. */
  volume: string;
  /** The folder that is `/` for file:/// sources; without it there are none. */
  fileRoot: string | undefined;
  guard: GuardOptions;
  ceiling: Limits;
  concurrentFetches: number;
  /** Where clients reach a gateway, when the installation knows it. */
  urlOf(gateway: KubernetesObject): string | undefined;
  /** What pods of gateways are made of; left out: the operator starts none. */
  pods?: PodSettings | undefined;
  /**
   * Resolves when this operator may write: nothing is looked at, published, or written to Kubernetes before. Asked once, when
   * everything has been listed; left out: it may at once.
   * @throws the signal's reason when it aborts first
   */
  elected?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Called when another operator has been elected since, and has claimed the volume: this one has to end. */
  displaced?: ((why: Displaced) => void) | undefined;
  log: Logger;
}

export interface RunningOperator {
  /** True once every kind has been listed: what readiness asks. */
  synced(): boolean;
  /** True while it works: it has been elected, and has not been asked to stop. */
  working(): boolean;
  /** What a gateway shows has changed from outside, its URL for example. */
  reconcileGateway(key: ObjectKey): void;
  /** Looks now at every source that a gateway selects. @throws when the operator stops meanwhile */
  reindex(gateway: ObjectKey): Promise<Reindexed | ReindexRefusal>;
  /** Keeps what a server of a gateway counted. @throws when it cannot be kept now: it may be sent again */
  countDownloads(gateway: ObjectKey, batch: unknown): Promise<Kept>;
  /** Somebody says that upstream may have changed: the source is looked at as soon as there is a worker, if this operator works. */
  lookAgain(source: ObjectKey): void;
  /** Stops taking work, aborts fetches, waits for what is under way. */
  close(): Promise<void>;
}

/** A volume that cannot be written is claimed when it can be, with the first publication. */
const untilItIsWell = (error: unknown): void => {
  if (!(error instanceof SourceFault)) throw error;
};

const gatewayWorkers = 2;
/** Where Kubernetes mounts a pod's own credentials. */
const mountedSecrets = '/var/run/secrets';

/** A volume that cannot be used is told in statuses, and used when it can be. */
export async function startOperator(options: OperatorOptions): Promise<RunningOperator> {
  const { cluster, metrics, log, fileRoot, guard, ceiling, concurrentFetches, urlOf } = options;
  const volume = Volume.at(options.volume);
  const backends = new Backends({ guard, fileRoot, closedFolders: [volume.root, mountedSecrets] });
  const stop = new AbortController();
  const { signal } = stop;
  const clock = systemClock;
  const random = Math.random;

  const sources = new SourceReconciler({
    cluster,
    volume,
    backends,
    ceiling,
    metrics: metrics.sources,
    changed: (key) => enqueueGatewaysOf(key),
    now: () => clock.now(),
    chance: random,
    log,
  });
  const { children } = cluster;
  const claim = options.elected && new Claim(volume, (why) => options.displaced?.(why));
  const gateways = new GatewayReconciler({
    cluster,
    volume,
    claim,
    viewOf: (source) => sources.view(source),
    urlOf,
    metrics: metrics.gateways,
    pods:
      children && options.pods && new GatewayPods({ children, settings: options.pods, now: () => clock.now(), log }),
    now: () => clock.now(),
    log,
  });
  const downloads = new DownloadsKeeper({
    volume,
    artifacts: (gateway) => gateways.artifacts(gateway),
    metrics: metrics.downloads,
    clock,
    log,
  });
  const sourceController = new Controller({
    name: 'skillsource',
    workers: concurrentFetches,
    reconcile: (key, end) => sources.reconcile(key, end),
    metrics: metrics.controller('skillsource'),
    log,
    clock,
    random,
  });
  const gatewayController = new Controller({
    name: 'skillgateway',
    workers: gatewayWorkers,
    reconcile: (key) => gateways.reconcile(key),
    metrics: metrics.controller('skillgateway'),
    log,
    clock,
    random,
  });

  const enqueueGatewaysOf = (source: ObjectKey): void => {
    const namespace = source.split('/')[0];
    for (const gateway of cluster.gateways.list()) {
      if (gateway.metadata.namespace === namespace) gatewayController.enqueue(keyOf(gateway));
    }
  };
  const lookAgain = (source: ObjectKey): void => {
    void sources.trigger(source).then(() => sourceController.enqueue(source));
  };

  const storageRecovered = (): void => {
    for (const source of cluster.sources.list()) if (failedBy(source, 'StorageFailed')) lookAgain(keyOf(source));
    for (const gateway of cluster.gateways.list())
      if (failedBy(gateway, 'StorageFailed')) gatewayController.enqueue(keyOf(gateway));
  };

  const lookNow = (source: ObjectKey): Promise<boolean> => {
    const looked = sources.askLook(source);
    sourceController.enqueue(source);
    return looked;
  };

  const collector = new Collector({ cluster, volume, clock, measured: metrics.volume.bytes, log });
  const sourcesWithSecrets: SecretUsers = {
    uses: () => secretsOfSources(cluster),
    usedVersion: (source) => sources.secretVersion(source),
    changed: lookAgain,
  };
  const gatewaysWithSecrets: SecretUsers = {
    uses: () => secretsOfGateways(cluster),
    usedVersion: (gateway) => gateways.secretVersion(gateway),
    changed: (gateway) => gatewayController.enqueue(gateway),
  };

  const follow = (): void => {
    cluster.sources.onChange((key) => {
      sourceController.enqueue(key);
      enqueueGatewaysOf(key);
      if (cluster.sources.get(key) === undefined) collector.soon();
    });
    cluster.gateways.onChange((key) => {
      gatewayController.enqueue(key);
      if (cluster.gateways.get(key) === undefined) collector.soon();
    });
    for (const kind of childKinds) {
      children?.store(kind).onChange((key) => {
        if (cluster.gateways.get(key) !== undefined) gatewayController.enqueue(key);
      });
    }
    children?.onServed(() => {
      for (const gateway of cluster.gateways.list()) gatewayController.enqueue(keyOf(gateway));
    });
    cluster.configMaps.onChange((key) => {
      for (const source of cluster.sources.list()) if (configMapOf(source) === key) lookAgain(keyOf(source));
    });
    for (const source of cluster.sources.list()) sourceController.enqueue(keyOf(source));
    for (const gateway of cluster.gateways.list()) gatewayController.enqueue(keyOf(gateway));
  };

  let working = false;
  const work = async (): Promise<void> => {
    await cluster.synced(signal);
    await options.elected?.(signal);
    await claim?.make().catch(untilItIsWell);
    working = true;
    follow();
    await Promise.all([
      sourceController.run(signal),
      gatewayController.run(signal),
      watchSecrets({ cluster, users: [sourcesWithSecrets, gatewaysWithSecrets], log }, signal),
      collector.run(signal),
      watchVolume({ volume, metrics: metrics.volume, recovered: storageRecovered, clock, log }, signal),
    ]);
  };
  const running = Promise.all([
    cluster.run(signal),
    work().catch((error: unknown) => {
      if (!signal.aborted) throw error;
    }),
  ]);
  return {
    synced: () => [cluster.sources, cluster.gateways, cluster.configMaps].every((store) => store.synced),
    working: () => working && !signal.aborted,
    reconcileGateway: (key) => {
      if (working) gatewayController.enqueue(key);
    },
    reindex: (gateway) =>
      reindex(gateway, {
        cluster,
        look: lookNow,
        published: (key) => gatewayController.reconciled(key),
        generation: (key) => gateways.generation(key),
        stop: signal,
      }),
    countDownloads: (gateway, batch) => downloads.keep(gateway, batch),
    lookAgain: (source) => {
      if (working) lookAgain(source);
    },
    async close() {
      stop.abort();
      await running;
      await downloads.close();
      await backends.close();
    },
  };
}

/** Whether an object is not Ready for this reason. */
function failedBy({ status }: KubernetesObject, reason: SourceFaultReason): boolean {
  return conditionsOf(status).some((condition) => condition.type === 'Ready' && condition.reason === reason);
}

/** The ConfigMap that a source reads, as a key. */
function configMapOf({ metadata, spec }: KubernetesObject): ObjectKey | undefined {
  const url = (spec as { url?: unknown } | undefined)?.url;
  const name = typeof url === 'string' ? /^configmap:\/\/(.+)$/.exec(url)?.[1] : undefined;
  return name === undefined ? undefined : `${metadata.namespace}/${name}`;
}
