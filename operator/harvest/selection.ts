// What a harvest takes, by paths alone: artifacts of every kind with their files, pack files, and what was left behind.
import { isLibraryName } from '../../catalogue/names.ts';
import { type Problem, problem } from '../../catalogue/problem.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import { emptyFolder, type Folder, folderAt, folderTree } from '../source/folder-tree.ts';
import { folderOf, joinPath, nameOf } from '../source/path.ts';
import type { TreeEntry } from '../source/source.ts';
import { type ArtifactName, withoutExtensions } from './artifact-names.ts';
import { type FoundDocument, findDocuments } from './find-documents.ts';
import { findFiles, type Owner, type SelectedFile } from './find-files.ts';
import { findSkills, mainName } from './find-skills.ts';
import type { Glob } from './globs.ts';
import { kindLists } from './kinds.ts';
import { manifestPaths } from './manifest.ts';
import type { ParserName } from './parsers.ts';
import { emptyPlugins, type Plugins } from './plugins.ts';
import type { HarvestRules } from './rules.ts';
import { belowSubdirectory, compileRules, concerning, type KindSieve, type Sieve } from './sieve.ts';
import type { VersionFolders } from './version-folders.ts';
import { isExcludedAnywhere, isSkillRoot } from './visibility.ts';

export interface SelectedArtifact {
  kind: ArtifactKind;
  /** Below the subdirectory; of a single file its path without extensions. */
  folder: string;
  /** The folder between a skill root and the skill, or the plugin's, when it is a real group. */
  group: string | undefined;
  main: TreeEntry;
  mainName: string;
  /** The main file among them, as `mainName`. */
  files: SelectedFile[];
  /** Whether it is one file in a folder of many. */
  isSingle: boolean;
  parser: ParserName;
  /** Absent for skills, whose names stand in their frontmatter. */
  name: ArtifactName | undefined;
  /** Of one that stands in the folder of a version. */
  version: SelectedVersion | undefined;
}

/** One of several versions of an artifact. */
export interface SelectedVersion {
  name: string;
  /** The artifact's folder, below the subdirectory. */
  of: string;
  /** See `VersionFolder`. */
  isCertain: boolean;
}

export interface Selection {
  /** Of each kind in the order of their right to an address. */
  artifacts: SelectedArtifact[];
  files: SelectedFile[];
  /** Artifacts that were there and that no file of theirs can save. */
  rejected: number;
  problems: Problem[];
}

/** A tree as a harvest looks at it. */
export interface Ground {
  sieve: Sieve;
  /** The folder that is harvested. */
  source: Folder;
  problems: Problem[];
}

/**
 * @param entries without links (see `resolveLinks`), in any order
 * @param hasSubdirectory it is known to be there, whether or not there are files in it
 * @throws UpstreamFault NotFound for a subdirectory that is not there; SourceFault InvalidSpec
 */
export async function groundOf(
  entries: readonly TreeEntry[],
  rules: HarvestRules,
  hasSubdirectory = false,
): Promise<Ground> {
  const slices = new Slices();
  const sieve = compileRules(rules);
  const { root, problems } = await folderTree(entries, slices);
  const { subdirectory } = sieve;
  const source = folderAt(root, subdirectory) ?? (hasSubdirectory ? emptyFolder(subdirectory) : undefined);
  if (source === undefined) {
    const what = `the folder "${subdirectory}" is not there or has no files: correct spec.subdirectory`;
    throw new UpstreamFault('NotFound', what);
  }
  return { sieve, source, problems: await concerning(problems, sieve, slices) };
}

/** The manifests of plugins that count here: none where every kind has a list of its own. Paths below the subdirectory. */
export function manifestsOf({ sieve, source }: Ground): { path: string; entry: TreeEntry }[] {
  if (kindLists.every((list) => sieve[list].listed)) return [];
  return manifestPaths.flatMap((path) => {
    const entry = isExcludedAnywhere(path, sieve.exclude) ? undefined : fileAt(source, path);
    return entry === undefined ? [] : [{ path, entry }];
  });
}

