// Keeps the counts of each gateway's servers in its downloads.json: batches that come together are one write.

import type { Logger } from 'pino';
import {
  batchSchema,
  type DownloadsBatch,
  type DownloadsFile,
  parseDownloads,
} from '../../catalogue/downloads-file.ts';
import { downloadsPath } from '../../catalogue/layout.ts';
import { CatalogueUnreadable } from '../../catalogue/unreadable.ts';
import { type Clock, sleep } from '../clock.ts';
import type { ObjectKey } from '../kubernetes/cluster.ts';
import type { Volume } from '../publish/volume.ts';
import { type Outcome, tally } from './tally.ts';

/** `refused`: what was sent is no batch, and never will be. */
export type Kept = Outcome | 'refused';

export interface DownloadsMetrics {
  /** @param result failed: it could not be kept now, and comes again */
  batch(result: Kept | 'failed'): void;
  /** Downloads of what the gateway has not. */
  unknown(times: number): void;
}

/** What a gateway has is not known yet, so nothing can be kept for it. */
export class GatewayUnknown extends Error {}

export interface DownloadsKeeperOptions {
  volume: Volume;
  /** What a gateway has, each by its artifactKey; undefined while that is not known. */
  artifacts(gateway: ObjectKey): ReadonlySet<string> | undefined;
  metrics: DownloadsMetrics;
  clock: Clock;
  log: Logger;
}

interface Waiting {
  batch: DownloadsBatch;
  kept: PromiseWithResolvers<Outcome>;
}

/** A gateway's file is written no more often than this, in milliseconds. */
const restMilliseconds = 1_000;

export class DownloadsKeeper {
  readonly #options: DownloadsKeeperOptions;
  readonly #waiting = new Map<ObjectKey, Waiting[]>();
  readonly #writing = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: DownloadsKeeperOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the batch is on the volume, for good; with `refused` when what was sent is none.
   * @throws GatewayUnknown; SourceFault StorageFailed; CatalogueUnreadable NewerFormat
   */
  async keep(gateway: ObjectKey, sent: unknown): Promise<Kept> {
    const { metrics } = this.#options;
    const { success, data: batch } = batchSchema.safeParse(sent);
    if (!success) {
      metrics.batch('refused');
      return 'refused';
    }
    const kept = Promise.withResolvers<Outcome>();
    const waiting = this.#waiting.get(gateway);
    if (waiting !== undefined) {
      waiting.push({ batch, kept });
    } else {
      this.#waiting.set(gateway, [{ batch, kept }]);
      const writing = this.#write(gateway).finally(() => this.#writing.delete(writing));
      this.#writing.add(writing);
    }
    try {
      const outcome = await kept.promise;
      metrics.batch(outcome);
      return outcome;
    } catch (error) {
      metrics.batch('failed');
      throw error;
    }
  }

  /** Writes what waits, at once, and nothing that comes later waits. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#writing);
  }

  /** Until nothing waits. */
  async #write(gateway: ObjectKey): Promise<void> {
    for (;;) {
      const together = this.#waiting.get(gateway)!;
      if (together.length === 0) break;
      this.#waiting.set(gateway, []);
      try {
        const results = await this.#add(
          gateway,
          together.map(({ batch }) => batch),
        );
        for (const [at, { kept }] of together.entries()) kept.resolve(results[at]!);
      } catch (error) {
        for (const { kept } of together) kept.reject(error);
      }
      await sleep(this.#options.clock, restMilliseconds, this.#stop.signal);
    }
    this.#waiting.delete(gateway);
  }

  async #add(gateway: ObjectKey, batches: readonly DownloadsBatch[]): Promise<Outcome[]> {
    const { volume, artifacts, metrics, clock } = this.#options;
    const known = artifacts(gateway);
    if (known === undefined) throw new GatewayUnknown(`what gateway ${gateway} has is not known yet`);
    const [namespace, name] = gateway.split('/') as [string, string];
    const path = downloadsPath(namespace, name);
    const { file, results, unknown } = tally(await this.#read(path), batches, known, Math.floor(clock.now()));
    if (results.includes('kept')) await volume.write(path, Buffer.from(JSON.stringify(file)));
    if (unknown > 0) metrics.unknown(unknown);
    return results;
  }

  /** One that is damaged is begun anew; one of a newer version is left as it is. */
  async #read(path: string): Promise<DownloadsFile | undefined> {
    const bytes = await this.#options.volume.read(path);
    if (bytes === undefined) return undefined;
    try {
      return parseDownloads(path, bytes.toString());
    } catch (error) {
      if (!(error instanceof CatalogueUnreadable) || error.reason === 'NewerFormat') throw error;
      this.#options.log.warn({ why: error.message }, 'downloads are counted from nothing again');
      return undefined;
    }
  }
}
