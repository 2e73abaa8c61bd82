// Clients that read and list editions all the time, and say what they should not have been told.
import { setTimeout as pause } from 'node:timers/promises';
import { listSkills, readSkill, skills } from './editions.ts';

const number = 4;

export class Readers {
  readonly #url: string;
  readonly #written: () => number;
  readonly #broken: string[];
  readonly #running: Promise<unknown>;
  #over = false;
  /** Answers that were right. */
  reads = 0;

  /**
   * @param written the last edition that somebody has begun to write
   * @param broken what did not hold is put here
   */
  constructor(url: string, written: () => number, broken: string[]) {
    this.#url = url;
    this.#written = written;
    this.#broken = broken;
    this.#running = Promise.all(Array.from({ length: number }, () => this.#read()));
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#running;
  }

  async #read(): Promise<void> {
    let seen = 0;
    for (let turn = 0; !this.#over; turn++) {
      try {
        const found = await (turn % 10 === 0
          ? listSkills(this.#url)
          : readSkill(this.#url, skills[turn % skills.length]!));
        this.reads += 1;
        if (found < seen) this.#broken.push(`edition ${found} was read after edition ${seen}`);
        if (found > this.#written()) this.#broken.push(`edition ${found} was read, which nobody has written`);
        seen = found;
      } catch (error) {
        this.#broken.push(`a read failed: ${wordsOf(error)}`);
        await pause(100);
      }
      await pause(5);
    }
  }
}

export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
