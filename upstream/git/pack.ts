// A pack (gitformat-pack) read as it arrives: objects are unpacked, deltas resolved, everything hashed, little kept.
import { createHash, type Hash } from 'node:crypto';
import { UpstreamFault } from '../fault.ts';
import { newPace, type Pace } from '../pace.ts';
import { ByteStream } from './byte-stream.ts';
import {
  applyDelta,
  applyDeltaInPieces,
  type DeltaBase,
  DeltaDamaged,
  type DeltaHeader,
  deltaHeader,
} from './delta.ts';
import { InflateDamaged, inflateInPieces, inflateThrough, inflateWhole } from './inflate.ts';
import { type GitObject, type ObjectType, objectHash, objectName } from './objects.ts';
import type { UnfoldBudget } from './unfold-budget.ts';
import type { UnpackedStore } from './unpacked-store.ts';

export interface PackOptions {
  /** What messages call the server. */
  name: string;
  /** Above this many objects the pack is refused with LimitExceeded. */
  maxObjects: number;
  /** Bytes: a larger object is told to `sink.large` and not kept. */
  keep: number;
  /** Bytes: up to here an object too large to be held whole is written to the store, so that deltas can build on it. */
  largest: number;
  budget: UnfoldBudget;
  /** Objects at hand that a thin pack may build on. */
  base?: (oid: string) => GitObject | undefined;
  /** Of this pack alone: every object that is held whole is put there. The caller closes it. */
  store: UnpackedStore;
  signal: AbortSignal;
}

export interface PackSink {
  /** @param offset the object's place in the pack, its key in the store */
  whole(oid: string, object: GitObject, offset: number): void | Promise<void>;
  large(oid: string, type: ObjectType, size: number): void;
  /** Told the bytes of an object that was passed over because it, or the delta that gives it, is too large; its name stays unknown. */
  passedOver?(size: number): void;
}

/** An object that deltas build on is held whole, up to this size or `keep`, whichever is more. */
const holdAtLeast = 16 * 2 ** 20;

const plainTypes: Record<number, ObjectType> = { 1: 'commit', 2: 'tree', 3: 'blob', 4: 'tag' };
const offsetDelta = 6;
const nameDelta = 7;

interface Waiting {
  offset: number;
  /** The base's offset in this pack, or its name. */
  base: number | string;
  delta: Buffer;
}

/** What one waiting delta costs beside its bytes. */
const waitingOverhead = 256;

/**
 * Gives every object of the pack to the sink, under the name that its bytes have. What cannot be resolved in bounded
 * memory (a delta on an object beyond `largest`, or on one that never comes) is passed over: the caller knows what it
 * asked for and sees that it is not there.
 * @throws UpstreamFault UpstreamInvalid for a damaged pack, LimitExceeded; what the stream or the sink throws
 */
export async function readPack(pieces: AsyncIterable<Buffer>, options: PackOptions, sink: PackSink): Promise<void> {
  const reader = new PackReader(pieces, options, sink);
  try {
    await reader.read();
  } catch (error) {
    if (error instanceof InflateDamaged || error instanceof DeltaDamaged) throw damaged(options.name);
    throw error;
  } finally {
    await reader.close();
  }
}

const damaged = (name: string): UpstreamFault =>
  new UpstreamFault(
    'UpstreamInvalid',
    `${name} sent a damaged pack; if this lasts, run git fsck on the repository there`,
  );

const baseOf = ({ type, data }: GitObject): DeltaBase => ({
  type,
  size: data.length,
  read: async (from, length) => data.subarray(from, from + length),
});

