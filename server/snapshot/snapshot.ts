// The snapshot: one loaded catalogue, immutable, with everything sorted and every address in a table.
import type { ContentReader } from '../../catalogue/content.ts';
import type { Index, IndexSource } from '../../catalogue/index-file.ts';
import type { ArtifactRow, FileRow, PackFileRow } from '../../catalogue/source-catalogue.ts';

/** What one source gives to its gateway, with the gateway's moves applied. Shared by snapshots while nothing changes. */
export interface SourceContent {
  name: string;
  library: string;
  /** Tags that count for scope, of the custom resources alone: library, source, those of both. Without the kind's word. */
  tags: ReadonlySet<string>;
  /** Sorted by address. */
  skills: readonly Skill[];
  /** Sorted by code point of the path. */
  files: readonly PackFile[];
}

export interface Skill {
  from: SourceContent;
  /** Relative to the library. */
  address: string;
  /** `<library>/<address>`: the address without its scheme. */
  qualified: string;
  row: ArtifactRow;
}

export interface PackFile {
  from: SourceContent;
  row: PackFileRow;
}

export interface Library {
  name: string;
  title?: string;
  description?: string;
  contents: readonly SourceContent[];
  /** Sorted by address. */
  skills: readonly Skill[];
  skillAt: ReadonlyMap<string, Skill>;
  /** The most segments that a skill's address has in this library. */
  depth: number;
  /** Sorted by code point of the path. */
  files: readonly PackFile[];
  /** By listed form and by raw path. */
  fileAt: ReadonlyMap<string, PackFile>;
}

export interface Source {
  settings: IndexSource;
  content: SourceContent;
}

export interface Snapshot {
  index: Index;
  content: ContentReader;
  /** Sorted by address: a library's skills stand together. */
  libraries: ReadonlyMap<string, Library>;
  /** Groups that no library has the name of, with their skills of all libraries. */
  groups: ReadonlyMap<string, readonly Skill[]>;
  /** Sorted by qualified address. */
  skills: readonly Skill[];
  sources: readonly Source[];
}

/** The file of an address's main text. */
export const mainFile = (row: ArtifactRow): FileRow | undefined => row.files.find(({ path }) => path === row.main);

/** Ordering of text whose characters are all ASCII. */
export const byAscii = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
