// Collects from the volume what no custom resource names and no reader can still be reading: now and then, and on deletions.
import type { Logger } from 'pino';
import { type Clock, sleep } from '../clock.ts';
import type { Cluster, Store } from '../kubernetes/cluster.ts';
import { collect } from './collect.ts';
import type { Key } from './key.ts';
import type { Volume } from './volume.ts';

export interface CollectorOptions {
  cluster: Pick<Cluster, 'sources' | 'gateways' | 'covers'>;
  volume: Volume;
  clock: Clock;
  /** Told the bytes of catalogues and segments on the volume after each round. */
  measured(bytes: number): void;
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
    const { cluster, volume, clock, measured, log } = this.#options;
    const isNamed = (store: Store, { namespace, name }: Key): boolean =>
      !cluster.covers(namespace) || store.get(`${namespace}/${name}`) !== undefined;
    const named = {
      source: (key: Key) => isNamed(cluster.sources, key),
      gateway: (key: Key) => isNamed(cluster.gateways, key),
    };
    try {
      const { deleted, bytes } = await collect(volume, named, clock.now());
      measured(bytes);
      if (deleted.length > 0) log.info({ files: deleted.length, bytes }, 'collected from the volume');
    } catch (error) {
      log.warn({ error: error instanceof Error ? error.message : 'unknown' }, 'the volume was not collected');
    }
  }
}
