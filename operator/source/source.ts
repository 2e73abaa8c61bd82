// What every backend gives: a cheap probe, a tree of files, and the bytes of the files that are wanted.
import type { Problem } from '../../catalogue/problem.ts';

/** A file or a link of a tree. Folders are implied by paths. */
export interface TreeEntry {
  /** From the root of the repository, mount or ConfigMap, `/`-joined, raw (never normalised). */
  path: string;
  /**
   * Upstream's name for exactly these bytes (git: the blob's object id). The same id never stands for other bytes, so
   * content that is known under its id is not read again. Absent where the backend has no such name.
   */
  id?: string;
  /** Bytes, where the listing tells. */
  size?: number;
  /** A symbolic link's target text. Links are resolved by `resolveLinks`, in every backend alike. */
  link?: string;
  /** Where the bytes are, of an entry that `resolveLinks` found behind a link. A backend never gives nor reads one. */
  realPath?: string;
}

export interface Tree {
  /** What upstream calls this state: `main@sha1:<40 hex>`, `sha256:<64 hex>`. */
  revision: string;
  entries: TreeEntry[];
  /** `spec.subdirectory` is there, as a folder, though it may have no files. Absent where only files are known. */
  hasSubdirectory?: true;
  /** What the listing had to leave out: BadFileName, Submodule, SpecialFile. */
  problems: Problem[];
  /**
   * Reads the wanted entries, of `entries` and none of them a link, in any order, each at most once; may be called again; bytes are not kept by the tree after `take` returns.
   * An entry over `limits.fileSize` is told to `tooLarge` instead (`size` in bytes, as far as known) and the rest goes on.
   * @throws UpstreamFault LimitExceeded when `limits.totalSize` is passed, and whatever the transport finds
   */
  read(entries: readonly TreeEntry[], sink: TreeSink): Promise<void>;
  /** Removes temporary files. Safe to call twice. */
  close(): Promise<void>;
}

export interface TreeSink {
  take(entry: TreeEntry, bytes: Buffer): void | Promise<void>;
  tooLarge(entry: TreeEntry, size: number): void;
}

/** One look at one source. Made for a look and closed after it; what it must remember goes through `Memory`. */
export interface Source {
  /** Has it changed? One cheap request: what upstream calls its state now. */
  probe(): Promise<string>;
  /** The whole tree, without content. Called again after a MovedMeanwhile: the tree as it is then. */
  open(): Promise<Tree>;
  close(): Promise<void>;
}

/** What a backend keeps between looks, opaque to everybody else. Losing it costs time, never correctness. */
export interface Memory {
  load(): Promise<Buffer | undefined>;
  save(bytes: Uint8Array): Promise<void>;
}