export const fileAt = (source: Folder, path: string): TreeEntry | undefined =>
  folderAt(source, folderOf(path))?.files.get(nameOf(path));

/** @throws SourceFault LimitExceeded beyond `limits.files` */
export async function select(
  ground: Ground,
  rules: HarvestRules,
  plugins: Plugins,
  versions: VersionFolders,
): Promise<Selection> {
  const slices = new Slices();
  const { sieve, source } = ground;
  const found = await findSkills(source, sieve, plugins, versions, slices);
  const inSkill = skillFolders(found.folders);
  const documents = await findDocuments(source, sieve, plugins, versions, inSkill, slices);
  const ownerOf = (folder: Folder, main: TreeEntry, mainName: string): Owner => {
    return { folder, main, mainName, artifact: versions.at.get(folder)?.of ?? folder };
  };
  const skillOwners = new Map(
    found.skills.map((skill): [object, Owner] => [skill, ownerOf(skill.folder, skill.main, mainName)]),
  );
  const documentOwners = new Map(
    documents.documents.flatMap((one): [FoundDocument, Owner][] =>
      one.folder === undefined ? [] : [[one, ownerOf(one.folder, one.main, nameOf(one.path))]],
    ),
  );
  const versionOf = (folder: Folder): SelectedVersion | undefined => {
    const version = versions.at.get(folder);
    if (version === undefined) return undefined;
    const { of, isCertain } = version;
    return { name: folder.name, of: belowSubdirectory(sieve, of.path), isCertain };
  };
  const files = await findFiles(
    source,
    {
      owners: [...skillOwners.values(), ...documentOwners.values()],
      folders: new Set([...found.folders, ...documents.folders]),
      mains: documents.mains,
    },
    sieve,
    rules.limits,
    slices,
  );
  if (slices.over) await slices.turn();
  const groups = groupsOf(found.skills, sieve, plugins, versions, rules.library);
  const skills = found.skills.map(
    (skill): SelectedArtifact => ({
      kind: 'skill',
      folder: skill.relative,
      group: groups.of(skill.relative),
      main: skill.main,
      mainName,
      files: files.byOwner.get(skillOwners.get(skill)!)!,
      isSingle: false,
      parser: 'skill',
      name: undefined,
      version: versionOf(skill.folder),
    }),
  );
  const others: SelectedArtifact[] = [];
  for (const one of documents.documents) {
    const owner = documentOwners.get(one);
    const { kind, main, path, base } = one;
    const version = one.version && one.folder && versionOf(one.folder);
    const named = version === undefined ? path : joinPath(version.of, nameOf(path));
    others.push({
      kind: kind.kind,
      folder: owner === undefined ? withoutExtensions(path) : folderOf(path),
      group: undefined,
      main,
      mainName: nameOf(path),
      files: owner === undefined ? [{ path: nameOf(path), entry: main }] : files.byOwner.get(owner)!,
      isSingle: owner === undefined,
      parser: kind.parserFor(path, base),
      name: kind.nameFor(named, base, owner !== undefined),
      version,
    });
    if (slices.over) await slices.turn();
  }
  if (slices.over) await slices.turn();
  const isListed = kindLists.some((list) => sieve[list].listed);
  const places = [...[...found.folders].map(({ path }) => path), ...documents.mains].map((path) =>
    belowSubdirectory(sieve, path),
  );
  const matched = new Set([...found.matched, ...documents.matched, ...files.matched]);
  const problems = [
    ...ground.problems,
    ...plugins.problems,
    ...found.problems,
    ...documents.problems,
    ...files.problems,
    ...groups.problems,
    ...versions.problems,
    ...(isListed ? [] : emptyPlugins(plugins, filledPlugins(places, plugins))),
    ...nothingMatched(sieve, matched, found.seen + documents.seen + files.pack.length),
  ];
  return { artifacts: [...skills, ...others], files: files.pack, rejected: found.rejected, problems };
}

