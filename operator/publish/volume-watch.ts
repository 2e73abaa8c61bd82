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
  /** The volume could not be written, and can be again. */
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
  let fault: string | undefined;
  while (!signal.aborted) {
    const now = await faultOf(volume, metrics);
    metrics.failed(now !== undefined);
    if (now !== undefined && now !== fault)
      log.error({ error: now }, 'the volume cannot be written; what is published is served on');
    if (now === undefined && fault !== undefined) {
      log.info('the volume can be written again');
      recovered();
    }
    fault = now;
    await sleep(clock, lookEveryMilliseconds, signal);
  }
}

async function faultOf(volume: VolumeWatchOptions['volume'], metrics: VolumeMetrics): Promise<string | undefined> {
  try {
    await volume.checkWritable();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : 'unknown';
  } finally {
    await volume.space().then(
      ({ capacity, free }) => metrics.space(capacity, free),
      () => {},
    );
  }
}
