// What archives have in common: their files are read one at a time, within a budget of memory, and their digest from pieces.
import { createHash } from 'node:crypto';
import type { ContentReader } from '../../catalogue/content.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { FileRow } from '../../catalogue/source-catalogue.ts';
import type { Budget, GiveBack } from '../budget.ts';

/** Reads one file after the other: what a file took of the budget is given back when the next one is asked for. */
export class FilesInTurn implements Disposable {
  readonly #content: ContentReader;
  readonly #budget: Budget;
  readonly #overdue: () => void;
  #giveBack: GiveBack = () => {};

  /** @param overdue ends whatever takes the files, when others have waited long enough */
  constructor(content: ContentReader, budget: Budget, overdue: () => void) {
    this.#content = content;
    this.#budget = budget;
    this.#overdue = overdue;
  }

  /** @throws ContentUnavailable */
  async read({ digest, size }: Pick<FileRow, 'digest' | 'size'>): Promise<Buffer> {
    this.#giveBack();
    this.#giveBack = await this.#budget.take(size, this.#overdue);
    return await this.#content.read(digest);
  }

  [Symbol.dispose](): void {
    this.#giveBack();
  }
}

const hashedAtOnce = 1024 * 1024;

/** `sha256:<hex>` */
export async function digestOfPieces(pieces: AsyncIterable<Buffer>): Promise<string> {
  const slices = new Slices();
  const hash = createHash('sha256');
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += hashedAtOnce) {
      hash.update(piece.subarray(at, at + hashedAtOnce));
      if (slices.over) await slices.turn();
    }
  }
  return `sha256:${hash.digest('hex')}`;
}
