// The blobs of one source during one look: what is published already, and what is new, gathered into one new segment.
import { createHash } from 'node:crypto';
import { type ContentReader, ContentUnavailable } from '../../catalogue/content.ts';
import { digestOf } from '../../catalogue/digest.ts';
import { segmentIndexPath, segmentPath, segmentsFolder } from '../../catalogue/layout.ts';
import { type BlobPlace, digestKey, encodeSegmentIndex } from '../../catalogue/segment-index.ts';
import { loadSegmentIndex, SegmentReader } from '../../catalogue/segment-reader.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { SegmentRef } from '../../catalogue/source-catalogue.ts';
import { CatalogueUnreadable } from '../../catalogue/unreadable.ts';
import { SourceFault } from '../reasons.ts';
import type { Key } from './key.ts';
import { type OldSegment, planSegments } from './segment-plan.ts';
import type { TemporaryFile } from './temporary-file.ts';
import type { Volume } from './volume.ts';

/** What is written at once, in bytes: also what is held in memory. */
const chunkBytes = 1024 * 1024;

/** Blobs read at the same time when they are copied. */
const copiesAtOnce = 32;

/**
 * Opens the blobs of a source for one look. Segments that are missing or damaged count as not there, so that the look
 * fetches again what they held.
 * @param segments what the source's record names
 * @throws SourceFault StorageFailed
 */
export async function openBlobs(volume: Volume, key: Key, segments: readonly SegmentRef[]): Promise<BlobStore> {
  const old: OldSegment[] = [];
  for (const ref of segments) {
    try {
      old.push({ ref, index: await loadSegmentIndex(volume.root, key.namespace, key.name, ref) });
    } catch (error) {
      if (!(error instanceof CatalogueUnreadable)) throw error;
    }
  }
  const reader = new SegmentReader(volume.root);
  await reader.use([{ ...key, segments: old.map(({ ref }) => ref) }]);
  return new BlobStore(volume, key, old, reader);
}

export class BlobStore implements ContentReader {
  readonly #volume: Volume;
  readonly #key: Key;
  readonly #old: readonly OldSegment[];
  readonly #reader: SegmentReader;
  readonly #places = new Map<string, BlobPlace>();
  readonly #hash = createHash('sha256');
  readonly #slices = new Slices();
  #file: TemporaryFile | undefined;
  #chunk: Buffer = Buffer.alloc(0);
  #filled = 0;
  #size = 0;
  /** Settles when everything queued is in the file. */
  #written: Promise<void> = Promise.resolve();

  constructor(volume: Volume, key: Key, old: readonly OldSegment[], reader: SegmentReader) {
    this.#volume = volume;
    this.#key = key;
    this.#old = old;
    this.#reader = reader;
  }

  /** @param digest `sha256:<hex>` */
  has(digest: string): boolean {
    if (this.#places.has(digest)) return true;
    const bytes = digestKey(digest);
    return bytes !== undefined && this.#old.some(({ index }) => index.find(bytes) !== undefined);
  }

  /** @throws SourceFault StorageFailed */
  async read(digest: string): Promise<Buffer> {
    const place = this.#places.get(digest);
    if (place !== undefined) {
      this.#queueChunk();
      await this.#written;
      return this.#file === undefined ? Buffer.alloc(0) : await this.#file.read(place.offset, place.length);
    }
    try {
      return await this.#reader.read(digest);
    } catch (error) {
      if (!(error instanceof ContentUnavailable)) throw error;
      const remedy = 'remove the damaged segment file, and the next look fetches it again';
      throw new SourceFault('StorageFailed', `${this.#folder}: ${error.message}; ${remedy}`, { cause: error });
    }
  }

  /**
   * Keeps a blob, once however often it is added. The bytes are copied before the call returns; await it, since that
   * holds back who adds faster than the volume writes.
   * @returns its digest
   * @throws SourceFault StorageFailed
   */
  async add(bytes: Uint8Array): Promise<string> {
    const digest = digestOf(bytes);
    if (!this.has(digest)) await this.#store(digest, bytes);
    if (this.#slices.over) await this.#slices.turn();
    return digest;
  }

  /**
   * Publishes the new segment and says which segments hold the live blobs: old ones without a live blob are left out,
   * old ones that are mostly dead or too many are copied into the new one. Nothing is deleted here. Call it once.
   * @param live digests that the new catalogue names; all of them must be here
   * @throws SourceFault StorageFailed
   */
  async seal(live: Iterable<string>): Promise<SegmentRef[]> {
    const elsewhere = new Set<string>();
    let fresh = false;
    for (const digest of live) {
      if (this.#places.has(digest)) fresh = true;
      else elsewhere.add(digest);
      if (this.#slices.over) await this.#slices.turn();
    }
    const plan = await planSegments(this.#old, elsewhere, fresh);
    if (plan.missing !== undefined) {
      throw new SourceFault('StorageFailed', `cannot publish ${this.#folder}: ${plan.missing} is not on the volume`);
    }
    for (let at = 0; at < plan.copy.length; at += copiesAtOnce) {
      const digests = plan.copy.slice(at, at + copiesAtOnce);
      const blobs = await Promise.all(digests.map((digest) => this.read(digest)));
      for (const [number, digest] of digests.entries()) await this.#store(digest, blobs[number] as Buffer);
    }
    const segments = fresh || plan.copy.length > 0 ? [...plan.keep, await this.#publish()] : plan.keep;
    await this.discard();
    return segments;
  }

  /** Removes what was not sealed. Safe to call twice. */
  async discard(): Promise<void> {
    this.#reader.close();
    await this.#written.catch(() => {});
    await this.#file?.discard();
    this.#file = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.discard();
  }

  async #publish(): Promise<SegmentRef> {
    this.#queueChunk();
    await this.#written;
    const { namespace, name } = this.#key;
    this.#file ??= await this.#volume.create(this.#folder);
    const ref: SegmentRef = {
      digest: `sha256:${this.#hash.digest('hex')}`,
      size: this.#size,
      blobs: this.#places.size,
    };
    await this.#volume.write(segmentIndexPath(namespace, name, ref.digest), await encodeSegmentIndex(this.#places));
    await this.#file.settle(segmentPath(namespace, name, ref.digest));
    return ref;
  }

  async #store(digest: string, bytes: Uint8Array): Promise<void> {
    this.#places.set(digest, { offset: this.#size, length: bytes.length });
    this.#size += bytes.length;
    if (this.#filled + bytes.length <= chunkBytes) {
      this.#fill(bytes);
      return;
    }
    this.#queueChunk();
    if (bytes.length > chunkBytes) this.#queue(Buffer.from(bytes));
    else this.#fill(bytes);
    await this.#written;
  }

  #fill(bytes: Uint8Array): void {
    if (this.#chunk.length === 0) this.#chunk = Buffer.allocUnsafe(chunkBytes);
    this.#chunk.set(bytes, this.#filled);
    this.#filled += bytes.length;
  }

  #queueChunk(): void {
    if (this.#filled === 0) return;
    this.#queue(this.#chunk.subarray(0, this.#filled));
    this.#chunk = Buffer.alloc(0);
    this.#filled = 0;
  }

  #queue(bytes: Buffer): void {
    this.#written = this.#written.then(async () => {
      this.#file ??= await this.#volume.create(this.#folder);
      this.#hash.update(bytes);
      await this.#file.append(bytes);
    });
    // Whoever adds, reads or seals next hears of a failure; until then nobody may be listening.
    this.#written.catch(() => {});
  }

  get #folder(): string {
    return segmentsFolder(this.#key.namespace, this.#key.name);
  }
}
