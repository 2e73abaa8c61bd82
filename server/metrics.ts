// The server's metrics, in a registry of its own.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ReadKind } from './answers/read.ts';
import type { DownloadsMetrics } from './downloads/counted-downloads.ts';
import type { ArtifactCounts } from './snapshot/snapshot.ts';
import type { LookResult } from './snapshot/watch.ts';

export interface ServerMetrics extends DownloadsMetrics {
  registry: Registry;
  catalogueLoaded(generation: number, counts: ArtifactCounts, seconds: number): void;
  catalogueFailed(reason: string): void;
  catalogueLooked(result: LookResult): void;
  /** @param era the protocol's, or `none` where a request was refused before it had one */
  request(method: string, era: string, seconds: number): void;
  read(kind: ReadKind, library: string): void;
  /** @param open streams of change notices */
  streams(open: number): void;
  liveLooked(source: string): void;
  liveFetched(source: string): void;
  liveFailed(source: string, reason: string): void;
  /** @param bytes of newer files of Live sources that are held in memory */
  liveHeld(bytes: number): void;
}

/** The methods that have a label of their own; what a client makes up is counted as `other`. */
const methods = new Set([
  'initialize',
  'notifications/initialized',
  'ping',
  'server/discover',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'skills/list',
  'skills/get',
  'resources/directory/read',
  'subscriptions/listen',
  'tools/list',
  'tools/call',
]);

/** The label of a method that a request names. */
export const methodLabel = (method: unknown): string =>
  typeof method === 'string' && methods.has(method) ? method : 'other';

export function createServerMetrics(): ServerMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const generation = new Gauge({
    name: 'lyceum_catalogue_generation',
    help: 'Generation of the catalogue that is served.',
    registers,
  });
  const artifacts = new Gauge({
    name: 'lyceum_catalogue_artifacts',
    help: 'Skills, prompts, rules and profiles in the catalogue that is served, by kind.',
    labelNames: ['kind'],
    registers,
  });
  const load = new Histogram({
    name: 'lyceum_catalogue_load_seconds',
    help: 'Time from a look at index.json to the new catalogue being served.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const failures = new Counter({
    name: 'lyceum_catalogue_load_failures_total',
    help: 'Distinct failures to load a catalogue, by reason; what was served before stays.',
    labelNames: ['reason'],
    registers,
  });
  const looks = new Counter({
    name: 'lyceum_catalogue_looks_total',
    help: 'Looks at index.json, by what they found: unchanged, loaded or failed.',
    labelNames: ['result'],
    registers,
  });
  const requests = new Histogram({
    name: 'lyceum_request_seconds',
    help: 'Time to answer an MCP request, by method and era of the protocol.',
    labelNames: ['method', 'era'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers,
  });
  const readsSince = new Tally();
  const reads = new Counter({
    name: 'lyceum_reads_total',
    help: 'Addresses and prompts read, by what they are and by library.',
    labelNames: ['kind', 'library'],
    registers,
    collect: () => readsSince.take((kind, library, times) => reads.inc({ kind, library }, times)),
  });
  const lives = new Counter({
    name: 'lyceum_live_looks_total',
    help: 'Looks at single files of Live sources that their servers answered, by source.',
    labelNames: ['source'],
    registers,
  });
  const liveFetches = new Counter({
    name: 'lyceum_live_fetches_total',
    help: 'Files of Live sources that were transferred, by source.',
    labelNames: ['source'],
    registers,
  });
  const liveFailures = new Counter({
    name: 'lyceum_live_failures_total',
    help: 'Failures of Live sources, by source and reason; each is followed by a pause in which nothing is asked.',
    labelNames: ['source', 'reason'],
    registers,
  });
  const liveBytes = new Gauge({
    name: 'lyceum_live_held_bytes',
    help: 'Bytes of files of Live sources that are newer than the catalogue and held in memory.',
    registers,
  });
  const streams = new Gauge({
    name: 'lyceum_change_streams',
    help: 'Streams of change notices that are open.',
    registers,
  });
  const downloads = new Counter({
    name: 'lyceum_downloads_total',
    help: 'Artifacts that were taken whole, by kind, library and way: install or archive.',
    labelNames: ['kind', 'library', 'what'],
    registers,
  });
  const lost = new Counter({
    name: 'lyceum_downloads_lost_total',
    help: 'Downloads that are in no count: too many artifacts waited for the operator, or it did not take them.',
    registers,
  });
  let unconfirmed = (): number => 0;
  new Gauge({
    name: 'lyceum_downloads_unconfirmed',
    help: 'Downloads that the operator has not kept yet.',
    registers,
    collect() {
      this.set(unconfirmed());
    },
  });
  return {
    registry,
    downloaded: (kind, library, what) => downloads.inc({ kind, library, what }),
    downloadsLost: (times) => lost.inc(times),
    watchUnconfirmed: (read) => {
      unconfirmed = read;
    },
    catalogueLoaded(number, counts, seconds) {
      generation.set(number);
      for (const [kind, count] of Object.entries(counts)) artifacts.set({ kind }, count);
      load.observe(seconds);
    },
    catalogueFailed: (reason) => failures.inc({ reason }),
    catalogueLooked: (result) => looks.inc({ result }),
    request: (method, era, seconds) => requests.observe({ method, era }, seconds),
    read: (kind, library) => readsSince.add(kind, library),
    streams: (open) => streams.set(open),
    liveLooked: (source) => lives.inc({ source }),
    liveFetched: (source) => liveFetches.inc({ source }),
    liveFailed: (source, reason) => liveFailures.inc({ source, reason }),
    liveHeld: (bytes) => liveBytes.set(bytes),
  };
}

/** Counts of what happens so often that a counter with labels costs too much each time. */
class Tally {
  #counts = new Map<string, Map<string, number>>();

  add(first: string, second: string): void {
    let counts = this.#counts.get(first);
    if (counts === undefined) {
      counts = new Map();
      this.#counts.set(first, counts);
    }
    counts.set(second, (counts.get(second) ?? 0) + 1);
  }

  /** Hands out what was counted since the last time. */
  take(to: (first: string, second: string, times: number) => void): void {
    for (const [first, counts] of this.#counts) for (const [second, times] of counts) to(first, second, times);
    this.#counts = new Map();
  }
}
