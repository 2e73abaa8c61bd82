// What the operator tells Prometheus: controller-runtime's names where it has one, its own under lyceum_.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { SourceState } from '../catalogue/index-file.ts';
import type { Counts } from '../catalogue/source-catalogue.ts';
import { type GitReader, gitReaders } from '../upstream/git/repository.ts';
import type { DownloadsMetrics } from './downloads/keeper.ts';
import type { ObjectKey } from './kubernetes/cluster.ts';
import type { WatchMetrics } from './kubernetes/list-watch.ts';
import type { VolumeMetrics } from './publish/volume-watch.ts';
import type { ControllerMetrics } from './reconcile/controller.ts';
import type { Lane, QueueMetrics } from './reconcile/queue.ts';
import { webhookProviders } from './resources/skill-source.ts';
import { type WebhookMetrics, webhookResults } from './webhooks/receiver.ts';

export interface SourceMetrics {
  /** A look has ended, well or not. */
  fetchSeconds(key: ObjectKey, seconds: number): void;
  fetchBytes(key: ObjectKey, bytes: number): void;
  /** @param reader undefined where none is known, and for sources that are not git */
  gitReader(key: ObjectKey, reader: GitReader | undefined): void;
  /** A look has succeeded. @param at seconds since the epoch */
  succeeded(key: ObjectKey, at: number): void;
  /** @param counts of what is published; absent where nothing is */
  standing(key: ObjectKey, state: SourceState, counts: Counts | undefined): void;
  /** The object is gone, and its series with it. */
  forget(key: ObjectKey): void;
}

export interface GatewayMetrics {
  /** How a gateway stands, as its status tells it. */
  standing(key: ObjectKey, gateway: { ready: boolean; sourcesReady: boolean; generation: number | undefined }): void;
  /** The object is gone, and its series with it. */
  forget(key: ObjectKey): void;
}

export interface OperatorMetrics {
  /** For `Connection`. */
  requested(method: string, code: string, host: string): void;
  watches: WatchMetrics;
  /** The metrics of one controller; each name is asked for once. */
  controller(name: string): ControllerMetrics;
  sources: SourceMetrics;
  downloads: DownloadsMetrics;
  gateways: GatewayMetrics;
  volume: VolumeMetrics & {
    /** @param bytes of catalogues and segments on the volume */
    bytes(bytes: number): void;
  };
  webhooks: WebhookMetrics;
  /** @param lease the name of the Lease by which one of several operators leads */
  leads(lease: string, leads: boolean): void;
}

/** Registers every family of the operator. @param registry where they are scraped; not the global one */
export function operatorMetrics(registry: Registry): OperatorMetrics {
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Number of HTTP requests to the API server, by status code, method and host.',
    labelNames: ['code', 'method', 'host'],
    registers: [registry],
  });
  const leads = new Gauge({
    name: 'leader_election_master_status',
    help: 'Whether this operator leads, by the name of the Lease: 1 for the one that does, 0 for the others.',
    labelNames: ['name'],
    registers: [registry],
  });
  return {
    requested: (method, code, host) => requests.inc({ code, method, host }),
    watches: watchMetrics(registry),
    controller: controllerMetrics(registry),
    sources: sourceMetrics(registry),
    downloads: downloadsMetrics(registry),
    gateways: gatewayMetrics(registry),
    volume: volumeMetrics(registry),
    webhooks: webhookMetrics(registry),
    leads: (lease, leading) => leads.set({ name: lease }, leading ? 1 : 0),
  };
}

function watchMetrics(registry: Registry): WatchMetrics {
  const restarts = new Counter({
    name: 'lyceum_watch_restarts_total',
    help: 'Times that a watch of the API server ended and was started again, by why it ended.',
    labelNames: ['resource', 'reason'],
    registers: [registry],
  });
  const lastEvent = new Gauge({
    name: 'lyceum_watch_last_event_timestamp_seconds',
    help: 'When the API server last sent a list, an event or a bookmark of a resource.',
    labelNames: ['resource'],
    registers: [registry],
  });
  return {
    restarted: (resource, reason) => restarts.inc({ resource, reason }),
    heard: (resource, at) => lastEvent.set({ resource }, at / 1000),
  };
}

/** controller-runtime's buckets for reconcile times. */
const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

