// Bodies that depend on a view alone, made once for it: an index of thousands of skills costs milliseconds.
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';

/** For each snapshot, over all its views, in characters. */
const mostCharacters = 8 * 1024 * 1024;

const kept = new WeakMap<Snapshot, KeptBodies>();

/** The body that stands at an address in a view. @param make makes it, from nothing but the view */
export function keptBody({ snapshot, key }: View, address: string, make: () => string): string {
  let bodies = kept.get(snapshot);
  if (bodies === undefined) {
    bodies = new KeptBodies();
    kept.set(snapshot, bodies);
  }
  return bodies.get(`${key} ${address}`, make);
}

/** The last used are kept. */
class KeptBodies {
  readonly #bodies = new Map<string, string>();
  #characters = 0;

  get(key: string, make: () => string): string {
    const known = this.#bodies.get(key);
    if (known !== undefined) {
      this.#bodies.delete(key);
      this.#bodies.set(key, known);
      return known;
    }
    const body = make();
    if (body.length > mostCharacters / 2) return body;
    this.#bodies.set(key, body);
    this.#characters += key.length + body.length;
    for (const [oldest, { length }] of this.#bodies) {
      if (this.#characters <= mostCharacters) break;
      this.#bodies.delete(oldest);
      this.#characters -= oldest.length + length;
    }
    return body;
  }
}
