// Which files belong to the skills that were found, and which are pack files.
import { reservedSegments } from '../../catalogue/address.ts';
import { byCodePoint } from '../../catalogue/names.ts';
import { type Problem, problem } from '../../catalogue/problem.ts';
import type { Slices } from '../../catalogue/slices.ts';
import type { Limits } from '../../upstream/limits.ts';
import { SourceFault } from '../reasons.ts';
import { type Folder, walk } from '../source/folder-tree.ts';
import { sorted } from '../source/sorted.ts';
import type { TreeEntry } from '../source/source.ts';
import { type FoundSkill, type FoundSkills, mainName } from './find-skills.ts';
import type { Glob } from './globs.ts';
import type { Sieve } from './sieve.ts';
import { hiddenBy, isExcluded, isHiddenInside } from './visibility.ts';

export interface SelectedFile {
  /** Relative to the skill's folder, or for a pack file to the subdirectory. */
  path: string;
  entry: TreeEntry;
}

/** A file stands in the manifest of every skill around it; so many times `limits.files` may stand in all manifests. */
const mostListings = 4;

export interface FoundFiles {
  bySkill: ReadonlyMap<Folder, SelectedFile[]>;
  pack: SelectedFile[];
  problems: Problem[];
  matched: ReadonlySet<Glob>;
}

export async function findFiles(
  source: Folder,
  { skills, folders }: FoundSkills,
  sieve: Sieve,
  limits: Limits,
  slices: Slices,
): Promise<FoundFiles> {
  const { subdirectory, exclude, files: globs } = sieve;
  const below = (path: string) => (subdirectory === '' ? path : path.slice(subdirectory.length + 1));
  const skillAt = new Map(skills.map((skill) => [skill.folder, skill]));
  const around = new Map<Folder, Surroundings>();
  const bySkill = new Map<Folder, SelectedFile[]>();
  const hidden = new Map<FoundSkill, number>();
  const pack: SelectedFile[] = [];
  const problems: Problem[] = [];
  const matched = new Set<Glob>();
  const count = counter(limits);

  for (const folder of walk(source, ({ path, name }) => isExcluded(below(path), name, exclude))) {
    const here = surroundings(folder, around, skillAt, folders);
    around.set(folder, here);
    for (const [name, entry] of folder.files) {
      if (slices.over) await slices.turn();
      const path = below(entry.path);
      if (isExcluded(path, name, exclude)) continue;
      if (!here.inSkill) {
        if (!isPackFile(path, globs, matched)) continue;
        if (isReservedInLibrary(path)) problems.push(reserved(entry.path));
        else {
          pack.push({ path, entry });
          count(1);
        }
        continue;
      }
      for (const glob of globs) if (!matched.has(glob) && glob.matches(path)) matched.add(glob);
      let listings = 0;
      for (const skill of here.skills) {
        const inner = entry === skill.main ? mainName : below(entry.path).slice(prefixOf(skill.relative));
        if (isHiddenInside(inner, (part) => isNamedFor(part, path, globs))) {
          hidden.set(skill, (hidden.get(skill) ?? 0) + 1);
        } else if (reservedSegments.has(inner)) problems.push(reserved(entry.path));
        else {
          listOf(bySkill, skill.folder).push({ path: inner, entry });
          listings++;
        }
      }
      if (listings > 0) count(listings);
    }
    if (slices.over) await slices.turn();
  }

  for (const [folder, files] of bySkill) bySkill.set(folder, await inOrder(files, slices));
  problems.push(...[...hidden].map(([{ folder }, count]) => hiddenFiles(folder, count)));
  return { bySkill, pack: await inOrder(pack, slices), problems, matched };
}

/** Which skills a folder's files belong to, outer first; `inSkill` too where it is only another view of a skill. */
interface Surroundings {
  skills: readonly FoundSkill[];
  inSkill: boolean;
}

function surroundings(
  folder: Folder,
  known: ReadonlyMap<Folder, Surroundings>,
  skillAt: ReadonlyMap<Folder, FoundSkill>,
  skillFolders: ReadonlySet<Folder>,
): Surroundings {
  const above = (folder.parent && known.get(folder.parent)) ?? { skills: [], inSkill: false };
  const own = skillAt.get(folder);
  if (own === undefined && !skillFolders.has(folder)) return above;
  return { skills: own === undefined ? above.skills : [...above.skills, own], inSkill: true };
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

function listOf(lists: Map<Folder, SelectedFile[]>, folder: Folder): SelectedFile[] {
  let list = lists.get(folder);
  if (list === undefined) {
    list = [];
    lists.set(folder, list);
  }
  return list;
}

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
        `skills inside skills list their files more than ${most * mostListings} times: raise spec.limits.files, or name fewer of them in spec.include.skills`,
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
    `${count === 1 ? 'A hidden file is' : `${count} hidden files are`} left out of this skill: name what should be served, dot included, in include.files.`,
  );
