// Made-up content that is the same in every run: words, binary bytes, sizes.
import { createCipheriv } from 'node:crypto';

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1) (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** Sizes as files have them: many small ones, few large ones. */
  size(typical: number, largest: number): number {
    const spread = this.next() + this.next() + this.next() - 1.5;
    return Math.min(largest, Math.max(64, Math.round(typical * Math.exp(spread * 2.2))));
  }

  /** Prose with line breaks, which packs to about a third as text does. */
  text(bytes: number): string {
    const words: string[] = [];
    for (let length = 0; length < bytes; ) {
      const word = vocabulary[Math.floor(this.next() ** 3 * vocabulary.length)]!;
      const separator = this.next() < 0.09 ? '\n' : ' ';
      words.push(word, separator);
      length += word.length + 1;
    }
    return words.join('').slice(0, bytes);
  }

  /** Bytes that do not pack, as pictures and archives. */
  bytes(count: number): Buffer {
    const key = Buffer.alloc(16);
    key.writeUInt32BE(this.below(2 ** 32));
    return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(count));
  }
}

const vocabulary = makeVocabulary(4000);

function makeVocabulary(words: number): string[] {
  const random = new Random(1);
  const letters = 'etaoinshrdlucmfwypvbgkqjxz';
  return Array.from({ length: words }, () =>
    Array.from({ length: 2 + random.below(9) }, () => letters[Math.floor(random.next() ** 2 * letters.length)]).join(
      '',
    ),
  );
}