function controllerMetrics(registry: Registry): (name: string) => ControllerMetrics {
  const labelNames = ['controller'] as const;
  const registers = [registry];
  const total = new Counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Total number of reconciliations per controller.',
    labelNames: ['controller', 'result'],
    registers,
  });
  const errors = new Counter({
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Total number of reconciliation errors per controller.',
    labelNames,
    registers,
  });
  const panics = new Counter({
    name: 'controller_runtime_reconcile_panics_total',
    help: 'Total number of unforeseen errors of the program per controller.',
    labelNames,
    registers,
  });
  const time = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'Length of time per reconciliation per controller.',
    labelNames,
    buckets: reconcileBuckets,
    registers,
  });
  const most = new Gauge({
    name: 'controller_runtime_max_concurrent_reconciles',
    help: 'Maximum number of concurrent reconciles per controller.',
    labelNames,
    registers,
  });
  const active = new Gauge({
    name: 'controller_runtime_active_workers',
    help: 'Number of currently used workers per controller.',
    labelNames,
    registers,
  });
  const queueOf = queueMetrics(registry);
  return (controller) => {
    for (const result of ['success', 'error', 'requeue', 'requeue_after']) total.inc({ controller, result }, 0);
    for (const family of [errors, panics, active]) family.inc({ controller }, 0);
    time.zero({ controller });
    return {
      queue: queueOf(controller),
      workers: (wanted) => most.set({ controller }, wanted),
      active: (change) => active.inc({ controller }, change),
      reconciled(result, seconds) {
        total.inc({ controller, result });
        time.observe({ controller }, seconds);
        if (result === 'error') errors.inc({ controller });
      },
      panicked: () => panics.inc({ controller }),
    };
  };
}

/** As controller-runtime's priority queue names what changed and what only came round. */
const priorities: Readonly<Record<Lane, string>> = { fresh: '0', planned: '-100' };

/** client-go's buckets for work queues: 10 ns to 1000 s. */
const queueBuckets = Array.from({ length: 12 }, (_, power) => 10 ** (power - 8));

function queueMetrics(registry: Registry): (name: string) => QueueMetrics {
  const labelNames = ['name', 'controller'] as const;
  const registers = [registry];
  const running = new Map<string, () => number[]>();
  const depth = new Gauge({
    name: 'workqueue_depth',
    help: 'Current depth of workqueue by workqueue and priority.',
    labelNames: ['name', 'controller', 'priority'],
    registers,
  });
  const adds = new Counter({
    name: 'workqueue_adds_total',
    help: 'Total number of adds handled by workqueue.',
    labelNames,
    registers,
  });
  const retries = new Counter({
    name: 'workqueue_retries_total',
    help: 'Total number of retries handled by workqueue.',
    labelNames,
    registers,
  });
  const waits = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'How long in seconds an item stays in workqueue before being requested.',
    labelNames,
    buckets: queueBuckets,
    registers,
  });
  const works = new Histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'How long in seconds processing an item from workqueue takes.',
    labelNames,
    buckets: queueBuckets,
    registers,
  });
  new Gauge({
    name: 'workqueue_unfinished_work_seconds',
    help: 'How many seconds of work has been done that is in progress and has not been observed by work_duration.',
    labelNames,
    registers,
    collect() {
      for (const [name, read] of running) {
        this.set(
          { name, controller: name },
          read().reduce((sum, seconds) => sum + seconds, 0),
        );
      }
    },
  });
  new Gauge({
    name: 'workqueue_longest_running_processor_seconds',
    help: 'How many seconds has the longest running processor for workqueue been running.',
    labelNames,
    registers,
    collect() {
      for (const [name, read] of running) this.set({ name, controller: name }, Math.max(0, ...read()));
    },
  });
  return (name) => {
    const labels = { name, controller: name };
    for (const priority of Object.values(priorities)) depth.set({ ...labels, priority }, 0);
    for (const family of [adds, retries]) family.inc(labels, 0);
    for (const family of [waits, works]) family.zero(labels);
    return {
      depth: (lane, keys) => depth.set({ ...labels, priority: priorities[lane] }, keys),
      added: () => adds.inc(labels),
      retried: () => retries.inc(labels),
      waited: (seconds) => waits.observe(labels, seconds),
      worked: (seconds) => works.observe(labels, seconds),
      watch: (read) => running.set(name, read),
    };
  };
}

function downloadsMetrics(registry: Registry): DownloadsMetrics {
  const batches = new Counter({
    name: 'lyceum_download_batches_total',
    help: 'Batches of downloads that servers sent: kept, repeated, refused, or failed and sent again.',
    labelNames: ['result'],
    registers: [registry],
  });
  const unknown = new Counter({
    name: 'lyceum_downloads_unknown_total',
    help: 'Downloads in them of what their gateway does not have, which are not kept.',
    registers: [registry],
  });
  for (const result of ['kept', 'repeated', 'refused', 'failed']) batches.inc({ result }, 0);
  return { batch: (result) => batches.inc({ result }), unknown: (times) => unknown.inc(times) };
}

function webhookMetrics(registry: Registry): WebhookMetrics {
  const webhooks = new Counter({
    name: 'lyceum_webhooks_total',
    help: 'Webhooks that came, by the provider of their source and by what became of them.',
    labelNames: ['provider', 'result'],
    registers: [registry],
  });
  for (const provider of webhookProviders) for (const result of webhookResults) webhooks.inc({ provider, result }, 0);
  return { received: (provider, result) => webhooks.inc({ provider, result }) };
}

