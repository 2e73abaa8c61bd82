// Which files are prompts, rules and profiles: by glob, convention or plugin, visible, each real file once a kind.
import { type Problem, problem } from '../../catalogue/problem.ts';
import type { Slices } from '../../catalogue/slices.ts';
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import { type Folder, walk } from '../source/folder-tree.ts';
import { folderOf, joinPath, nameOf } from '../source/path.ts';
import { sorted } from '../source/sorted.ts';
import type { TreeEntry } from '../source/source.ts';
import { compileGlobs, type Glob } from './globs.ts';
import { type DocumentKind, documentKinds } from './kinds.ts';
import type { Plugins } from './plugins.ts';
import { realPathOf } from './read-contents.ts';
import { belowSubdirectory, type KindSieve, type Sieve } from './sieve.ts';
import { identityOf, type VersionFolder, type VersionFolders } from './version-folders.ts';
import { hiddenBy, isExcluded } from './visibility.ts';

export interface FoundDocument {
  kind: DocumentKind;
  main: TreeEntry;
  /** The main file's path below the subdirectory. */
  path: string;
  /** The root of the plugin that has it, or ``. */
  base: string;
  /** The folder that belongs to it as a whole, if it has one. */
  folder: Folder | undefined;
  /** What that folder is a version of. */
  version: VersionFolder | undefined;
}

export interface FoundDocuments {
  /** Of each kind in the order of their right to an address: real before linked, then convention, then folder. */
  documents: FoundDocument[];
  /** Paths of their main files, also where a link shows one of them once more: none of these is a pack file. */
  mains: ReadonlySet<string>;
  /** Folders that are a document's own, also as links show them. */
  folders: ReadonlySet<Folder>;
  /** Files that are of a kind, whether a glob reaches them or not. */
  seen: number;
  problems: Problem[];
  matched: ReadonlySet<Glob>;
}

interface Candidate extends FoundDocument {
  /** The place in the order of globs; plugins come behind them. */
  convention: number;
}

/** @param isInSkill whether a folder belongs to a skill: what stands there and no glob names is no loss */
export async function findDocuments(
  source: Folder,
  sieve: Sieve,
  plugins: Plugins,
  versions: VersionFolders,
  isInSkill: (folder: Folder) => boolean,
  slices: Slices,
): Promise<FoundDocuments> {
  const searches = documentKinds.map((kind) => new Search(kind, sieve, plugins));
  const below = (path: string) => belowSubdirectory(sieve, path);
  for (const folder of walk(source, ({ path, name }) => isExcluded(below(path), name, sieve.exclude))) {
    const relative = below(folder.path);
    const inSkill = isInSkill(folder);
    const here = searches.map((search) => search.in(relative, versions.at.get(folder)));
    for (const [name, main] of folder.files) {
      if (slices.over) await slices.turn();
      if (!documentKinds.some((kind) => kind.isMain(name))) continue;
      if (isExcluded(below(main.path), name, sieve.exclude)) continue;
      for (const look of here) look(name, main, folder, inSkill);
    }
    if (slices.over) await slices.turn();
  }
  const found = [];
  for (const search of searches) found.push(await search.end(slices));
  return {
    documents: found.flatMap(({ documents }) => documents),
    mains: new Set(found.flatMap(({ candidates }) => candidates.map(({ main }) => main.path))),
    folders: new Set(found.flatMap(({ candidates }) => candidates.flatMap(({ folder }) => folder ?? []))),
    seen: found.reduce((sum, { seen }) => sum + seen, 0),
    problems: found.flatMap(({ problems }) => problems),
    matched: new Set(found.flatMap(({ matched }) => [...matched])),
  };
}

/** The search for one kind. */
class Search {
  readonly #kind: DocumentKind;
  readonly #own: KindSieve;
  readonly #subdirectory: string;
  readonly #plugins: Plugins;
  readonly #inPlugin: readonly Glob[];
  readonly #candidates: Candidate[] = [];
  readonly #left: { path: string; real: string }[] = [];
  /** Files that their names keep from being one, by paths from the repository's root. */
  readonly #mistakable: string[] = [];
  readonly #matched = new Set<Glob>();

