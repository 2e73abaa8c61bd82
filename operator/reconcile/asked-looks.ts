// Looks that somebody waits for: who asks gets a look that began after he asked, and shares it with all who ask before it does.
import type { ObjectKey } from '../kubernetes/cluster.ts';

/** What a look that was asked for came to; only the first word counts. */
export type TellLook = (rebuilt: boolean) => void;

export class AskedLooks {
  readonly #waiting = new Map<ObjectKey, PromiseWithResolvers<boolean>>();

  /** @returns whether the source was looked at, and did not fail exactly as it had before */
  ask(key: ObjectKey): Promise<boolean> {
    const waiting = this.#waiting.get(key) ?? Promise.withResolvers<boolean>();
    this.#waiting.set(key, waiting);
    return waiting.promise;
  }

  /** A reconcile begins: it owes a look to those who have asked until now. Undefined where nobody has. */
  take(key: ObjectKey): TellLook | undefined {
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    return waiting?.resolve;
  }
}
