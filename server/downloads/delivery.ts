// Brings the operator what was counted, batch by batch, every few seconds; what does not arrive is sent again.
import type { Logger } from 'pino';
import type { DownloadsBatch } from '../../catalogue/downloads-file.ts';
import type { Outbox } from './outbox.ts';

/**
 * Resolves when the batch is kept for good, with `refused` when it never will be.
 * @throws when it may be kept later: it is sent again then, and counts once
 */
export type SendDownloads = (batch: DownloadsBatch, signal: AbortSignal) => Promise<'kept' | 'refused'>;

export interface DeliveryOptions {
  outbox: Outbox;
  send: SendDownloads;
  logger: Logger;
  /** Downloads that nobody will ever hear of. */
  lost(times: number): void;
}

const everyMs = 3_000;
const longestPauseMs = 5 * 60_000;
const sendWithinMs = 20_000;
const endWithinMs = 2_500;

export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #stop = new AbortController();
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#stop.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#sending = this.#sendAll(this.#stop.signal).finally(() => this.start());
    }, pauseOf(this.#failures));
  }

  /** Sends once more what waits, for a bounded time. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stop.abort();
    await this.#sending;
    await this.#sendAll(AbortSignal.timeout(endWithinMs));
    const { outbox, logger, lost } = this.#options;
    if (outbox.unconfirmed === 0) return;
    logger.warn({ downloads: outbox.unconfirmed }, 'downloads were counted that the operator was not told of');
    lost(outbox.unconfirmed);
  }

  /** Until nothing is left or something fails. Never rejects. */
  async #sendAll(stop: AbortSignal): Promise<void> {
    const { outbox, send, logger, lost } = this.#options;
    try {
      for (let batch = outbox.next(); batch !== undefined; batch = outbox.next()) {
        const result = await send(batch, AbortSignal.any([stop, AbortSignal.timeout(sendWithinMs)]));
        if (result === 'kept') outbox.delivered();
        else {
          logger.error({ artifacts: batch.counts.length }, 'the operator refuses downloads that were counted');
          lost(outbox.refused());
        }
      }
      if (this.#failures > 0) logger.info('the operator keeps downloads again');
      this.#failures = 0;
    } catch (error) {
      if (stop.aborted) return;
      this.#failures += 1;
      const why = error instanceof Error ? error.message : 'unknown';
      if (this.#failures === 1) logger.warn({ why }, 'downloads cannot be told to the operator now; they wait');
    }
  }
}

/** Twice as long after each failure, with some chance in it so that servers do not come in step. */
const pauseOf = (failures: number): number =>
  Math.min(longestPauseMs, everyMs * 2 ** Math.min(failures, 10)) * (failures === 0 ? 1 : 0.5 + Math.random() / 2);