  constructor(kind: DocumentKind, sieve: Sieve, plugins: Plugins) {
    this.#kind = kind;
    this.#own = sieve[kind.list];
    this.#subdirectory = sieve.subdirectory;
    this.#plugins = plugins;
    this.#inPlugin = this.#own.listed ? [] : compileGlobs(kind.inPlugin, kind.list);
  }

  /**
   * Looks at the files of a folder, one after the other.
   * @param relative the folder's path below the subdirectory
   * @param versionOf what the folder is a version of, of whatever kind
   */
  in(relative: string, versionOf: VersionFolder | undefined) {
    const { kind, isMain, isMistakable, tells } = this.#kind;
    const version = versionOf?.kind === kind ? versionOf : undefined;
    const globs = [...this.#own.globs.entries()].filter(([, glob]) => glob.mayMatchIn(relative));
    const roots = this.#inPlugin.length === 0 ? [] : rootsAbove(relative, this.#plugins);
    const isOff = this.#own.listed && this.#own.globs.length === 0;
    return (name: string, main: TreeEntry, folder: Folder, inSkill: boolean): void => {
      const path = joinPath(relative, name);
      if (isMistakable(path) && this.#reaches(globs, roots, path)) this.#mistakable.push(main.path);
      if (isOff || !isMain(name)) return;
      const candidate =
        this.#byGlob(globs, name, path, main, folder, version) ?? this.#byPlugin(roots, name, path, main, folder);
      if (candidate !== undefined) this.#candidates.push(candidate);
      else if (!inSkill && tells(name) && hiddenBy(path, () => false) === undefined) {
        this.#left.push({ path, real: main.realPath ?? main.path });
      }
    };
  }

  #byGlob(
    globs: readonly (readonly [number, Glob])[],
    name: string,
    path: string,
    main: TreeEntry,
    folder: Folder,
    version: VersionFolder | undefined,
  ): Candidate | undefined {
    const kind = this.#kind;
    const isOwn = kind.hasFolder(name, path.includes('/') ? (version?.of ?? folder).name : '');
    let found: Candidate | undefined;
    for (const [convention, glob] of globs) {
      if (found !== undefined && this.#matched.has(glob)) continue;
      if (this.#own.ofItsFolder.has(glob) && !isOwn) continue;
      if (this.#own.ofVersions.has(glob) && version === undefined) continue;
      if (!glob.matches(path) && !(isOwn && glob.matches(folderOf(path)))) continue;
      if (hiddenBy(path, (part) => glob.dotParts.has(part)) !== undefined) continue;
      if (kind.isCompanion(name) && !glob.names(path)) continue;
      this.#matched.add(glob);
      found ??= isOwn
        ? { kind, main, path, base: '', folder, version, convention }
        : { kind, main, path, base: '', folder: undefined, version: undefined, convention };
    }
    return found;
  }

  #reaches(globs: readonly (readonly [number, Glob])[], roots: readonly string[], path: string): boolean {
    if (hiddenBy(path, () => false) !== undefined) return false;
    return (
      globs.some(([, glob]) => glob.matches(path)) ||
      roots.some((base) => this.#inPlugin.some((glob) => glob.matches(belowRoot(base, path))))
    );
  }

  #byPlugin(
    roots: readonly string[],
    name: string,
    path: string,
    main: TreeEntry,
    folder: Folder,
  ): Candidate | undefined {
    if (this.#kind.isCompanion(name)) return undefined;
    for (const base of roots) {
      if (!this.#inPlugin.some((glob) => glob.matches(belowRoot(base, path)))) continue;
      if (hiddenBy(path, () => false) !== undefined) return undefined;
      const isOwn = isRuled(path) && this.#kind.hasFolder(name, folder.name);
      return {
        kind: this.#kind,
        main,
        path,
        base,
        folder: isOwn ? folder : undefined,
        version: undefined,
        convention: this.#own.globs.length,
      };
    }
    return undefined;
  }

  async end(slices: Slices) {
    const candidates = await withFolders(this.#candidates, slices);
    const rank = ({ main }: Candidate) => (main.realPath === undefined ? 0 : 1);
    const ordered = await sorted(candidates, (a, b) => rank(a) - rank(b) || a.convention - b.convention, slices);
    const known = new Set<string>();
    const documents = ordered.filter(({ main, folder, version }) => {
      const identity = identityOf(main, version && folder);
      if (known.has(identity)) return false;
      known.add(identity);
      return true;
    });
    const real = new Set(documents.map(({ main }) => realPathOf(main)));
    const folders = new Set(candidates.flatMap(({ folder, path }) => (folder === undefined ? [] : folderOf(path))));
    return {
      documents,
      candidates,
      seen: this.#candidates.length + this.#left.length,
      problems: [
        ...this.#notReached(real, folders),
        ...this.#mistakable.map((path) => mistakable(path, this.#kind.kind)),
      ],
      matched: this.#matched,
    };
  }

  /**
   * The files that are of this kind by their name and that no glob reaches, counted by top folder.
   * @param folders what lies right in one of them is of the document there
   */
  #notReached(real: ReadonlySet<string>, folders: ReadonlySet<string>): Problem[] {
    const { list, telling } = this.#kind;
    const left = this.#left.filter((one) => !real.has(one.real) && !folders.has(folderOf(one.path)));
    const byTop = Map.groupBy(left, ({ path }) => path.split('/')[0]!);
    return [...byTop].map(([top, { length }]) =>
      problem(
        'NotReached',
        joinPath(this.#subdirectory, top),
        length === 1
          ? `A file here (${telling}) is reached by no glob of ${list}: name it in include.${list}, or its folder in exclude.`
          : `${length} files here (${telling}) are reached by no glob of ${list}: name them in include.${list}, or their folder in exclude.`,
      ),
    );
  }
}

const belowRoot = (root: string, path: string): string => (root === '' ? path : path.slice(root.length + 1));

const mistakable = (path: string, kind: ArtifactKind): Problem =>
  problem(
    'NotReached',
    path,
    `A file of this name describes the folder that it stands in, so it is no ${kind}: if it is meant as one, give it another name.`,
  );

/**
 * What lies below a RULE.md is of that rule, and below a version of that version; any other main file has a folder only
 * where no second one stands in it.
 */
async function withFolders(candidates: readonly Candidate[], slices: Slices): Promise<Candidate[]> {
  const foldersOf = (owns: (one: Candidate) => boolean): Set<string> =>
    new Set(candidates.flatMap((one) => (one.folder !== undefined && owns(one) ? [folderOf(one.path)] : [])));
  const ofVersions = foldersOf(({ version }) => version !== undefined);
  const ruled = foldersOf(({ path }) => isRuled(path));
  const kept = candidates.filter(({ path, version }) => {
    if (version !== undefined) return true;
    return !isBelow(path, ofVersions) && (isRuled(path) || !isBelow(path, ruled));
  });
  if (slices.over) await slices.turn();
  const inFolder = new Map<string, number>();
  for (const { path } of kept) inFolder.set(folderOf(path), (inFolder.get(folderOf(path)) ?? 0) + 1);
  if (slices.over) await slices.turn();
  return kept.map((candidate) =>
    candidate.folder === undefined || isRuled(candidate.path) || inFolder.get(folderOf(candidate.path)) === 1
      ? candidate
      : { ...candidate, folder: undefined },
  );
}

const isRuled = (path: string): boolean => nameOf(path) === 'RULE.md';

function isBelow(path: string, folders: ReadonlySet<string>): boolean {
  for (let at = folderOf(path); folders.size > 0 && at !== ''; at = folderOf(at)) if (folders.has(at)) return true;
  return false;
}

/** The roots of plugins in which a folder lies, the deepest first. */
function rootsAbove(relative: string, plugins: Plugins): string[] {
  const roots: string[] = [];
  if (plugins.at.size === 0) return roots;
  for (let at = relative; ; at = folderOf(at)) {
    if (plugins.at.has(at)) roots.push(at);
    if (at === '') return roots;
  }
}
