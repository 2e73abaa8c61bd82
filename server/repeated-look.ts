// A look that is taken again and again, each one some time after the one before has ended.

export class RepeatedLook {
  readonly #look: () => Promise<void>;
  readonly #everyMs: number;
  #looking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * @param look never rejects
   * @param everyMs milliseconds between two looks
   */
  constructor(look: () => Promise<void>, everyMs: number) {
    this.#look = look;
    this.#everyMs = everyMs;
  }

  /** Looks once and then now and then. Resolves after the first look, whatever it found. */
  async start(): Promise<void> {
    this.#looking = this.#look();
    await this.#looking;
    this.#schedule();
  }

  /** Resolves when the last look has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().finally(() => this.#schedule());
    }, this.#everyMs);
  }
}
