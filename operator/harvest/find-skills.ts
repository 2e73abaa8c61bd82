// Which SKILL.md files are skills: by glob or convention, visible, each real file once.
import { byCodePoint } from '../../catalogue/names.ts';
import { type Problem, problem } from '../../catalogue/problem.ts';
import type { Slices } from '../../catalogue/slices.ts';
import { type Folder, walk } from '../source/folder-tree.ts';
import { folderOf, joinPath, nameOf } from '../source/path.ts';
import type { TreeEntry } from '../source/source.ts';
import type { Glob } from './globs.ts';
import type { Plugins } from './plugins.ts';
import { realPathOf } from './read-contents.ts';
import { belowSubdirectory, type Sieve } from './sieve.ts';
import { identityOf, type VersionFolders } from './version-folders.ts';
import { hiddenBy, isExcluded, isNamedSkillRoot } from './visibility.ts';

export const mainName = 'SKILL.md';

export interface FoundSkill {
  folder: Folder;
  /** The folder's path below the subdirectory. */
  relative: string;
  main: TreeEntry;
}

export interface FoundSkills {
  /** In the order of their right to an address: real before linked, then convention, then folder. */
  skills: FoundSkill[];
  /** Folders that hold a skill already found at its real place, and the skills' own: no file in them is a pack file. */
  folders: ReadonlySet<Folder>;
  /** Skills that were there and cannot be served for the place they stand in. */
  rejected: number;
  /** SKILL.md files that were seen, reached or not. */
  seen: number;
  problems: Problem[];
  matched: ReadonlySet<Glob>;
}

interface Candidate extends FoundSkill {
  /** The place in the order of globs; plugins come behind them. */
  convention: number;
}

export async function findSkills(
  source: Folder,
  sieve: Sieve,
  plugins: Plugins,
  versions: VersionFolders,
  slices: Slices,
): Promise<FoundSkills> {
  const mains = await findMains(source, sieve, versions, slices);
  const matched = new Set<Glob>();
  const left = new Leftovers(sieve);
  const { globs, listed } = sieve.skills;
  const reaches = globReach(globs);
  const placed = (relative: string): number | undefined =>
    !listed && isPlaced(relative, plugins) ? globs.length : undefined;
  const candidates: Candidate[] = [];
  let atRoot: Candidate | undefined;
  for (const main of mains) {
    const convention = reaches(main, (glob) => matched.add(glob)) ?? placed(main.relative);
    if (main.relative === '') {
      atRoot = { ...main, convention: convention ?? Number.POSITIVE_INFINITY };
      const isNamed = globs.some((glob) => glob.names(mainName) || glob.names(nameOf(main.main.path)));
      if (!isNamed && placed('') === undefined) continue;
      candidates.push(atRoot);
      atRoot = undefined;
    } else if (convention === undefined) left.add(main);
    else candidates.push({ ...main, convention });
    if (slices.over) await slices.turn();
  }
  const { skills, folders, real } = eachOnce(candidates, versions);
  if (atRoot !== undefined) {
    if (skills.length === 0 && (!listed || Number.isFinite(atRoot.convention))) {
      skills.push(atRoot);
      folders.add(atRoot.folder);
    } else left.add(atRoot);
  }
  const holders = foldersAbove(skills);
  const isRoot = (relative: string) => isNamedSkillRoot(relative) || isSkillsOfPlugin(relative, plugins);
  const isMisplaced = ({ relative, folder }: FoundSkill) => isRoot(relative) && holders.has(folder);
  const misplaced = skills.filter(isMisplaced);
  for (const { folder } of misplaced) folders.delete(folder);
  const kept = skills.filter((skill) => !isMisplaced(skill));
  const misspelt = kept.filter(({ main }) => nameOf(main.path) !== mainName);
  return {
    skills: kept,
    folders,
    rejected: misplaced.length,
    seen: mains.length,
    problems: [
      ...left.problems(folders, real),
      ...misplaced.map(({ main }) => inSkillRoot(main.path)),
      ...misspelt.map(({ main }) =>
        problem('NameMended', main.path, 'The file is served as SKILL.md, as clients want it: rename it to SKILL.md.'),
      ),
    ],
    matched,
  };
}

/**
 * Every SKILL.md that is not excluded, in the tree's order; another spelling where a folder has no SKILL.md. What lies
 * below a version is of that version.
 */
async function findMains(
  source: Folder,
  sieve: Sieve,
  versions: VersionFolders,
  slices: Slices,
): Promise<FoundSkill[]> {
  const { exclude } = sieve;
  const below = (path: string) => belowSubdirectory(sieve, path);
  const found: FoundSkill[] = [];
  const isOfVersion = ({ parent }: Folder): boolean =>
    parent !== undefined && versions.at.get(parent)?.kind === 'skill';
  const isPassedOver = (folder: Folder): boolean =>
    isExcluded(below(folder.path), folder.name, exclude) || isOfVersion(folder);
  for (const folder of walk(source, isPassedOver)) {
    const names = folder.files.has(mainName)
      ? [mainName]
      : [...folder.files.keys()].filter((name) => name.length === mainName.length && /^skill\.md$/i.test(name));
    for (const name of names.sort(byCodePoint)) {
      const main = folder.files.get(name)!;
      if (isExcluded(below(main.path), name, exclude)) continue;
      found.push({ folder, relative: below(folder.path), main });
      break;
    }
    if (slices.over) await slices.turn();
  }
  return found;
}

