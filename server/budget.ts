// A budget of bytes in memory: whoever needs some waits for his turn, so that many large answers at once keep memory flat.

/** As much as a connection takes anyway: it is not counted. */
const unnoticed = 64 * 1024;

/** Gives the bytes back. Calling it again does nothing. */
export type GiveBack = () => void;

interface Holder {
  since: number;
  overdue(): void;
}

export class Budget {
  readonly #whole: number;
  readonly #heldForMs: number;
  #left: number;
  readonly #holders = new Set<Holder>();
  readonly #waiting: { bytes: number; go(): void }[] = [];
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param bytes in all; whoever needs more gets it when nobody else has any
   * @param heldForMs how long somebody may hold bytes while others wait
   */
  constructor(bytes: number, heldForMs = 10_000) {
    this.#whole = bytes;
    this.#left = bytes;
    this.#heldForMs = heldForMs;
  }

  /**
   * Waits for so many bytes, in the order in which they were asked for.
   * @param overdue called when they are held too long while others wait: it ends whatever holds them
   */
  async take(bytes: number, overdue: () => void): Promise<GiveBack> {
    if (bytes <= unnoticed) return () => {};
    const counted = Math.min(bytes, this.#whole);
    if (this.#waiting.length > 0 || counted > this.#left) {
      this.#timer ??= setInterval(() => this.#hurry(), this.#heldForMs / 10);
      await new Promise<void>((go) => this.#waiting.push({ bytes: counted, go }));
    } else {
      this.#left -= counted;
    }
    const holder = { since: performance.now(), overdue };
    this.#holders.add(holder);
    return () => {
      if (!this.#holders.delete(holder)) return;
      this.#left += counted;
      this.#serve();
    };
  }

  #serve(): void {
    while (this.#waiting.length > 0 && this.#waiting[0]!.bytes <= this.#left) {
      const { bytes, go } = this.#waiting.shift()!;
      this.#left -= bytes;
      go();
    }
    if (this.#waiting.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #hurry(): void {
    for (const { since, overdue } of [...this.#holders]) {
      if (performance.now() - since > this.#heldForMs) overdue();
    }
  }
}