class PackReader {
  readonly #stream: ByteStream;
  readonly #options: PackOptions;
  readonly #sink: PackSink;
  readonly #pace: Pace;
  readonly #hold: number;
  readonly #largest: number;
  readonly #store: UnpackedStore;
  readonly #offsets = new Map<string, number>();
  readonly #hash: Hash = createHash('sha1');
  readonly #consumed = (bytes: Buffer): void => {
    this.#hash.update(bytes);
    this.#position += bytes.length;
  };
  #position = 0;
  /** Deltas that came before their base, by that base's offset or name. */
  readonly #waiting = new Map<number | string, Waiting[]>();
  #waitingBytes = 0;
  /** Deltas whose base has come. */
  readonly #ready: Waiting[] = [];

  constructor(pieces: AsyncIterable<Buffer>, options: PackOptions, sink: PackSink) {
    this.#stream = new ByteStream(pieces);
    this.#options = options;
    this.#sink = sink;
    this.#pace = newPace(options.signal);
    this.#hold = Math.max(holdAtLeast, options.keep);
    this.#largest = Math.max(this.#hold, options.largest);
    this.#store = options.store;
  }

  async read(): Promise<void> {
    const count = await this.#header();
    for (let index = 0; index < count; index++) {
      await this.#pace();
      await this.#entry();
      while (this.#ready.length > 0) {
        await this.#pace();
        await this.#resolve(this.#ready.pop()!);
      }
    }
    await this.#trailer();
  }

  async close(): Promise<void> {
    await this.#stream.cancel();
  }

  async #header(): Promise<number> {
    const header = await this.#take(12);
    const version = header.readUInt32BE(4);
    if (header.toString('latin1', 0, 4) !== 'PACK' || (version !== 2 && version !== 3))
      throw damaged(this.#options.name);
    const count = header.readUInt32BE(8);
    if (count > this.#options.maxObjects) {
      throw new UpstreamFault(
        'LimitExceeded',
        `the repository has more than ${this.#options.maxObjects} objects to read`,
      );
    }
    return count;
  }

  async #trailer(): Promise<void> {
    await this.#stream.fill(20);
    const stated = this.#stream.take(20);
    await this.#stream.fill(1);
    if (!this.#hash.digest().equals(stated) || this.#stream.held.length > 0) throw damaged(this.#options.name);
  }

  async #entry(): Promise<void> {
    const offset = this.#position;
    const { type, size } = await this.#entryHeader();
    if (type === offsetDelta || type === nameDelta) {
      const base = type === offsetDelta ? offset - (await this.#distance()) : (await this.#take(20)).toString('hex');
      return this.#deltaEntry(offset, base, size);
    }
    const plain = plainTypes[type];
    if (plain === undefined) throw damaged(this.#options.name);
    if (size > this.#hold) return this.#largeEntry(offset, plain, size);
    this.#options.budget.spend(size);
    await this.#arrived(offset, { type: plain, data: await inflateWhole(this.#stream, size, this.#consumed) });
  }

  async #largeEntry(offset: number, type: ObjectType, size: number): Promise<void> {
    const hash = objectHash(type, size);
    if (size > this.#largest) {
      await this.#inflateAway(size, (piece) => hash.update(piece));
      return this.#sink.large(hash.digest('hex'), type, size);
    }
    const write = await this.#store.large(offset, type, size);
    await inflateInPieces(this.#stream, size, this.#consumed, async (piece) => {
      this.#options.signal.throwIfAborted();
      this.#options.budget.spend(piece.length);
      hash.update(piece);
      await write(piece);
    });
    this.#largeArrived(offset, hash.digest('hex'), type, size);
  }

  async #deltaEntry(offset: number, base: number | string, size: number): Promise<void> {
    if (size > this.#hold) return this.#largeDelta(size);
    this.#options.budget.spend(size);
    const delta = await inflateWhole(this.#stream, size, this.#consumed);
    const waiting = { offset, base, delta };
    if (await this.#resolve(waiting)) return;
    if (this.#waitingBytes + size + waitingOverhead > this.#hold) return;
    this.#waitingBytes += size + waitingOverhead;
    const others = this.#waiting.get(base);
    if (others === undefined) this.#waiting.set(base, [waiting]);
    else others.push(waiting);
  }

  /** What a delta gives stands at its beginning, in at most 20 bytes. */
  async #largeDelta(size: number): Promise<void> {
    let beginning = Buffer.alloc(0);
    await this.#inflateAway(size, (piece) => {
      if (beginning.length < 20) beginning = Buffer.concat([beginning, piece.subarray(0, 20)]);
    });
    this.#sink.passedOver?.(deltaHeader(beginning).resultSize);
  }

  #inflateAway(size: number, output: (piece: Buffer) => void): Promise<void> {
    return inflateThrough(this.#stream, size, this.#consumed, (piece) => {
      this.#options.signal.throwIfAborted();
      this.#options.budget.spend(piece.length);
      output(piece);
    });
  }

  /** @returns false while the base is not there */
  async #resolve({ offset, base, delta }: Waiting): Promise<boolean> {
    const header = deltaHeader(delta);
    if (header.resultSize > this.#largest) {
      this.#sink.passedOver?.(header.resultSize);
      return true;
    }
    const found = await this.#base(base);
    if (found !== undefined && header.resultSize <= this.#hold) {
      this.#options.budget.spend(header.resultSize);
      await this.#arrived(offset, { type: found.type, data: await applyDelta(found.data, delta, header, this.#pace) });
      return true;
    }
    const large = found === undefined ? this.#largeBase(base) : baseOf(found);
    if (large === undefined) return false;
    await this.#resolveInPieces(offset, large, delta, header);
    return true;
  }

  /** A delta whose base or result is too large to be held whole. */
  async #resolveInPieces(offset: number, base: DeltaBase, delta: Buffer, header: DeltaHeader): Promise<void> {
    const { type } = base;
    const { resultSize } = header;
    this.#options.budget.spend(resultSize);
    const pieces = applyDeltaInPieces(base, delta, header, this.#pace);
    if (resultSize <= this.#hold) {
      const gathered: Buffer[] = [];
      for await (const piece of pieces) gathered.push(piece);
      return this.#arrived(offset, { type, data: Buffer.concat(gathered, resultSize) });
    }
    const hash = objectHash(type, resultSize);
    const write = await this.#store.large(offset, type, resultSize);
    for await (const piece of pieces) {
      hash.update(piece);
      await write(piece);
    }
    this.#largeArrived(offset, hash.digest('hex'), type, resultSize);
  }

  #largeBase(base: number | string): DeltaBase | undefined {
    const offset = typeof base === 'number' ? base : this.#offsets.get(base);
    return offset === undefined ? undefined : this.#store.largeBase(offset);
  }

  async #base(base: number | string): Promise<GitObject | undefined> {
    if (typeof base === 'number') return this.#store.get(base);
    const offset = this.#offsets.get(base);
    return offset === undefined ? this.#options.base?.(base) : this.#store.get(offset);
  }

  async #arrived(offset: number, object: GitObject): Promise<void> {
    const oid = objectName(object.type, object.data);
    await this.#store.put(offset, object);
    this.#release(offset, oid);
    if (object.data.length > this.#options.keep) this.#sink.large(oid, object.type, object.data.length);
    else await this.#sink.whole(oid, object, offset);
  }

  #largeArrived(offset: number, oid: string, type: ObjectType, size: number): void {
    this.#release(offset, oid);
    this.#sink.large(oid, type, size);
  }

  /** The deltas that waited for this object can be resolved. */
  #release(offset: number, oid: string): void {
    this.#offsets.set(oid, offset);
    for (const base of [offset, oid]) {
      for (const waiting of this.#waiting.get(base) ?? []) this.#ready.push(waiting);
      this.#waiting.delete(base);
    }
  }

  async #entryHeader(): Promise<{ type: number; size: number }> {
    let byte = await this.#byte();
    const type = (byte >> 4) & 7;
    let size = byte & 0x0f;
    for (let factor = 16; (byte & 0x80) !== 0; factor *= 128) {
      if (factor > 2 ** 46) throw damaged(this.#options.name);
      byte = await this.#byte();
      size += (byte & 0x7f) * factor;
    }
    return { type, size };
  }

  /** How far before a delta its base begins. */
  async #distance(): Promise<number> {
    let byte = await this.#byte();
    let distance = byte & 0x7f;
    while ((byte & 0x80) !== 0) {
      if (distance > 2 ** 40) throw damaged(this.#options.name);
      byte = await this.#byte();
      distance = (distance + 1) * 128 + (byte & 0x7f);
    }
    return distance;
  }

  async #byte(): Promise<number> {
    return (await this.#take(1))[0]!;
  }

  async #take(bytes: number): Promise<Buffer> {
    if (this.#stream.held.length < bytes) await this.#stream.fill(bytes);
    if (this.#stream.held.length < bytes) throw damaged(this.#options.name);
    const taken = this.#stream.take(bytes);
    this.#consumed(taken);
    return taken;
  }
}