/** Whether a plugin names the skill of this folder, or has its skills in this folder or in one above it. */
function isPlaced(relative: string, { skillPlaces, skillFolders }: Plugins): boolean {
  if (skillPlaces.size + skillFolders.size === 0 || hiddenBy(relative, () => false, true) !== undefined) return false;
  if (skillFolders.has(relative)) return true;
  for (let at = relative; ; at = folderOf(at)) {
    if (skillPlaces.has(at)) return true;
    if (at === '') return false;
  }
}

const isSkillsOfPlugin = (relative: string, { at }: Plugins): boolean =>
  nameOf(relative) === 'skills' && at.has(folderOf(relative));

/** The first glob that reaches a main file: by its path, by its path as SKILL.md, or by a folder above it. */
function globReach(globs: readonly Glob[]) {
  const folders = globs.map(() => new Map<string, boolean>());
  const matchesFolder = (at: number, folder: string): boolean => {
    if (folder === '') return false;
    let matches = folders[at]!.get(folder);
    if (matches === undefined) {
      const above = folder.slice(0, Math.max(0, folder.lastIndexOf('/')));
      matches = globs[at]!.matches(folder) || matchesFolder(at, above);
      folders[at]!.set(folder, matches);
    }
    return matches;
  };
  return ({ relative, main }: FoundSkill, note: (glob: Glob) => void): number | undefined => {
    let first: number | undefined;
    const canonical = joinPath(relative, mainName);
    const written = joinPath(relative, nameOf(main.path));
    for (const [at, glob] of globs.entries()) {
      if (!matchesFolder(at, relative) && !glob.matches(canonical) && !glob.matches(written)) continue;
      if (hiddenBy(relative, (part) => glob.dotParts.has(part), true) !== undefined) continue;
      note(glob);
      first ??= at;
    }
    return first;
  };
}

/** In the order of their rights; what a link shows of a skill found already is not found a second time. */
function eachOnce(
  candidates: Candidate[],
  versions: VersionFolders,
): { skills: FoundSkill[]; folders: Set<Folder>; real: Set<string> } {
  const rank = ({ main, convention }: Candidate) => [main.realPath === undefined ? 0 : 1, convention] as const;
  const ordered = candidates.toSorted((a, b) => rank(a)[0] - rank(b)[0] || rank(a)[1] - rank(b)[1]);
  const known = new Set<string>();
  const skills = ordered.filter(({ main, folder }) => {
    const identity = identityOf(main, versions.at.has(folder) ? folder : undefined);
    if (known.has(identity)) return false;
    known.add(identity);
    return true;
  });
  const real = new Set(skills.map(({ main }) => realPathOf(main)));
  return { skills, folders: new Set(candidates.map(({ folder }) => folder)), real };
}

function foldersAbove(skills: readonly FoundSkill[]): Set<Folder> {
  const above = new Set<Folder>();
  for (const { folder } of skills) {
    for (let at = folder.parent; at !== undefined && !above.has(at); at = at.parent) above.add(at);
  }
  return above;
}

const inSkillRoot = (path: string): Problem =>
  problem(
    'SkillRoot',
    path,
    'A SKILL.md in the folder that holds the skills would swallow them all, so it is rejected: give it a folder of its own.',
  );

/** The SKILL.md files that are no skills: out of every glob's reach, or hidden. Counted by folder. */
class Leftovers {
  readonly #sieve: Sieve;
  readonly #left: { skill: FoundSkill; hider: string | undefined }[] = [];
  constructor(sieve: Sieve) {
    this.#sieve = sieve;
  }

  add(skill: FoundSkill): void {
    const isNamed = (part: string) => this.#sieve.skills.globs.some(({ dotParts }) => dotParts.has(part));
    this.#left.push({ skill, hider: hiddenBy(skill.relative, isNamed, true) });
  }

  /**
   * @param skillFolders what is hidden in one of them is counted as that skill's hidden files
   * @param real the real paths of the main files that were found, by their own path or through a link: those are no loss
   */
  problems(skillFolders: ReadonlySet<Folder>, real: ReadonlySet<string>): Problem[] {
    const { subdirectory, skills } = this.#sieve;
    if (skills.listed && skills.globs.length === 0) return [];
    const notReached = new Map<string, number>();
    const hidden = new Map<string, number>();
    for (const { skill, hider } of this.#left) {
      if (real.has(skill.main.realPath ?? skill.main.path)) continue;
      if (hider === undefined) {
        const top = skill.relative === '' ? nameOf(skill.main.path) : skill.relative.split('/')[0]!;
        notReached.set(top, (notReached.get(top) ?? 0) + 1);
      } else if (!isInside(skill.folder, skillFolders)) {
        hidden.set(hider, (hidden.get(hider) ?? 0) + 1);
      }
    }
    return [
      ...[...notReached].map(([path, count]) =>
        problem(
          'NotReached',
          joinPath(subdirectory, path),
          count === 1
            ? 'A SKILL.md here is reached by no glob: name it in include.skills, or its folder in exclude.'
            : `${count} SKILL.md files here are reached by no glob: name them in include.skills, or their folder in exclude.`,
        ),
      ),
      ...[...hidden].map(([path, count]) =>
        problem(
          'HiddenFiles',
          joinPath(subdirectory, path),
          `This hidden folder holds ${count === 1 ? 'a SKILL.md' : `${count} SKILL.md files`}: name the folder in include.skills if it is meant to be served.`,
        ),
      ),
    ];
  }
}

function isInside(folder: Folder, folders: ReadonlySet<Folder>): boolean {
  for (let at: Folder | undefined = folder; at !== undefined; at = at.parent) if (folders.has(at)) return true;
  return false;
}
