// How long to wait before trying again: doubling pauses with full jitter, from the start again after a quiet time.
import type { Clock } from '../clock.ts';

export interface BackoffOptions {
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  firstMilliseconds: number;
  longestMilliseconds: number;
  /** Without a failure for so long, the next one counts as the first. */
  resetMilliseconds: number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;
  #quietSince = Number.NEGATIVE_INFINITY;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** A failure now: the pause before the next try, in milliseconds, any part of the doubled length. */
  next(): number {
    const { clock, random, firstMilliseconds, longestMilliseconds, resetMilliseconds } = this.#options;
    const now = clock.now();
    if (now - this.#quietSince >= resetMilliseconds) this.#failures = 0;
    const pause = random() * Math.min(longestMilliseconds, firstMilliseconds * 2 ** Math.min(this.#failures, 30));
    this.#failures++;
    this.#quietSince = now + pause;
    return pause;
  }
}