const artifactKinds = ['skills', 'prompts', 'rules', 'profiles'] as const;

function sourceMetrics(registry: Registry): SourceMetrics {
  const labelNames = ['namespace', 'name'] as const;
  const registers = [registry];
  const gauge = (name: string, help: string): Gauge<'namespace' | 'name'> =>
    new Gauge({ name: `lyceum_source_${name}`, help, labelNames, registers });
  const ready = gauge('ready', 'Whether the catalogue of the current spec is published and the last look succeeded.');
  const stale = gauge('stale', 'Whether the source is served from its last good harvest after a failure.');
  const lastSuccess = gauge('last_success_timestamp_seconds', 'When a look at the source last succeeded.');
  const problems = gauge('problems', 'What the harvest has to say about files of the source.');
  const artifacts = new Gauge({
    name: 'lyceum_source_artifacts',
    help: 'Artifacts of the source that are served, by kind.',
    labelNames: ['namespace', 'name', 'kind'],
    registers,
  });
  const seconds = new Histogram({
    name: 'lyceum_source_fetch_seconds',
    help: 'How long looks at the source took, failed ones too.',
    labelNames,
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300],
    registers,
  });
  const bytes = new Counter({
    name: 'lyceum_source_fetch_bytes_total',
    help: 'Bytes received from the source.',
    labelNames,
    registers,
  });
  const readers = new Gauge({
    name: 'lyceum_source_git_reader',
    help: 'How the git server of the source is read: partial-clone, or isomorphic-git where it offers none.',
    labelNames: ['namespace', 'name', 'reader'],
    registers,
  });
  const gitReader = (key: ObjectKey, reader: GitReader | undefined): void => {
    for (const other of gitReaders) readers.remove({ ...labelsOf(key), reader: other });
    if (reader !== undefined) readers.set({ ...labelsOf(key), reader }, 1);
  };
  return {
    gitReader,
    fetchSeconds: (key, took) => seconds.observe(labelsOf(key), took),
    fetchBytes: (key, received) => bytes.inc(labelsOf(key), received),
    succeeded: (key, at) => lastSuccess.set(labelsOf(key), at),
    standing(key, state, counts) {
      const labels = labelsOf(key);
      ready.set(labels, state === 'ok' ? 1 : 0);
      stale.set(labels, state === 'stale' ? 1 : 0);
      problems.set(labels, counts?.problems ?? 0);
      for (const kind of artifactKinds) artifacts.set({ ...labels, kind }, counts?.[kind] ?? 0);
    },
    forget(key) {
      const labels = labelsOf(key);
      for (const family of [ready, stale, problems, lastSuccess, seconds, bytes]) family.remove(labels);
      for (const kind of artifactKinds) artifacts.remove({ ...labels, kind });
      gitReader(key, undefined);
    },
  };
}

function gatewayMetrics(registry: Registry): GatewayMetrics {
  const gauge = (name: string, help: string): Gauge<'namespace' | 'name'> =>
    new Gauge({ name: `lyceum_gateway_${name}`, help, labelNames: ['namespace', 'name'], registers: [registry] });
  const ready = gauge('ready', 'Whether a catalogue is published and the wanted pods serve it.');
  const sources = gauge('sources_ready', 'Whether every selected source is there and served as upstream has it.');
  const generation = gauge('generation', 'Generation of the catalogue that is published.');
  return {
    standing(key, gateway) {
      const labels = labelsOf(key);
      ready.set(labels, gateway.ready ? 1 : 0);
      sources.set(labels, gateway.sourcesReady ? 1 : 0);
      if (gateway.generation !== undefined) generation.set(labels, gateway.generation);
    },
    forget(key) {
      for (const family of [ready, sources, generation]) family.remove(labelsOf(key));
    },
  };
}

function volumeMetrics(registry: Registry): OperatorMetrics['volume'] {
  const gauge = (name: string, help: string): Gauge =>
    new Gauge({ name: `lyceum_volume_${name}`, help, registers: [registry] });
  const bytes = gauge('bytes', 'Bytes of catalogues and segments on the volume, as the last collection found them.');
  const capacity = gauge('capacity_bytes', 'Size of the file system that the volume is on.');
  const free = gauge('free_bytes', 'Bytes that may still be written to that file system.');
  const failed = gauge('failed', 'Whether the volume cannot be written: it is full, read-only or gone.');
  return {
    bytes: (used) => bytes.set(used),
    space(all, left) {
      capacity.set(all);
      free.set(left);
    },
    failed: (is) => failed.set(is ? 1 : 0),
  };
}

function labelsOf(key: ObjectKey): { namespace: string; name: string } {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
