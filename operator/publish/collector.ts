// Collects from the volume what no custom resource names and no reader can still be reading: now and then, and on deletions.
import type { Logger } from 'pino';
import { type Clock, sleep } from '../clock.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { collect } from './collect.ts';
import type { Volume } from './volume.ts';

export interface CollectorOptions {
  cluster: Pick<Cluster, 'sources' | 'gateways'>;
  volume: Volume;
  clock: Clock;
  log: Logger;
}

const roundMilliseconds = 10 * 60_000;
/** So that many deletions at once make one round. */
const soonMilliseconds = 1_000;

export class Collector {
  readonly #options: CollectorOptions;
  #wake = new AbortController();

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Something was deleted: the next round comes soon. */
  soon(): void {
    this.#wake.abort();
  }

  /** Rounds until the signal aborts, the first one at once. Call it when the stores have synced. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      await this.#round();
      await sleep(clock, roundMilliseconds, AbortSignal.any([signal, this.#wake.signal]));
      await sleep(clock, soonMilliseconds, signal);
    }
  }

  async #round(): Promise<void> {
    const { cluster, volume, clock, log } = this.#options;
    const named = {
      source: ({ namespace, name }: { namespace: string; name: string }) =>
        cluster.sources.get(`${namespace}/${name}`) !== undefined,
      gateway: ({ namespace, name }: { namespace: string; name: string }) =>
        cluster.gateways.get(`${namespace}/${name}`) !== undefined,
    };
    try {
      const { deleted, bytes } = await collect(volume, named, clock.now());
      if (deleted.length > 0) log.info({ files: deleted.length, bytes }, 'collected from the volume');
    } catch (error) {
      log.warn({ error: error instanceof Error ? error.message : 'unknown' }, 'the volume was not collected');
    }
  }
}