/** Whether a folder is a skill's or lies in one. */
function skillFolders(folders: ReadonlySet<Folder>): (folder: Folder) => boolean {
  const known = new Map<Folder, boolean>();
  const isIn = (folder: Folder): boolean => {
    let is = known.get(folder);
    if (is === undefined) {
      is = folders.has(folder) || (folder.parent !== undefined && isIn(folder.parent));
      known.set(folder, is);
    }
    return is;
  };
  return isIn;
}

/**
 * The groups of skills: the deepest plugin's, else the folder's right above, where it is a real one and not the skill's
 * with its versions. A problem for each folder whose name cannot be a group.
 */
function groupsOf(
  skills: readonly { relative: string; folder: Folder }[],
  { subdirectory, skills: { listed } }: Sieve,
  plugins: Plugins,
  versions: VersionFolders,
  library: string,
): { of(relative: string): string | undefined; problems: Problem[] } {
  const groups = new Map<string, string | undefined>();
  const unfit = new Set<string>();
  for (const { relative, folder: own } of skills) {
    const root = listed ? '' : pluginAbove(relative, plugins);
    const folder = folderOf(relative);
    const name = nameOf(folder);
    if (root !== '') groups.set(relative, plugins.at.get(root)?.group);
    else if (isSkillRoot(folder) || name === library || versions.at.has(own)) continue;
    else if (isLibraryName(name)) groups.set(relative, name);
    else unfit.add(folder);
  }
  const problems = [...unfit].map((folder) =>
    problem(
      'GroupName',
      joinPath(subdirectory, folder),
      "The folder's name cannot be a group, so its skills are of the library's own group: use lower-case letters, digits and hyphens only.",
    ),
  );
  return { of: (relative) => groups.get(relative), problems };
}

/** The root of the deepest plugin in which a folder lies; `` for none but the source itself. */
function pluginAbove(relative: string, plugins: Plugins): string {
  let at = plugins.at.size === 0 ? '' : relative;
  while (at !== '' && !plugins.at.has(at)) at = folderOf(at);
  return at;
}

/** The plugins in which something was found, links among it. @param paths below the subdirectory */
function filledPlugins(paths: Iterable<string>, plugins: Plugins): Set<string> {
  const filled = new Set<string>();
  for (const path of paths) {
    for (let at = path; at !== ''; at = folderOf(at)) if (plugins.at.has(at)) filled.add(at);
  }
  return filled;
}

/** What a glob of each list was to match. */
const wanted = {
  skills: 'SKILL.md and no folder with one',
  prompts: 'prompt: those are Markdown files, README.md and the like not among them',
  rules: 'rule: those are Markdown files, .mdc files and .cursorrules',
  profiles: 'profile: those are Markdown files, README.md and the like not among them',
  files: 'file',
} as const;

function nothingMatched(sieve: Sieve, matched: ReadonlySet<Glob>, seen: number): Problem[] {
  const { subdirectory } = sieve;
  const path = subdirectory === '' ? '.' : subdirectory;
  const unmatched = (list: keyof typeof wanted, { globs, listed }: Pick<KindSieve, 'globs' | 'listed'>): Problem[] =>
    globs
      .filter((glob) => listed && !matched.has(glob))
      .map(({ pattern }) =>
        problem(
          'NothingMatched',
          path,
          `include.${list} has "${pattern}", which matches no ${wanted[list]}: correct or remove it.`,
        ),
      );
  const listed = [
    ...kindLists.flatMap((list) => unmatched(list, sieve[list])),
    ...unmatched('files', { globs: sieve.files, listed: true }),
  ];
  if (listed.length > 0 || seen > 0 || kindLists.some((list) => sieve[list].listed)) return listed;
  return [
    problem(
      'NothingMatched',
      path,
      'Nothing is where skills, prompts, rules and profiles are looked for: say in include.skills, or in another list of include, where they are.',
    ),
  ];
}

/** Whether a folder, or a SKILL.md, is there. */
export function isPluginThere({ source }: Ground, path: string): boolean {
  return folderAt(source, path) !== undefined || fileAt(source, path) !== undefined;
}
