// The index of a segment: which blobs it holds and where, as sorted fixed records that are searched where they lie.
import { Slices } from './slices.ts';
import { CatalogueUnreadable } from './unreadable.ts';

const digestBytes = 32;
const recordBytes = 44;
const prefix = 'sha256:';

export interface BlobPlace {
  /** Bytes from the segment's start. */
  offset: number;
  length: number;
}

/** The bytes of a `.index` file for blobs at these places. Lets the event loop turn while it sorts. */
export async function encodeSegmentIndex(blobs: ReadonlyMap<string, BlobPlace>): Promise<Buffer> {
  const slices = new Slices();
  const byFirstByte = Array.from({ length: 256 }, (): string[] => []);
  for (const digest of blobs.keys()) {
    byFirstByte[Number.parseInt(digest.slice(prefix.length, prefix.length + 2), 16)]?.push(digest);
    if (slices.over) await slices.turn();
  }
  const bytes = Buffer.alloc(blobs.size * recordBytes);
  let at = 0;
  for (const digests of byFirstByte) {
    for (const digest of digests.sort()) {
      const { offset, length } = blobs.get(digest) as BlobPlace;
      bytes.write(digest.slice(prefix.length), at, 'hex');
      bytes.writeBigUInt64BE(BigInt(offset), at + digestBytes);
      bytes.writeUInt32BE(length, at + digestBytes + 8);
      at += recordBytes;
    }
    if (slices.over) await slices.turn();
  }
  return bytes;
}

export class SegmentIndex {
  readonly #records: Buffer;
  /** For each first byte of a digest, the number of records below the next one: the search starts within 1/256. */
  readonly #below = new Uint32Array(257);

  /**
   * @param path of the `.index` file, for errors
   * @param segmentSize bytes of the segment, which every record must lie in
   * @throws CatalogueUnreadable Corrupt
   */
  constructor(path: string, records: Buffer, expected: { size: number; blobs: number }) {
    if (records.length !== expected.blobs * recordBytes) {
      const why = `has ${records.length} bytes, ${expected.blobs * recordBytes} are expected`;
      throw new CatalogueUnreadable('Corrupt', path, why);
    }
    this.#records = records;
    for (let record = 0; record < expected.blobs; record++) {
      const at = record * recordBytes;
      if (
        record > 0 &&
        records.compare(records, at - recordBytes, at - recordBytes + digestBytes, at, at + digestBytes) <= 0
      ) {
        throw new CatalogueUnreadable('Corrupt', path, `is not sorted at record ${record}`);
      }
      const { offset, length } = this.#place(record);
      if (offset + length > expected.size) {
        throw new CatalogueUnreadable('Corrupt', path, `points behind the segment's end at record ${record}`);
      }
      const next = (records[at] as number) + 1;
      this.#below[next] = record + 1;
    }
    for (let first = 1; first < this.#below.length; first++) {
      this.#below[first] = Math.max(this.#below[first] as number, this.#below[first - 1] as number);
    }
  }

  /** @param key the digest's 32 bytes */
  find(key: Buffer): BlobPlace | undefined {
    const first = key[0] as number;
    let low = this.#below[first] as number;
    let high = this.#below[first + 1] as number;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = middle * recordBytes;
      const order = this.#records.compare(key, 0, digestBytes, at, at + digestBytes);
      if (order === 0) return this.#place(middle);
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }

  /** Every blob, `sha256:<hex>` and place, in the order of digests. */
  *entries(): Generator<[string, BlobPlace]> {
    for (let record = 0; record * recordBytes < this.#records.length; record++) {
      const at = record * recordBytes;
      yield [prefix + this.#records.toString('hex', at, at + digestBytes), this.#place(record)];
    }
  }

  #place(record: number): BlobPlace {
    const at = record * recordBytes + digestBytes;
    const high = this.#records.readUInt32BE(at);
    const low = this.#records.readUInt32BE(at + 4);
    return { offset: high * 2 ** 32 + low, length: this.#records.readUInt32BE(at + 8) };
  }
}

/** The 32 bytes of `sha256:<64 hex>`; undefined for any other text. */
export function digestKey(digest: string): Buffer | undefined {
  return /^sha256:[0-9a-f]{64}$/.test(digest) ? Buffer.from(digest.slice(prefix.length), 'hex') : undefined;
}
