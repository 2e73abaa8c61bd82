// The snapshot: one loaded catalogue, immutable, with everything sorted and every address in a table.
import type { ContentReader } from '../../catalogue/content.ts';
import type { Index, IndexSource } from '../../catalogue/index-file.ts';
import type { ArtifactKind, ArtifactRow, FileRow, PackFileRow, ProblemRow } from '../../catalogue/source-catalogue.ts';

/** The kinds of artifact that a server knows; rows of any other are passed over. */
export const artifactKinds = ['skill', 'prompt', 'rule', 'profile'] as const satisfies readonly ArtifactKind[];

/** Something for each kind of artifact. */
export type ByKind<T> = Readonly<Record<ArtifactKind, T>>;

/** What one source gives to its gateway, with the gateway's moves applied. Shared by snapshots while nothing changes. */
export interface SourceContent {
  name: string;
  library: string;
  /** Tags that count for scope, of the custom resources alone: library, source, those of both. Without the kind's word. */
  tags: ReadonlySet<string>;
  /** Each kind sorted by address. */
  artifacts: ByKind<readonly Artifact[]>;
  /** Sorted by code point of the path. */
  files: readonly PackFile[];
}

/** A skill, prompt, rule or profile, where this gateway has it. */
export interface Artifact {
  kind: ArtifactKind;
  from: SourceContent;
  /** Relative to the library and to the kind's place there. */
  address: string;
  /**
   * What it is asked for by, in the whole gateway: the address without its scheme, `<library>/<address>` of a skill,
   * `<library>/_rules/<address>`, `<library>/_profiles/<address>`; of a prompt its name, `<library>_<address>`.
   */
  qualified: string;
  /** The newest version: what addresses, lists and indexes speak of. */
  row: ArtifactRow;
  /** Every version, from the oldest to the newest; behind them those that are no SemVer, by name. */
  versions: readonly ArtifactRow[];
}

export interface PackFile {
  from: SourceContent;
  row: PackFileRow;
}

/** The artifacts of one kind in one library. */
export interface Shelf {
  /** Sorted by address. */
  all: readonly Artifact[];
  at: ReadonlyMap<string, Artifact>;
  /** The most segments that an address has. */
  depth: number;
}

export interface Library {
  name: string;
  title?: string;
  description?: string;
  contents: readonly SourceContent[];
  shelves: ByKind<Shelf>;
  /** Sorted by code point of the path. */
  files: readonly PackFile[];
  /** By listed form and by raw path. */
  fileAt: ReadonlyMap<string, PackFile>;
}

export interface Source {
  settings: IndexSource;
  content: SourceContent;
  /** What its harvest had to say, worst first. */
  problems: readonly ProblemRow[];
}

export interface Snapshot {
  index: Index;
  content: ContentReader;
  /** Sorted by address: what a library has stands together. */
  libraries: ReadonlyMap<string, Library>;
  /** Groups that no library has the name of, with their skills of all libraries. */
  groups: ReadonlyMap<string, readonly Artifact[]>;
  /** Sorted by qualified address. */
  skills: readonly Artifact[];
  /** Sorted by name. */
  prompts: readonly Artifact[];
  sources: readonly Source[];
}

/** The file of an address's main text. */
export const mainFile = (row: ArtifactRow): FileRow | undefined => row.files.find(({ path }) => path === row.main);

/** How many artifacts there are of each kind. */
export type ArtifactCounts = Readonly<Record<'skills' | 'prompts' | 'rules' | 'profiles', number>>;

export const countsOf = ({ skill, prompt, rule, profile }: ByKind<{ length: number }>): ArtifactCounts => ({
  skills: skill.length,
  prompts: prompt.length,
  rules: rule.length,
  profiles: profile.length,
});

/** What is served, of all sources together. */
export function servedCounts({ libraries, skills, prompts }: Snapshot): ArtifactCounts {
  let rules = 0;
  let profiles = 0;
  for (const { shelves } of libraries.values()) {
    rules += shelves.rule.all.length;
    profiles += shelves.profile.all.length;
  }
  return { skills: skills.length, prompts: prompts.length, rules, profiles };
}

/** The prompt of a name. No library's name holds `_`, so the first one ends it. */
export function promptNamed({ libraries }: Snapshot, name: string): Artifact | undefined {
  const end = name.indexOf('_');
  return end === -1 ? undefined : libraries.get(name.slice(0, end))?.shelves.prompt.at.get(name.slice(end + 1));
}

/** Ordering of text whose characters are all ASCII. */
export const byAscii = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
