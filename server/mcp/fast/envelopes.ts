// What clients tell of themselves, `_meta` of the modern era, as far as the SDK has let it pass.
import { type JsonObject, textOf } from './question.ts';

const mostTexts = 512;

export class Envelopes {
  readonly #texts = new Set<string>();
  /** Most requests are from the client of the one before: comparing is cheaper than writing. */
  #last: JsonObject | undefined;

  add(envelope: JsonObject): void {
    const text = textOf(envelope);
    if (text === undefined) return;
    if (this.#texts.size === mostTexts) this.#texts.clear();
    this.#texts.add(text);
  }

  has(envelope: JsonObject): boolean {
    if (this.#last !== undefined && isSame(envelope, this.#last)) return true;
    const text = textOf(envelope);
    if (text === undefined || !this.#texts.has(text)) return false;
    this.#last = envelope;
    return true;
  }
}

/** Whether two values of JSON are equal. What is nested deeper than `known` is not followed. */
function isSame(value: unknown, known: unknown): boolean {
  if (value === known) return true;
  if (typeof value !== 'object' || typeof known !== 'object' || value === null || known === null) return false;
  if (Array.isArray(value) !== Array.isArray(known)) return false;
  let keys = 0;
  for (const key in value) {
    if (!Object.hasOwn(known, key)) return false;
    if (!isSame((value as JsonObject)[key], (known as JsonObject)[key])) return false;
    keys += 1;
  }
  for (const _ in known) keys -= 1;
  return keys === 0;
}
