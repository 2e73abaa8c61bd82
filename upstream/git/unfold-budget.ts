// How much may be unpacked in one look, kept or not: a small pack can unfold to any size.
import { UpstreamFault } from '../fault.ts';

const mebibyte = 2 ** 20;

export class UnfoldBudget {
  readonly #bytes: number;
  readonly #what: string;
  #left: number;

  /** @param what names, for a message, what unfolds */
  constructor(bytes: number, what: string) {
    this.#bytes = bytes;
    this.#what = what;
    this.#left = bytes;
  }

  /** @throws UpstreamFault LimitExceeded */
  spend(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) {
      throw new UpstreamFault(
        'LimitExceeded',
        `${this.#what} unfold to more than ${this.#bytes / mebibyte} MiB, which no field raises`,
      );
    }
  }
}
