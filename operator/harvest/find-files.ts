// Which files belong to the skills, rules and profiles that were found with a folder, and which are pack files.
import { reservedSegments } from '../../catalogue/address.ts';
import { byCodePoint } from '../../catalogue/names.ts';
import { type Problem, problem } from '../../catalogue/problem.ts';
import type { Slices } from '../../catalogue/slices.ts';
import type { Limits } from '../../upstream/limits.ts';
import { SourceFault } from '../reasons.ts';
import { type Folder, walk } from '../source/folder-tree.ts';
import { sorted } from '../source/sorted.ts';
import type { TreeEntry } from '../source/source.ts';
import type { Glob } from './globs.ts';
import { belowSubdirectory, type Sieve } from './sieve.ts';
import { hiddenBy, isExcluded, isHiddenInside } from './visibility.ts';

export interface SelectedFile {
  /** Relative to the artifact's folder, or for a pack file to the subdirectory. */
  path: string;
  entry: TreeEntry;
}

/** An artifact that has a folder with all that is in it. */
export interface Owner {
  folder: Folder;
  main: TreeEntry;
  /** How the main file is listed. */
  mainName: string;
  /** Where that folder is one of several versions, the artifact's; else the folder itself. */
  artifact: Folder;
}

/** What is no pack file, whatever `include.files` says. */
export interface Artifacts {
  owners: readonly Owner[];
  /** Folders of artifacts, also where a link shows one once more. */
  folders: ReadonlySet<Folder>;
  /** Paths of artifacts that are single files. */
  mains: ReadonlySet<string>;
}

/** A file stands in the manifest of every artifact around it; so many times `limits.files` may stand in all manifests. */
const mostListings = 4;

export interface FoundFiles {
  byOwner: ReadonlyMap<Owner, SelectedFile[]>;
  pack: SelectedFile[];
  problems: Problem[];
  matched: ReadonlySet<Glob>;
}

export async function findFiles(
  source: Folder,
  { owners, folders, mains }: Artifacts,
  sieve: Sieve,
  limits: Limits,
  slices: Slices,
): Promise<FoundFiles> {
  const { exclude, files: globs } = sieve;
  const below = (path: string) => belowSubdirectory(sieve, path);
  const ownersAt = Map.groupBy(owners, ({ folder }) => folder);
  const around = new Map<Folder, Surroundings>();
  const byOwner = new Map<Owner, SelectedFile[]>(owners.map((owner) => [owner, []]));
  const hidden = new Map<Folder, number>();
  const pack: SelectedFile[] = [];
  const problems: Problem[] = [];
  const matched = new Set<Glob>();
  const count = counter(limits);

  for (const folder of walk(source, ({ path, name }) => isExcluded(below(path), name, exclude))) {
    const here = surroundings(folder, around, ownersAt, folders);
    around.set(folder, here);
    for (const [name, entry] of folder.files) {
      if (slices.over) await slices.turn();
      const path = below(entry.path);
      if (isExcluded(path, name, exclude)) continue;
      const isArtifact = mains.has(entry.path);
      if (!here.isOwned && !isArtifact) {
        if (!isPackFile(path, globs, matched)) continue;
        if (isReservedInLibrary(path)) problems.push(reserved(entry.path));
        else {
          pack.push({ path, entry });
          count(1);
        }
        continue;
      }
      for (const glob of globs) if (!matched.has(glob) && glob.matches(path)) matched.add(glob);
      let listings = isArtifact ? 1 : 0;
      for (const owner of here.owners) {
        const isMain = entry === owner.main;
        const inner = isMain ? owner.mainName : entry.path.slice(prefixOf(owner.folder.path));
        if (!isMain && isHiddenInside(inner, (part) => isNamedFor(part, path, globs))) {
          hidden.set(owner.artifact, (hidden.get(owner.artifact) ?? 0) + 1);
        } else if (!isMain && reservedSegments.has(inner)) problems.push(reserved(entry.path));
        else {
          byOwner.get(owner)!.push({ path: inner, entry });
          listings++;
        }
      }
      if (listings > 0) count(listings);
    }
    if (slices.over) await slices.turn();
  }

  for (const [owner, files] of byOwner) byOwner.set(owner, await inOrder(files, slices));
  for (const [folder, count] of hidden) problems.push(hiddenFiles(folder, count));
  return { byOwner, pack: await inOrder(pack, slices), problems, matched };
}

/** Which artifacts a folder's files belong to, outer first; `isOwned` too where it is only another view of one. */
interface Surroundings {
  owners: readonly Owner[];
  isOwned: boolean;
}

function surroundings(
  folder: Folder,
  known: ReadonlyMap<Folder, Surroundings>,
  ownersAt: ReadonlyMap<Folder, readonly Owner[]>,
  folders: ReadonlySet<Folder>,
): Surroundings {
  const above = (folder.parent && known.get(folder.parent)) ?? { owners: [], isOwned: false };
  const own = ownersAt.get(folder);
  if (own === undefined && !folders.has(folder)) return above;
  return { owners: own === undefined ? above.owners : [...above.owners, ...own], isOwned: true };
}

function isPackFile(path: string, globs: readonly Glob[], matched: Set<Glob>): boolean {
  let found = false;
  for (const glob of globs) {
    if ((found && matched.has(glob)) || !glob.matches(path)) continue;
    if (hiddenBy(path, (part) => glob.dotParts.has(part)) !== undefined) continue;
    matched.add(glob);
    found = true;
  }
  return found;
}

const isNamedFor = (part: string, path: string, globs: readonly Glob[]): boolean =>
  globs.some((glob) => glob.dotParts.has(part) && glob.matches(path));

/** `_rules/<name>` is an address as well as `_rules`. */
const isReservedInLibrary = (path: string): boolean => reservedSegments.has(path) || /^_(rules|profiles)\//.test(path);

const prefixOf = (relative: string): number => (relative === '' ? 0 : relative.length + 1);

const inOrder = (files: SelectedFile[], slices: Slices): Promise<SelectedFile[]> =>
  sorted(files, (a, b) => byCodePoint(a.path, b.path), slices);

/** Counts a wanted file and the manifests it stands in. @throws SourceFault LimitExceeded */
function counter({ files: most }: Limits): (listings: number) => void {
  let files = 0;
  let listed = 0;
  return (listings) => {
    files++;
    listed += listings;
    if (files > most) {
      throw new SourceFault(
        'LimitExceeded',
        `more than ${most} files are wanted: raise spec.limits.files, or narrow spec.include or spec.exclude`,
      );
    }
    if (listed > most * mostListings) {
      throw new SourceFault(
        'LimitExceeded',
        `folders inside skills and other artifacts list their files more than ${most * mostListings} times: raise spec.limits.files, or name fewer of them in spec.include`,
      );
    }
  };
}

const reserved = (path: string): Problem =>
  problem('ReservedName', path, 'Another answer stands at the address that this file would have: rename it.');

const hiddenFiles = ({ path }: Folder, count: number): Problem =>
  problem(
    'HiddenFiles',
    path === '' ? '.' : path,
    `${count === 1 ? 'A hidden file is' : `${count} hidden files are`} left out of this folder: name what should be served, dot included, in include.files.`,
  );
