// Bytes that arrive in pieces, read as if they lay in one row.

export class ByteStream {
  readonly #pieces: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);
  #ended = false;

  constructor(pieces: AsyncIterable<Buffer>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** What has arrived and is not yet taken. */
  get held(): Buffer {
    return this.#held;
  }

  /** Waits until this many bytes are held, or all that will ever come. */
  async fill(bytes: number): Promise<void> {
    if (this.#held.length >= bytes || this.#ended) return;
    const gathered = [this.#held];
    let total = this.#held.length;
    while (total < bytes) {
      const piece = await this.#pieces.next();
      if (piece.done === true) {
        this.#ended = true;
        break;
      }
      gathered.push(piece.value);
      total += piece.value.length;
    }
    this.#held = gathered.length === 2 && gathered[0]?.length === 0 ? gathered[1]! : Buffer.concat(gathered, total);
  }

  /** Takes bytes that are held. */
  take(bytes: number): Buffer {
    const taken = this.#held.subarray(0, bytes);
    this.#held = this.#held.subarray(bytes);
    return taken;
  }

  /** Tells the sender that no more will be read. */
  async cancel(): Promise<void> {
    this.#ended = true;
    await this.#pieces.return?.();
  }
}
