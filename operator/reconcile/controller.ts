// Brings objects to their wanted state, by key and level: whatever happened, the reconciler looks at what is there now.
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { ObjectKey } from '../kubernetes/cluster.ts';
import { type QueueMetrics, WorkQueue } from './queue.ts';

export interface ReconcileResult {
  /** When to look again though nothing has changed; left out: only when something does. */
  requeueAfterSeconds?: number;
}

/**
 * Brings one object to its wanted state; an object that is not there any more is cleaned up after. Idempotent.
 * A rejection means: try again, with growing pauses; at the earliest after its `retryAfterSeconds` where it has one.
 * @param signal aborts when the operator stops
 */
export type Reconcile = (key: ObjectKey, signal: AbortSignal) => Promise<ReconcileResult>;

export interface ControllerMetrics {
  queue: QueueMetrics;
  workers(wanted: number): void;
  active(change: 1 | -1): void;
  reconciled(result: 'success' | 'requeue_after' | 'error', seconds: number): void;
  panicked(): void;
}

export interface ControllerOptions {
  /** Of the kind, in lower case: `skillsource`. */
  name: string;
  /** How many objects are worked on at once. */
  workers: number;
  reconcile: Reconcile;
  metrics: ControllerMetrics;
  log: Logger;
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
}

/** Errors of the program itself, as against what servers and disks do. */
const panics = [TypeError, RangeError, ReferenceError, SyntaxError];

export class Controller {
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;
  /** Who waits for a reconcile that has not begun yet. */
  readonly #waiting = new Map<ObjectKey, PromiseWithResolvers<void>>();

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { clock, random, metrics } = options;
    this.#queue = new WorkQueue({ clock, random, metrics: metrics.queue });
  }

  /** The object may have changed, or something it depends on. Cheap, and safe to call before `run`. */
  enqueue(key: ObjectKey): void {
    this.#queue.add(key);
  }

  /** Enqueues the object, and resolves when a reconcile that begins after this call has ended, however it went. */
  reconciled(key: ObjectKey): Promise<void> {
    const waiting = this.#waiting.get(key) ?? Promise.withResolvers<void>();
    this.#waiting.set(key, waiting);
    this.#queue.add(key);
    return waiting.promise;
  }

  /** Works until the signal aborts; resolves when the reconciles under way have ended. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { workers, metrics } = this.#options;
    const stop = (): void => this.#queue.stop();
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    metrics.workers(workers);
    await Promise.all(Array.from({ length: workers }, () => this.#work(signal)));
    signal.removeEventListener('abort', stop);
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (let key = await this.#queue.get(); key !== undefined; key = await this.#queue.get()) {
      const waiting = this.#waiting.get(key);
      this.#waiting.delete(key);
      this.#options.metrics.active(1);
      await this.#reconcile(key, signal);
      this.#options.metrics.active(-1);
      this.#queue.done(key);
      waiting?.resolve();
    }
  }

  async #reconcile(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const { reconcile, metrics, clock } = this.#options;
    const began = clock.now();
    const seconds = (): number => (clock.now() - began) / 1000;
    try {
      const { requeueAfterSeconds } = await reconcile(key, signal);
      this.#queue.forget(key);
      if (requeueAfterSeconds !== undefined) this.#queue.addAfter(key, requeueAfterSeconds * 1000);
      metrics.reconciled(requeueAfterSeconds === undefined ? 'success' : 'requeue_after', seconds());
    } catch (error) {
      if (signal.aborted) return;
      metrics.reconciled('error', seconds());
      this.#failed(key, error);
      this.#queue.addRateLimited(key, wishOf(error) * 1000);
    }
  }

  #failed(key: ObjectKey, error: unknown): void {
    const { log, name, metrics } = this.#options;
    if (panics.some((panic) => error instanceof panic)) {
      metrics.panicked();
      log.error({ controller: name, key, err: error }, 'a reconcile met an unforeseen error');
      return;
    }
    log.warn(
      { controller: name, key, error: error instanceof Error ? error.message : 'unknown' },
      'a reconcile failed',
    );
  }
}

function wishOf(error: unknown): number {
  const wish = error instanceof Error ? (error as { retryAfterSeconds?: unknown }).retryAfterSeconds : undefined;
  return typeof wish === 'number' && wish > 0 ? Math.min(wish, 3600) : 0;
}
