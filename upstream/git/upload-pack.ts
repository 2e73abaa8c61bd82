// git-upload-pack as it runs at the other end: one answer after the other, cut out of one stream of bytes.
import { UpstreamFault } from '../fault.ts';
import type { RemoteProgram } from '../ssh/remote-program.ts';

type Program = Pick<RemoteProgram, 'hasEnded' | 'next' | 'write' | 'exitCode' | 'close'>;

export class UploadPack {
  readonly #program: Program;
  readonly #name: string;
  /** Bytes of the next answer that came with the last one. */
  #held: Buffer = Buffer.alloc(0);
  #isWaiting = false;

  /** @param name what messages call the server */
  constructor(program: Program, name: string) {
    this.#program = program;
    this.#name = name;
  }

  /** The last answer has come whole, and it waits for a request. */
  get isWaiting(): boolean {
    return this.#isWaiting && !this.#program.hasEnded;
  }

  write(request: Buffer): void {
    this.#isWaiting = false;
    this.#program.write(request);
  }

  /** What comes up to the first flush packet, that one too: an advertisement, and any answer of version 2. */
  async *answer(maxBytes: number): AsyncGenerator<Buffer> {
    const end = new FlushFinder();
    for await (const piece of this.rest(maxBytes)) {
      const at = end.in(piece);
      if (at === undefined) yield piece;
      else {
        this.#held = piece.subarray(at);
        this.#isWaiting = true;
        return yield piece.subarray(0, at);
      }
    }
  }

  /** What comes until the program ends, as an answer of version 0 does. */
  async *rest(maxBytes: number): AsyncGenerator<Buffer> {
    let bytes = 0;
    for (let piece: Buffer | undefined = this.#held; piece !== undefined; piece = await this.#program.next()) {
      this.#held = Buffer.alloc(0);
      bytes += piece.length;
      if (bytes > maxBytes) {
        this.close();
        throw new UpstreamFault(
          'LimitExceeded',
          `${this.#name} sends more than the ${maxBytes} bytes that one answer may have`,
        );
      }
      if (piece.length > 0) yield piece;
    }
  }

  /** Once its output has ended; undefined where the server does not tell. */
  exitCode(): Promise<number | undefined> {
    return this.#program.exitCode();
  }

  close(): void {
    this.#program.close();
  }
}

const digits = 4;

/** Finds the end of the first flush packet in pieces of a stream of packets (gitprotocol-common), without holding any. */
class FlushFinder {
  #length = '';
  /** Bytes of the present packet that are still to come; for ever in what is no packet, which the reader refuses. */
  #left = 0;

  /** @returns where the packet behind it begins; undefined where none has ended */
  in(piece: Buffer): number | undefined {
    for (let at = 0; at < piece.length; ) {
      if (this.#left > 0) {
        const step = Math.min(this.#left, piece.length - at);
        this.#left -= step;
        at += step;
        continue;
      }
      this.#length += String.fromCharCode(piece[at++]!);
      if (this.#length.length < digits) continue;
      const length = /^[0-9a-f]{4}$/i.test(this.#length) ? Number.parseInt(this.#length, 16) : Number.POSITIVE_INFINITY;
      if (length === 0) return at;
      this.#length = '';
      this.#left = Math.max(length - digits, 0);
    }
    return undefined;
  }
}
