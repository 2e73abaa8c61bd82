// A work queue of object keys: each waits at most once and is worked on at most once; time and failures hold keys back.
import type { Clock } from '../clock.ts';
import type { ObjectKey } from '../kubernetes/cluster.ts';

export interface QueueOptions {
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  metrics: QueueMetrics;
}

/** `fresh`: something has changed. `planned`: time has come round, or a failure is tried again. Fresh keys go first. */
export type Lane = 'fresh' | 'planned';

export interface QueueMetrics {
  depth(lane: Lane, keys: number): void;
  added(): void;
  retried(): void;
  /** @param seconds that a key waited before work on it began */
  waited(seconds: number): void;
  /** @param seconds that work on a key took */
  worked(seconds: number): void;
  /** Called once: `running` gives how long each key has been worked on so far, in seconds. */
  watch(running: () => number[]): void;
}

const firstPauseMilliseconds = 1_000;
const longestPauseMilliseconds = 10 * 60_000;

export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #metrics: QueueMetrics;
  /** Waiting keys, oldest first, with the time they came. */
  readonly #lanes: Readonly<Record<Lane, Map<ObjectKey, number>>> = { fresh: new Map(), planned: new Map() };
  /** Keys being worked on, with the time work began. */
  readonly #processing = new Map<ObjectKey, number>();
  /** Added while being worked on: waits again when that is done. */
  readonly #dirty = new Map<ObjectKey, { lane: Lane; since: number }>();
  readonly #timers = new Map<ObjectKey, () => void>();
  readonly #failures = new Map<ObjectKey, number>();
  readonly #idle: ((key: ObjectKey | undefined) => void)[] = [];
  #stopped = false;

  constructor(options: QueueOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#metrics = options.metrics;
    this.#metrics.watch(() => {
      const now = this.#clock.now();
      return [...this.#processing.values()].map((since) => (now - since) / 1000);
    });
  }

  /** The key is due now. */
  add(key: ObjectKey): void {
    this.#enqueue(key, 'fresh');
  }

  /** The key is due after so many milliseconds, instead of whenever it was planned before. */
  addAfter(key: ObjectKey, milliseconds: number): void {
    if (this.#stopped) return;
    this.#unplan(key);
    const due = (): void => {
      this.#timers.delete(key);
      this.#enqueue(key, 'planned');
    };
    this.#timers.set(key, this.#clock.after(Math.max(0, milliseconds), due));
  }

  /**
   * The key is due after a pause that doubles with each failure in a row: 1 s to 10 min, less a random half.
   * @param atLeastMilliseconds a server's own wish
   */
  addRateLimited(key: ObjectKey, atLeastMilliseconds = 0): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#metrics.retried();
    const full = Math.min(longestPauseMilliseconds, firstPauseMilliseconds * 2 ** Math.min(failures, 30));
    this.addAfter(key, Math.max(full * (0.5 + 0.5 * this.#random()), atLeastMilliseconds));
  }

  /** The key has succeeded: its next failure counts as the first. */
  forget(key: ObjectKey): void {
    this.#failures.delete(key);
  }

  /** The next key to work on, to be given back with `done`; undefined when the queue has stopped. */
  async get(): Promise<ObjectKey | undefined> {
    if (this.#stopped) return undefined;
    for (const lane of ['fresh', 'planned'] as const) {
      const next = this.#lanes[lane].entries().next().value;
      if (next === undefined) continue;
      const [key, since] = next;
      this.#lanes[lane].delete(key);
      this.#metrics.depth(lane, this.#lanes[lane].size);
      this.#begin(key, since);
      return key;
    }
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Work on the key has ended. */
  done(key: ObjectKey): void {
    const began = this.#processing.get(key);
    if (began === undefined) return;
    this.#processing.delete(key);
    this.#metrics.worked((this.#clock.now() - began) / 1000);
    const again = this.#dirty.get(key);
    this.#dirty.delete(key);
    if (again !== undefined && !this.#stopped) this.#wait(key, again.lane, again.since);
  }

  /** Gives no key any more and forgets every plan; keys that are being worked on may still be given back. */
  stop(): void {
    this.#stopped = true;
    for (const forget of this.#timers.values()) forget();
    this.#timers.clear();
    this.#dirty.clear();
    for (const lane of ['fresh', 'planned'] as const) {
      this.#lanes[lane].clear();
      this.#metrics.depth(lane, 0);
    }
    for (const resolve of this.#idle.splice(0)) resolve(undefined);
  }

  #enqueue(key: ObjectKey, lane: Lane): void {
    if (this.#stopped) return;
    const now = this.#clock.now();
    if (this.#processing.has(key)) {
      const dirty = this.#dirty.get(key);
      if (dirty === undefined) this.#metrics.added();
      if (dirty?.lane !== 'fresh') this.#dirty.set(key, { lane, since: dirty?.since ?? now });
      return;
    }
    if (this.#lanes.fresh.has(key)) return;
    const planned = this.#lanes.planned.get(key);
    if (planned === undefined) this.#metrics.added();
    else if (lane === 'planned') return;
    else {
      this.#lanes.planned.delete(key);
      this.#metrics.depth('planned', this.#lanes.planned.size);
    }
    this.#wait(key, lane, planned ?? now);
  }

  #wait(key: ObjectKey, lane: Lane, since: number): void {
    const worker = this.#idle.shift();
    if (worker !== undefined) {
      this.#begin(key, since);
      worker(key);
      return;
    }
    this.#lanes[lane].set(key, since);
    this.#metrics.depth(lane, this.#lanes[lane].size);
  }

  /** Work that begins decides anew when the key is due next, so what was planned is void. */
  #begin(key: ObjectKey, since: number): void {
    const now = this.#clock.now();
    this.#unplan(key);
    this.#processing.set(key, now);
    this.#metrics.waited((now - since) / 1000);
  }

  #unplan(key: ObjectKey): void {
    this.#timers.get(key)?.();
    this.#timers.delete(key);
  }
}
