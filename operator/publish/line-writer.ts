// A file of JSON lines in the making: in few large pieces, with its digest, and without holding up the event loop.
import { createHash } from 'node:crypto';
import { Slices } from '../../catalogue/slices.ts';

/** In characters: what becomes one piece. */
const pieceLength = 128 * 1024;

export class LineWriter {
  readonly #pieces: Buffer[] = [];
  readonly #hash = createHash('sha256');
  readonly #slices = new Slices();
  #lines = '';
  #size = 0;

  /** @returns the line with its newline */
  async add(row: unknown): Promise<string> {
    const line = `${JSON.stringify(row)}\n`;
    this.#lines += line;
    if (this.#lines.length >= pieceLength) this.#cut();
    if (this.#slices.over) await this.#slices.turn();
    return line;
  }

  /** The whole file, in pieces, with its size in bytes and its digest, `sha256:<hex>`. Call it once, at the end. */
  end(): { pieces: Buffer[]; size: number; digest: string } {
    this.#cut();
    return { pieces: this.#pieces, size: this.#size, digest: `sha256:${this.#hash.digest('hex')}` };
  }

  #cut(): void {
    const piece = Buffer.from(this.#lines);
    this.#lines = '';
    this.#hash.update(piece);
    this.#pieces.push(piece);
    this.#size += piece.length;
  }
}
