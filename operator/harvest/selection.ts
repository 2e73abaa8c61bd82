// What a harvest takes, by paths alone: skills with their files, pack files, and what was left behind.
import { isLibraryName } from '../../catalogue/names.ts';
import { type Problem, problem } from '../../catalogue/problem.ts';
import { Slices } from '../../catalogue/slices.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import { type Folder, folderAt, folderTree } from '../source/folder-tree.ts';
import { folderOf, joinPath, nameOf } from '../source/path.ts';
import type { TreeEntry } from '../source/source.ts';
import { findFiles, type SelectedFile } from './find-files.ts';
import { findSkills } from './find-skills.ts';
import type { Glob } from './globs.ts';
import type { HarvestRules } from './rules.ts';
import { compileRules, concerning, type Sieve } from './sieve.ts';
import { isSkillRoot } from './visibility.ts';

export interface SelectedSkill {
  /** From the repository's root, `` for the root. */
  folder: string;
  /** The same below the subdirectory. */
  relativeFolder: string;
  /** The folder between a skill root and the skill, when it is a real group. */
  group: string | undefined;
  main: TreeEntry;
  /** The main file among them, as `SKILL.md`. */
  files: SelectedFile[];
}

export interface Selection {
  /** In the order of their right to an address. */
  skills: SelectedSkill[];
  files: SelectedFile[];
  /** Skills that were there and that no file of theirs can save. */
  rejected: number;
  problems: Problem[];
}

/**
 * @param entries without links (see `resolveLinks`), in any order
 * @throws UpstreamFault NotFound for a subdirectory that is not there; SourceFault LimitExceeded beyond `limits.files`
 */
export async function select(entries: readonly TreeEntry[], rules: HarvestRules): Promise<Selection> {
  const slices = new Slices();
  const sieve = compileRules(rules);
  const tree = await folderTree(entries, slices);
  const source = sourceFolder(tree.root, sieve.subdirectory);
  const found = await findSkills(source, sieve, slices);
  const files = await findFiles(source, found, sieve, rules.limits, slices);
  const groups = groupsOf(found.skills, sieve.subdirectory, rules.library);
  const skills = found.skills.map(({ folder, relative, main }): SelectedSkill => {
    const group = groups.real.get(folderOf(relative));
    return { folder: folder.path, relativeFolder: relative, group, main, files: files.bySkill.get(folder) ?? [] };
  });
  const problems = [
    ...(await concerning(tree.problems, sieve, slices)),
    ...found.problems,
    ...files.problems,
    ...groups.problems,
    ...nothingMatched(sieve, found.matched, files.matched, found.seen + files.pack.length),
  ];
  return { skills, files: files.pack, rejected: found.rejected, problems };
}

function sourceFolder(root: Folder, subdirectory: string): Folder {
  const folder = folderAt(root, subdirectory);
  if (folder !== undefined) return folder;
  throw new UpstreamFault(
    'NotFound',
    `the folder "${subdirectory}" is not there or has no files: correct spec.subdirectory`,
  );
}

/** The folders right above skills: real groups by folder, and a problem for each whose name cannot be one. */
function groupsOf(
  skills: readonly { relative: string }[],
  subdirectory: string,
  library: string,
): { real: Map<string, string>; problems: Problem[] } {
  const real = new Map<string, string>();
  const unfit = new Set<string>();
  for (const { relative } of skills) {
    const folder = folderOf(relative);
    const name = nameOf(folder);
    if (isSkillRoot(folder) || name === library) continue;
    if (isLibraryName(name)) real.set(folder, name);
    else unfit.add(folder);
  }
  const problems = [...unfit].map((folder) =>
    problem(
      'GroupName',
      joinPath(subdirectory, folder),
      "The folder's name cannot be a group, so its skills are of the library's own group: use lower-case letters, digits and hyphens only.",
    ),
  );
  return { real, problems };
}

function nothingMatched(
  { subdirectory, skills, skillsListed, files }: Sieve,
  matchedSkills: ReadonlySet<Glob>,
  matchedFiles: ReadonlySet<Glob>,
  seen: number,
): Problem[] {
  const path = subdirectory === '' ? '.' : subdirectory;
  const unmatched = (kind: string, globs: readonly Glob[], matched: ReadonlySet<Glob>, what: string): Problem[] =>
    globs
      .filter((glob) => !matched.has(glob))
      .map(({ pattern }) =>
        problem(
          'NothingMatched',
          path,
          `include.${kind} has "${pattern}", which matches no ${what}: correct or remove it.`,
        ),
      );
  const listed = [
    ...(skillsListed ? unmatched('skills', skills, matchedSkills, 'SKILL.md and no folder with one') : []),
    ...unmatched('files', files, matchedFiles, 'file'),
  ];
  if (listed.length > 0 || skillsListed || seen > 0) return listed;
  return [
    problem(
      'NothingMatched',
      path,
      `No SKILL.md is where skills are looked for (${skills.map(({ pattern }) => pattern).join(', ')}): say in include.skills where they are.`,
    ),
  ];
}
