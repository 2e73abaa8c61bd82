// Long work in slices, so that whatever else the program is doing is never held up by it.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long a slice of work may last before the event loop has its turn, in milliseconds. */
export const sliceMilliseconds = 4;

/** Lets the event loop turn when the slice that began at the last turn has lasted its time. */
export class Slices {
  #began = performance.now();

  /** True when `turn` should be awaited. */
  get over(): boolean {
    return performance.now() - this.#began > sliceMilliseconds;
  }

  async turn(): Promise<void> {
    await nextTurn();
    this.#began = performance.now();
  }
}
