// Which folders are versions of an artifact: openkata's layout, `skills/<name>/<version>/SKILL.md`, rules and profiles alike.
import { type Problem, problem } from '../../catalogue/problem.ts';
import type { Slices } from '../../catalogue/slices.ts';
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import { isSemver } from '../../catalogue/versions.ts';
import { type Folder, walk } from '../source/folder-tree.ts';
import { joinPath, nameOf } from '../source/path.ts';
import type { TreeEntry } from '../source/source.ts';
import { shownPath } from './manifest-faults.ts';
import { realPathOf } from './read-contents.ts';
import { belowSubdirectory, type Sieve } from './sieve.ts';
import {
  longestVersionsFile,
  type NamedVersions,
  readVersionsFile,
  type VersionedKind,
  versionedKinds,
  versionsFileName,
} from './versions-file.ts';
import { isExcluded, isExcludedAnywhere } from './visibility.ts';

export interface VersionFolder {
  kind: ArtifactKind;
  /** The artifact's folder, which has those of its versions in it. */
  of: Folder;
  /**
   * Whether the folder's name is a SemVer, or versions.json names the artifact. Where neither holds, a skill that is called
   * as its folder is one of its own: the artifact's folder is its group.
   */
  isCertain: boolean;
}

export interface VersionFolders {
  at: ReadonlyMap<Folder, VersionFolder>;
  problems: Problem[];
}

interface Found extends VersionFolders {
  at: Map<Folder, VersionFolder>;
}

/** The versions.json that says which artifacts have versions, where some may. */
export function versionsFileOf({ sieve, source }: { sieve: Sieve; source: Folder }): TreeEntry | undefined {
  const isLookedFor = versionedKinds.some((kind) => !isOff(sieve, kind) && source.folders.has(kind.list));
  if (!isLookedFor || isExcluded(versionsFileName, versionsFileName, sieve.exclude)) return undefined;
  return source.files.get(versionsFileName);
}

/**
 * An artifact has versions where its folder has no main file of its own, and one of the folders in it has one and is called
 * by a SemVer, or versions.json names the artifact. Then every folder there with a main file is a version.
 * @param versionsFile the bytes of versions.json, where there is one
 */
export async function versionFoldersOf(
  { sieve, source }: { sieve: Sieve; source: Folder },
  versionsFile: Buffer | 'tooLarge' | undefined,
  slices: Slices,
): Promise<VersionFolders> {
  const file = joinPath(sieve.subdirectory, versionsFileName);
  const { named, problems } = await namedIn(versionsFile, file, slices);
  const found: Found = { at: new Map(), problems };
  const absent: string[] = [];
  for (const kind of versionedKinds) {
    const { list } = kind;
    const root = source.folders.get(list);
    const said = named.get(list) ?? new Map<string, undefined>();
    if (root !== undefined && !isLeftOut(root, sieve)) {
      for (const of of root.folders.values()) {
        if (slices.over) await slices.turn();
        if (!isLeftOut(of, sieve)) await findIn(of, kind, said.has(of.name), sieve, found, slices);
      }
    }
    // Whoever writes a list wants what it names, and not what versions.json does.
    if (sieve[list].listed) continue;
    for (const [name, version] of said) {
      if (slices.over) await slices.turn();
      const of = root?.folders.get(name);
      if (of === undefined ? isExcludedAnywhere(`${list}/${name}`, sieve.exclude) : mainIn(of, kind, name)) continue;
      if (of === undefined || (version !== undefined && !of.folders.has(version))) {
        absent.push([list, name, ...(version === undefined ? [] : [version])].join('/'));
      }
    }
  }
  if (absent.length > 0) found.problems.push(problem('NothingMatched', file, absentMessage(absent)));
  return found;
}

/**
 * What a main file is known by, so that links show nothing twice: where its bytes are. In the folder of a version with files of
 * its own it is that version's, wherever its bytes are.
 * @param version the folder, where it is a version's
 */
export function identityOf(main: TreeEntry, version: Folder | undefined): string {
  const isOwn = main.realPath !== undefined && version !== undefined && hasOwnFile(version);
  return isOwn ? main.path : realPathOf(main);
}

