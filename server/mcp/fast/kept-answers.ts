// Answers that are kept, bounded by bytes: those that were asked for lately stay, the others go.

/** What an answer takes besides its own bytes: its key, its place in a table. */
const overhead = 512;

/**
 * Two tables: what is asked for moves into the young one, and when that is half of all that may be kept, it becomes the old
 * one and what stood there is forgotten. So an answer that is asked for costs one look into a table, and no list is kept.
 */
export class KeptAnswers<Answer extends { bytes: number }> {
  readonly #half: number;
  readonly #longest: number;
  #young = new Map<string, Answer>();
  #old = new Map<string, Answer>();
  #youngBytes = 0;

  /**
   * @param most bytes of all answers together
   * @param longest bytes of an answer; one with more is not kept
   */
  constructor(most: number, longest: number) {
    this.#half = most / 2;
    this.#longest = longest;
  }

  get(key: string): Answer | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, answer: Answer): void {
    if (answer.bytes > this.#longest) return;
    const before = this.#young.get(key);
    this.#youngBytes += sizeOf(key, answer) - (before === undefined ? 0 : sizeOf(key, before));
    this.#young.set(key, answer);
    if (this.#youngBytes <= this.#half) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }
}

const sizeOf = (key: string, { bytes }: { bytes: number }): number => 2 * key.length + bytes + overhead;
