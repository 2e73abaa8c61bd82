// What is new in a catalogue against one that a copy has: made once, since all copies ask for the same at the same time.
import { readFile } from 'node:fs/promises';
import { lineDelta, longestForDelta } from '../../catalogue/line-delta.ts';

const mostKept = 16;

export class Deltas {
  readonly #kept = new Map<string, Promise<Buffer | undefined>>();

  /**
   * @param base @param target absolute paths of files that never change
   * @returns undefined where it would be no shorter, or a file is not there or too long
   */
  between(base: string, target: string): Promise<Buffer | undefined> {
    const key = `${base} ${target}`;
    const known = this.#kept.get(key);
    const made = known ?? delta(base, target);
    this.#kept.delete(key);
    this.#kept.set(key, made);
    if (this.#kept.size > mostKept) this.#kept.delete(this.#kept.keys().next().value as string);
    return made;
  }
}

async function delta(base: string, target: string): Promise<Buffer | undefined> {
  try {
    const [before, now] = await Promise.all([readFile(base), readFile(target)]);
    if (Math.max(before.length, now.length) > longestForDelta) return undefined;
    const made = await lineDelta(before, now);
    return made.length < now.length ? made : undefined;
  } catch {
    return undefined;
  }
}