function hasOwnFile(folder: Folder): boolean {
  for (const { files } of walk(folder)) {
    for (const { realPath } of files.values()) if (realPath === undefined) return true;
  }
  return false;
}

async function findIn(
  of: Folder,
  kind: VersionedKind,
  isNamed: boolean,
  sieve: Sieve,
  { at, problems }: Found,
  slices: Slices,
): Promise<void> {
  const isServable = (main: TreeEntry | undefined): boolean =>
    main !== undefined && !isExcluded(belowSubdirectory(sieve, main.path), nameOf(main.path), sieve.exclude);
  const versions: Folder[] = [];
  const without: Folder[] = [];
  let hasSemver = false;
  for (const folder of of.folders.values()) {
    if (slices.over) await slices.turn();
    if (isLeftOut(folder, sieve)) continue;
    const main = mainIn(folder, kind, of.name);
    if (main === undefined && isSemver(folder.name)) without.push(folder);
    if (!isServable(main)) continue;
    versions.push(folder);
    hasSemver ||= isSemver(folder.name);
  }
  if (!isNamed && !hasSemver) return;
  const main = mainIn(of, kind, of.name);
  if (main !== undefined && isServable(main)) {
    if (hasSemver) problems.push(mainBeside(main));
    return;
  }
  for (const folder of versions) at.set(folder, { kind: kind.kind, of, isCertain: isNamed || isSemver(folder.name) });
  if (!sieve[kind.list].listed) for (const folder of without) problems.push(noMainFile(folder, kind, of.name));
}

/** The main file of an artifact of this name, or of a version of it. */
function mainIn({ files }: Folder, { kind, mainFor }: VersionedKind, name: string): TreeEntry | undefined {
  const main = mainFor(name);
  const found = files.get(main);
  if (found !== undefined || kind !== 'skill') return found;
  return [...files].find(([file]) => file.length === main.length && file.toUpperCase() === 'SKILL.MD')?.[1];
}

const isLeftOut = ({ path, name }: Folder, sieve: Sieve): boolean =>
  name.startsWith('.') || isExcluded(belowSubdirectory(sieve, path), name, sieve.exclude);

const isOff = (sieve: Sieve, { list }: VersionedKind): boolean => sieve[list].listed && sieve[list].globs.length === 0;

/** @param file its path from the repository's root */
async function namedIn(
  bytes: Buffer | 'tooLarge' | undefined,
  file: string,
  slices: Slices,
): Promise<{ named: NamedVersions; problems: Problem[] }> {
  if (bytes === undefined) return { named: new Map(), problems: [] };
  if (bytes === 'tooLarge' || bytes.length > longestVersionsFile) {
    const message = `The file has more than ${longestVersionsFile} bytes, or than spec.limits.fileSize, so it is not read, and versions are found by their folders alone: shorten it.`;
    return { named: new Map(), problems: [problem('TooLarge', file, message)] };
  }
  const named = await readVersionsFile(bytes, slices);
  if (named !== undefined) return { named, problems: [] };
  const message = 'The file is no JSON object, so versions are found by their folders alone: correct or remove it.';
  return { named: new Map(), problems: [problem('NothingMatched', file, message)] };
}

const absentMessage = ([first, ...more]: readonly string[]): string =>
  more.length === 0
    ? `It names a version whose folder is not there, ${shownPath(first!)}: publish it, or correct the file.`
    : `It names ${more.length + 1} versions whose folders are not there, ${shownPath(first!)} first: publish them, or correct the file.`;

const mainBeside = ({ path }: TreeEntry): Problem =>
  problem(
    'NothingMatched',
    path,
    'The file stands beside folders that are called by versions, so they are none of its versions: move it into a folder of its own version.',
  );

function noMainFile({ path }: Folder, { mainFor }: VersionedKind, name: string): Problem {
  const message = `The folder is called by a version and has no ${mainFor(name)}, so it is none: add that file, or remove the folder.`;
  return { ...problem('NothingMatched', path, message), severity: 'error' };
}
