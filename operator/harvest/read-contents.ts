// The bytes of what was selected: read where they are not known, described, stored, and main files parsed.

import type { ParsedMain } from '../../catalogue/main-text.ts';
import { Slices } from '../../catalogue/slices.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import type { Limits } from '../../upstream/limits.ts';
import { SourceFault } from '../reasons.ts';
import { printable } from '../source/path.ts';
import type { Tree, TreeEntry } from '../source/source.ts';
import { type Content, contentOf, type KnownContent, type KnownContents } from './content.ts';
import { type ParserName, parsers } from './parsers.ts';

/** Where bytes go and come from. */
export interface Blobs {
  /** @param digest `sha256:<hex>` */
  has(digest: string): boolean;
  /** Stores bytes. @returns their digest */
  add(bytes: Buffer): Promise<string> | string;
  read(digest: string): Promise<Buffer>;
}

export interface Contents {
  /** By the path where the bytes really are. */
  byRealPath: ReadonlyMap<string, KnownContent>;
  /** By upstream's id: what the next harvest need not read. */
  byId: KnownContents;
  /** What a main file says to one of its readers. */
  parsed(content: Content, parser: ParserName): ParsedMain;
}

/** By the real path of a main file, the readers that want it. */
export type Mains = ReadonlyMap<string, ReadonlySet<ParserName>>;

export const realPathOf = ({ path, realPath }: TreeEntry): string => realPath ?? path;

/** The bytes of one tree, for one harvest. */
export class ContentsReader {
  readonly #tree: Tree;
  readonly #blobs: Blobs;
  readonly #signal: AbortSignal | undefined;
  readonly #reading: Reading;
  readonly #real: ReadonlyMap<string, TreeEntry>;
  /** By digest, what `bytes` has read. */
  readonly #held = new Map<string, Buffer>();
  readonly #slices = new Slices();

  private constructor(
    tree: Tree,
    blobs: Blobs,
    signal: AbortSignal | undefined,
    reading: Reading,
    real: ReadonlyMap<string, TreeEntry>,
  ) {
    this.#tree = tree;
    this.#blobs = blobs;
    this.#signal = signal;
    this.#reading = reading;
    this.#real = real;
  }

  static async of(
    tree: Tree,
    known: KnownContents,
    blobs: Blobs,
    limits: Limits,
    signal: AbortSignal | undefined,
  ): Promise<ContentsReader> {
    const slices = new Slices();
    const real = new Map<string, TreeEntry>();
    for (const entry of tree.entries) {
      if (entry.link === undefined) real.set(entry.path, entry);
      if (slices.over) await slices.turn();
    }
    return new ContentsReader(tree, blobs, signal, new Reading(known, blobs, limits), real);
  }

  /**
   * The bytes of a few small files, linked ones among them, by their real paths; `tooLarge` beyond `limits.fileSize`.
   * They stay stored, so that the next harvest need not read them again.
   */
  async bytes(entries: readonly TreeEntry[]): Promise<Map<string, { digest: string; bytes: Buffer } | 'tooLarge'>> {
    for (const entry of entries) this.#want(entry);
    await this.#read((content, bytes) => this.#held.set(content.digest, Buffer.from(bytes)));
    const found = new Map<string, { digest: string; bytes: Buffer } | 'tooLarge'>();
    for (const path of new Set(entries.map(realPathOf))) {
      const content = this.#reading.contentAt(path);
      if ('tooLarge' in content) found.set(path, 'tooLarge');
      else found.set(path, { digest: content.digest, bytes: await this.#stored(content) });
    }
    return found;
  }

  /**
   * @param wanted selected entries, linked ones among them
   * @throws SourceFault LimitExceeded beyond `limits.totalSize`, UpstreamFault from the tree, whatever `blobs` throws, and
   *   the signal's reason
   */
  async contents(wanted: Iterable<TreeEntry>, mains: Mains): Promise<Contents> {
    const slices = this.#slices;
    for (const entry of wanted) {
      this.#want(entry);
      if (slices.over) await slices.turn();
    }
    const parsed = new Map<string, ParsedMain>();
    const parse = (content: Content, bytes: Buffer, readers: Iterable<ParserName>): void => {
      for (const reader of readers) {
        const key = `${reader} ${content.digest}`;
        if (!parsed.has(key)) parsed.set(key, parsers[reader](bytes, content.text));
      }
    };
    await this.#read((content, bytes, paths) => {
      for (const path of paths) parse(content, bytes, mains.get(path) ?? []);
    });
    const byRealPath = await this.#reading.contents(slices);
    for (const [path, readers] of mains) {
      const content = byRealPath.get(path);
      if (content === undefined || 'tooLarge' in content) continue;
      const missing = [...readers].filter((reader) => !parsed.has(`${reader} ${content.digest}`));
      if (missing.length > 0) parse(content, await this.#stored(content), missing);
      this.#signal?.throwIfAborted();
      if (slices.over) await slices.turn();
    }
    return {
      byRealPath,
      byId: this.#reading.byId,
      parsed: ({ digest }, reader) => parsed.get(`${reader} ${digest}`)!,
    };
  }

  #want(entry: TreeEntry): void {
    this.#reading.want(this.#real.get(realPathOf(entry)) ?? entry);
  }

