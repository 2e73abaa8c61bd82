// A clock that stands still until the test moves it.
import type { Clock } from '../../operator/clock.ts';
import { until } from './until.ts';

export class FakeClock implements Clock {
  #now = Date.parse('2026-11-10T12:00:00Z');
  readonly #timers = new Set<{ at: number; call: () => void }>();

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, call: () => void): () => void {
    const timer = { at: this.#now + milliseconds, call };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Milliseconds until each timer, shortest first. */
  get waiting(): number[] {
    return [...this.#timers].map(({ at }) => at - this.#now).sort((a, b) => a - b);
  }

  /** Lets time pass and fires what is due, in order. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.call();
    }
    this.#now = end;
  }

  /** The pause of a loop that does nothing but wait: the only timer there is, in milliseconds. */
  async pause(): Promise<number> {
    await until(() => this.#timers.size === 1, 'one timer alone');
    return Math.round(this.waiting[0]!);
  }
}
