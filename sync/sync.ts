// Keeps a folder as a gateway is published: copies, waits for what is new, tries again with growing pauses.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { copy, whatIsThere } from './copy.ts';
import { SyncFault } from './fault.ts';
import { Folder } from './folder.ts';
import type { SyncMetrics } from './metrics.ts';
import { type OperatorAddress, OperatorClient } from './operator-client.ts';
import { Room } from './room.ts';

export interface SyncOptions {
  /** Absolute path of the folder. */
  folder: string;
  namespace: string;
  operator: OperatorAddress;
  /** The most that the folder may hold, in bytes. */
  sizeLimit: number;
  metrics: SyncMetrics;
  log: Logger;
}

export interface RunningSync {
  /** Whether the folder holds a catalogue, whole. */
  hasCatalogue(): boolean;
  /** Whether a server may start: there is a catalogue, or the operator has been asked long enough. */
  started(): boolean;
  /** What went wrong last, until something goes well. */
  fault(): string | undefined;
  /** Resolves when what was under way has ended. */
  close(): Promise<void>;
}

/** A server that finds no catalogue says so itself: it does not wait longer for the first copy, in milliseconds. */
const patienceMilliseconds = 30_000;
/** Between two calls that the operator answers at once, in milliseconds. */
const restMilliseconds = 500;
const longestPauseMilliseconds = 15_000;

export function startSync({ folder: root, namespace, operator, sizeLimit, metrics, log }: SyncOptions): RunningSync {
  const stop = new AbortController();
  const { signal } = stop;
  const client = new OperatorClient(operator);
  const folder = new Folder(root);
  const room = new Room({ folder, limit: sizeLimit, now: () => performance.now() });
  const { gateway } = operator;
  const parts = { client, folder, room, namespace, gateway, received: metrics.received };
  const began = performance.now();
  let there: Awaited<ReturnType<typeof whatIsThere>>;
  let fault: string | undefined;

  const found = (now: NonNullable<typeof there>): void => {
    there = now;
    room.needs(now.needs);
    metrics.copied(now.generation);
  };

  const once = async (): Promise<void> => {
    const copied = await copy(parts, there, signal);
    if (copied !== undefined) {
      found(copied);
      const { generation, seconds } = copied;
      log.info({ gateway, generation, seconds }, 'copied');
    }
    metrics.succeeded(Date.now());
    metrics.holds(await room.sweep());
  };

  const run = async (): Promise<void> => {
    let failures = 0;
    let looked = false;
    while (!signal.aborted) {
      try {
        if (!looked) {
          const before = await whatIsThere(folder, namespace, gateway);
          if (before !== undefined) found(before);
          looked = true;
        }
        await once();
        if (fault !== undefined) log.info({ gateway }, 'copying again');
        [failures, fault] = [0, undefined];
        await rest(restMilliseconds, signal);
      } catch (error) {
        if (signal.aborted) return;
        const known =
          error instanceof SyncFault ? error : new SyncFault('OperatorFailed', 'something unexpected failed');
        metrics.failed(known.reason);
        if (known.message !== fault) {
          log.warn({ gateway, reason: known.reason, why: known.message, cause: codeOf(error) }, 'not copied');
        }
        fault = known.message;
        await rest((0.5 + Math.random() / 2) * Math.min(longestPauseMilliseconds, 500 * 2 ** failures), signal);
        failures = Math.min(failures + 1, 10);
      }
    }
  };
  const running = run();
  return {
    hasCatalogue: () => there !== undefined,
    started: () => there !== undefined || performance.now() - began >= patienceMilliseconds,
    fault: () => fault,
    async close() {
      stop.abort();
      await running;
      await client.close();
    },
  };
}

const rest = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  pause(milliseconds, undefined, { signal }).catch(() => {});

function codeOf(error: unknown): string | undefined {
  const { cause } = error as { cause?: unknown };
  const inner = (error instanceof SyncFault ? cause : error) as NodeJS.ErrnoException | undefined;
  return inner?.code ?? inner?.name;
}