  async #read(take: (content: Content, bytes: Buffer, paths: readonly string[]) => void): Promise<void> {
    const reading = this.#reading;
    const unread = reading.unread();
    if (unread.length === 0) return;
    await this.#tree.read(unread, {
      take: async (entry, bytes) => {
        this.#signal?.throwIfAborted();
        const content = await reading.take(entry, bytes);
        if (content !== undefined) take(content, bytes, reading.pathsOf(entry));
        if (this.#slices.over) await this.#slices.turn();
      },
      tooLarge: (entry, size) => reading.tooLarge(entry, size),
    });
    reading.settled();
  }

  async #stored(content: Content): Promise<Buffer> {
    return this.#held.get(content.digest) ?? (await this.#blobs.read(content.digest));
  }
}

/** Which real files are wanted, what is known of each, and how many bytes that is in all. */
class Reading {
  readonly #known: KnownContents;
  readonly #blobs: Blobs;
  readonly #limits: Limits;
  readonly byId = new Map<string, KnownContent>();
  readonly #byPath = new Map<string, KnownContent | undefined>();
  /** Entries to read, one an id, with every path that wants those bytes. */
  readonly #unread = new Map<string, { entry: TreeEntry; paths: string[] }>();
  #size = 0;

  constructor(known: KnownContents, blobs: Blobs, limits: Limits) {
    this.#known = known;
    this.#blobs = blobs;
    this.#limits = limits;
  }

  want(entry: TreeEntry): void {
    const { path, id } = entry;
    if (this.#byPath.has(path)) return;
    const known = id === undefined ? undefined : (this.byId.get(id) ?? this.#stillKnown(this.#known.get(id)));
    if (id !== undefined && known !== undefined) this.byId.set(id, known);
    if (known !== undefined && 'size' in known) this.#count(known.size);
    this.#byPath.set(path, known);
    if (known !== undefined) return;
    const key = keyOf(entry);
    const same = this.#unread.get(key);
    if (same === undefined) this.#unread.set(key, { entry, paths: [path] });
    else same.paths.push(path);
  }

  unread(): TreeEntry[] {
    return [...this.#unread.values()].map(({ entry }) => entry);
  }

  /** What was unread has been read. @throws UpstreamFault UpstreamInvalid where the tree has not given a file that it listed */
  settled(): void {
    for (const { paths } of this.#unread.values()) for (const path of paths) this.contentAt(path);
    this.#unread.clear();
  }

  /** Of a file that is wanted and read. */
  contentAt(path: string): KnownContent {
    const content = this.#byPath.get(path);
    if (content !== undefined) return content;
    throw new UpstreamFault('UpstreamInvalid', `the file ${printable(path)} was listed and did not arrive`);
  }

  pathsOf(entry: TreeEntry): string[] {
    return this.#unread.get(keyOf(entry))?.paths ?? [];
  }

  /** @returns undefined for a file that is too large after all */
  async take(entry: TreeEntry, bytes: Buffer): Promise<Content | undefined> {
    if (bytes.length > this.#limits.fileSize) {
      this.tooLarge(entry, bytes.length);
      return undefined;
    }
    const content = contentOf(bytes);
    for (const _path of this.pathsOf(entry)) this.#count(content.size);
    if (!this.#blobs.has(content.digest)) await this.#blobs.add(bytes);
    this.#settle(entry, content);
    return content;
  }

  tooLarge(entry: TreeEntry, size: number): void {
    this.#settle(entry, { tooLarge: size });
  }

  async contents(slices: Slices): Promise<Map<string, KnownContent>> {
    const contents = new Map<string, KnownContent>();
    for (const path of this.#byPath.keys()) {
      contents.set(path, this.contentAt(path));
      if (slices.over) await slices.turn();
    }
    return contents;
  }

  #settle(entry: TreeEntry, content: KnownContent): void {
    for (const path of this.pathsOf(entry)) this.#byPath.set(path, content);
    if (entry.id !== undefined) this.byId.set(entry.id, content);
  }

  /** What an id stood for holds still, unless its bytes are gone or the limit has moved past its size. */
  #stillKnown(content: KnownContent | undefined): KnownContent | undefined {
    if (content === undefined) return undefined;
    const { fileSize } = this.#limits;
    if ('tooLarge' in content) return content.tooLarge > fileSize ? content : undefined;
    if (content.size > fileSize) return { tooLarge: content.size };
    return this.#blobs.has(content.digest) ? content : undefined;
  }

  #count(size: number): void {
    this.#size += size;
    if (this.#size > this.#limits.totalSize) {
      throw new SourceFault(
        'LimitExceeded',
        `the wanted files have more than ${this.#limits.totalSize} bytes in all: raise spec.limits.totalSize, or narrow spec.include or spec.exclude`,
      );
    }
  }
}

/** Two entries with one id have the same bytes, and are read once. */
const keyOf = ({ id, path }: TreeEntry): string => (id === undefined ? `path ${path}` : `id ${id}`);
