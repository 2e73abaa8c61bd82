// Reads blobs by digest out of segments: found in their indexes, read at offsets, checked before they are given out.
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ContentReader, ContentUnavailable } from './content.ts';
import { digestOf } from './digest.ts';
import { FilePool } from './file-pool.ts';
import { segmentIndexPath, segmentPath } from './layout.ts';
import { type BlobPlace, digestKey, SegmentIndex } from './segment-index.ts';
import type { SegmentRef } from './source-catalogue.ts';
import { CatalogueUnreadable, unreadable } from './unreadable.ts';

/** The segments of one source, as its catalogue's header names them. */
export interface SourceSegments {
  namespace: string;
  name: string;
  segments: readonly SegmentRef[];
}

interface Segment {
  /** Absolute. */
  path: string;
  index: SegmentIndex;
}

type Segments = ReadonlyMap<string, Segment>;

const openSegments = 64;

export class SegmentReader implements ContentReader {
  readonly #root: string;
  readonly #pool: FilePool;
  #current: Segments = new Map();
  #before: Segments = new Map();

  /**
   * @param root absolute path of the volume
   * @param pool the open files; its own by default
   */
  constructor(root: string, pool: FilePool = new FilePool(openSegments)) {
    this.#root = root;
    this.#pool = pool;
  }

  /**
   * Reads from exactly these segments from now on, and from those of the call before, since requests that began on
   * the snapshot before are finished on it. Call it last, when everything else of a new catalogue is loaded.
   * @throws CatalogueUnreadable when a segment or its index is missing or corrupt: nothing has changed then
   */
  async use(sources: Iterable<SourceSegments>): Promise<void> {
    const next = new Map<string, Segment>();
    for (const { namespace, name, segments } of sources) {
      for (const ref of segments) {
        const path = segmentPath(namespace, name, ref.digest);
        next.set(path, this.#current.get(path) ?? (await loadSegment(this.#root, namespace, name, ref)));
      }
    }
    if (next.size === this.#current.size && [...next.keys()].every((path) => this.#current.has(path))) return;
    // A file that is kept open is kept on the disk, also when the operator has deleted it: who still needs it opens it again.
    for (const segments of [this.#before, this.#current]) {
      for (const [path, segment] of segments) if (!next.has(path)) this.#pool.drop(segment.path);
    }
    this.#before = this.#current;
    this.#current = next;
  }

  async read(digest: string): Promise<Buffer> {
    const key = digestKey(digest);
    if (key === undefined) throw new ContentUnavailable(digest, 'it is no SHA-256 digest');
    let why = 'no published segment holds it';
    for (const [segment, place] of this.#find(key)) {
      try {
        const bytes = await this.#readAt(segment.path, place);
        if (bytes.length === place.length && digestOf(bytes) === digest) return bytes;
        why = 'the bytes on the volume are not the ones that were published';
      } catch (error) {
        why = `its segment cannot be read (${codeOf(error) ?? 'unknown error'})`;
      }
    }
    throw new ContentUnavailable(digest, why);
  }

  /** Closes every file. What is being read is read to its end. */
  close(): void {
    this.#current = new Map();
    this.#before = new Map();
    this.#pool.dropAll();
  }

  *#find(key: Buffer): Generator<[Segment, BlobPlace]> {
    for (const segments of [this.#current, this.#before]) {
      for (const segment of segments.values()) {
        const place = segment.index.find(key);
        if (place !== undefined) yield [segment, place];
      }
    }
  }

  /** Once more where the file server says that it knows the open file no longer. */
  async #readAt(path: string, { offset, length }: BlobPlace): Promise<Buffer> {
    try {
      return await this.#pool.read(path, offset, length);
    } catch (error) {
      const code = codeOf(error);
      if (code !== 'ESTALE' && code !== 'ENOENT') throw error;
      return await this.#pool.read(path, offset, length);
    }
  }
}

async function loadSegment(root: string, namespace: string, name: string, ref: SegmentRef): Promise<Segment> {
  const path = join(root, segmentPath(namespace, name, ref.digest));
  return { path, index: await loadSegmentIndex(root, namespace, name, ref) };
}

/**
 * The index of a segment that is there with the size it must have. The segment's bytes are not read.
 * @throws CatalogueUnreadable Missing or Corrupt
 */
export async function loadSegmentIndex(
  root: string,
  namespace: string,
  name: string,
  ref: SegmentRef,
): Promise<SegmentIndex> {
  const path = segmentPath(namespace, name, ref.digest);
  const indexPath = segmentIndexPath(namespace, name, ref.digest);
  try {
    const { size } = await stat(join(root, path));
    if (size !== ref.size) {
      throw new CatalogueUnreadable('Corrupt', path, `has ${size} bytes, ${ref.size} were published`);
    }
  } catch (error) {
    throw unreadable(path, error);
  }
  try {
    return new SegmentIndex(indexPath, await readFile(join(root, indexPath)), ref);
  } catch (error) {
    throw unreadable(indexPath, error);
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;
