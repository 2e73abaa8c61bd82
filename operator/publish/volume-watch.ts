// Looks at the volume itself now and then: how much room there is, whether it can be written, and when it can be again.
import type { Logger } from 'pino';
import { type Clock, sleep } from '../clock.ts';
import type { Volume } from './volume.ts';

export interface VolumeMetrics {
  /** Of the file system that the volume is on, in bytes. */
  space(capacity: number, free: number): void;
  failed(failed: boolean): void;
}

export interface VolumeWatchOptions {
  volume: Pick<Volume, 'checkWritable' | 'space'>;
  metrics: VolumeMetrics;
  /** What could not be written may be now: the volume can be written again, or has far more room than it had. */
  recovered(): void;
  clock: Clock;
  log: Logger;
}

const lookEveryMilliseconds = 15_000;

/** Looks until the signal aborts, the first time at once. Never rejects. */
export async function watchVolume(
  { volume, metrics, recovered, clock, log }: VolumeWatchOptions,
  signal: AbortSignal,
): Promise<void> {
  const room = new Room();
  let fault: string | undefined;
  while (!signal.aborted) {
    const now = await faultOf(volume);
    metrics.failed(now !== undefined);
    if (now !== undefined && now !== fault)
      log.error({ error: now }, 'the volume cannot be written; what is published is served on');
    const cured = now === undefined && fault !== undefined;
    if (cured) log.info('the volume can be written again');
    const space = await volume.space().catch(() => undefined);
    if (space !== undefined) metrics.space(space.capacity, space.free);
    const isMore = space !== undefined && room.isMore(space.free);
    if (cured || (now === undefined && isMore)) recovered();
    fault = now;
    await sleep(clock, lookEveryMilliseconds, signal);
  }
}

/** A volume that has little room left refuses large writes alone: only that there is far more room now tells that they fit. */
class Room {
  #least = Number.POSITIVE_INFINITY;

  /** Whether there is more than twice the least that there was since the last time it was so. */
  isMore(free: number): boolean {
    const is = free > 2 * this.#least;
    this.#least = is ? free : Math.min(this.#least, free);
    return is;
  }
}

async function faultOf(volume: VolumeWatchOptions['volume']): Promise<string | undefined> {
  try {
    await volume.checkWritable();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : 'unknown';
  }
}
