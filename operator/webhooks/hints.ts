// How often webhooks make a source be looked at: the first one does at once, those that follow share one look after a pause.
import type { Clock } from '../clock.ts';
import type { ObjectKey } from '../kubernetes/cluster.ts';

/** Between two looks at a source that webhooks ask for, in milliseconds: the shortest `refresh`. */
export const pauseMilliseconds = 5_000;

export class Hints {
  readonly #look: (source: ObjectKey) => void;
  readonly #clock: Clock;
  /** Sources that have been looked at within the pause, and whether they will be again at its end. */
  readonly #paused = new Map<ObjectKey, { again: boolean }>();

  constructor(look: (source: ObjectKey) => void, clock: Clock) {
    this.#look = look;
    this.#clock = clock;
  }

  /** @returns when the source is looked at: a look begins after every hint, so that the last one is never lost */
  hint(source: ObjectKey): 'now' | 'soon' {
    const paused = this.#paused.get(source);
    if (paused !== undefined) {
      paused.again = true;
      return 'soon';
    }
    this.#lookAndPause(source);
    return 'now';
  }

  #lookAndPause(source: ObjectKey): void {
    const paused = { again: false };
    this.#paused.set(source, paused);
    this.#clock.after(pauseMilliseconds, () => {
      if (paused.again) this.#lookAndPause(source);
      else this.#paused.delete(source);
    });
    this.#look(source);
  }
}
