// Downloads of one gateway: counted in this server's memory, told to the operator, read back from the volume.
import type { Logger } from 'pino';
import { artifactKey, type Taken } from '../../catalogue/downloads-file.ts';
import type { Artifact } from '../snapshot/snapshot.ts';
import { Delivery, type SendDownloads } from './delivery.ts';
import type { Downloads } from './downloads.ts';
import { Outbox } from './outbox.ts';
import { PublishedDownloads } from './published.ts';

export interface DownloadsMetrics {
  downloaded(kind: string, library: string, what: Taken): void;
  /** Downloads that are in no count: too much waited, or nobody took them. */
  downloadsLost(times: number): void;
  /** @param read how many downloads wait for the operator to confirm them */
  watchUnconfirmed(read: () => number): void;
}

export interface CountedDownloadsOptions {
  /** Absolute path of the volume. */
  volume: string;
  namespace: string;
  gateway: string;
  /** Left out: what is counted stays in this server's memory. */
  send?: SendDownloads | undefined;
  metrics: DownloadsMetrics;
  logger: Logger;
}

export class CountedDownloads implements Downloads {
  readonly #options: CountedDownloadsOptions;
  readonly #outbox = new Outbox();
  readonly #published: PublishedDownloads;
  readonly #delivery: Delivery | undefined;

  constructor(options: CountedDownloadsOptions) {
    this.#options = options;
    const { send, metrics, logger } = options;
    const outbox = this.#outbox;
    this.#published = new PublishedDownloads({ ...options, read: ({ replicas }) => outbox.shown(replicas) });
    this.#delivery = send && new Delivery({ outbox, send, logger, lost: (times) => metrics.downloadsLost(times) });
    if (send !== undefined) metrics.watchUnconfirmed(() => outbox.unconfirmed);
  }

  count(artifact: Artifact, version: string, what: Taken): void {
    const { metrics, logger } = this.#options;
    const { kind, from, qualified } = artifact;
    metrics.downloaded(kind, from.library, what);
    if (!this.#outbox.add(keyOf(artifact), what)) metrics.downloadsLost(1);
    logger.debug({ kind, artifact: qualified, version, what }, 'downloaded');
  }

  of(artifact: Artifact): number {
    const key = keyOf(artifact);
    return this.#published.of(key) + this.#outbox.of(key);
  }

  async start(): Promise<void> {
    await this.#published.start();
    this.#delivery?.start();
  }

  /** Sends what waits, for a bounded time. */
  async close(): Promise<void> {
    await Promise.all([this.#published.close(), this.#delivery?.close()]);
  }
}

const keyOf = ({ kind, from, address }: Artifact): string => artifactKey(kind, from.library, address);
