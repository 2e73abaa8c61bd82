// The bytes of what was selected: read where they are not known, described, stored, and main files parsed.
import { Slices } from '../../catalogue/slices.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import type { Limits } from '../../upstream/limits.ts';
import { SourceFault } from '../reasons.ts';
import { printable } from '../source/path.ts';
import type { Tree, TreeEntry } from '../source/source.ts';
import { type Content, contentOf, type KnownContent, type KnownContents } from './content.ts';
import { type ParsedSkill, parseSkill } from './skill.ts';

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
  /** By digest, the main files. */
  parsed: ReadonlyMap<string, ParsedSkill>;
}

export const realPathOf = ({ path, realPath }: TreeEntry): string => realPath ?? path;

/**
 * @param wanted selected entries, linked ones among them
 * @param mains the real paths of main files
 * @throws SourceFault LimitExceeded beyond `limits.totalSize`, UpstreamFault from the tree, whatever `blobs` throws, and the
 *   signal's reason
 */
export async function readContents(
  tree: Tree,
  wanted: Iterable<TreeEntry>,
  mains: ReadonlySet<string>,
  known: KnownContents,
  blobs: Blobs,
  limits: Limits,
  signal: AbortSignal | undefined,
): Promise<Contents> {
  const slices = new Slices();
  const reading = new Reading(known, blobs, limits);
  const real = new Map<string, TreeEntry>();
  for (const entry of tree.entries) {
    if (entry.link === undefined) real.set(entry.path, entry);
    if (slices.over) await slices.turn();
  }
  for (const entry of wanted) {
    reading.want(real.get(realPathOf(entry)) ?? entry);
    if (slices.over) await slices.turn();
  }
  const parsed = new Map<string, ParsedSkill>();
  const parse = (content: Content, bytes: Buffer): void => {
    if (!parsed.has(content.digest)) parsed.set(content.digest, parseSkill(bytes, content.text));
  };
  const unread = reading.unread();
  if (unread.length > 0) {
    await tree.read(unread, {
      take: async (entry, bytes) => {
        signal?.throwIfAborted();
        const content = await reading.take(entry, bytes);
        if (content !== undefined && reading.pathsOf(entry).some((path) => mains.has(path))) parse(content, bytes);
        if (slices.over) await slices.turn();
      },
      tooLarge: (entry, size) => reading.tooLarge(entry, size),
    });
  }
  const byRealPath = await reading.contents(slices);
  for (const path of mains) {
    const content = byRealPath.get(path);
    if (content === undefined || 'tooLarge' in content || parsed.has(content.digest)) continue;
    parse(content, await blobs.read(content.digest));
    signal?.throwIfAborted();
    if (slices.over) await slices.turn();
  }
  return { byRealPath, byId: reading.byId, parsed };
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
    const known = id === undefined ? undefined : this.#stillKnown(this.#known.get(id));
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

  /** @throws UpstreamFault UpstreamInvalid where the tree has not given a file that it listed */
  async contents(slices: Slices): Promise<Map<string, KnownContent>> {
    const contents = new Map<string, KnownContent>();
    for (const [path, content] of this.#byPath) {
      if (content === undefined) {
        throw new UpstreamFault('UpstreamInvalid', `the file ${printable(path)} was listed and did not arrive`);
      }
      contents.set(path, content);
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
