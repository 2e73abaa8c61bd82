// What a harvest does not look at: excluded folders, and names that begin with a dot.
import { folderOf, nameOf } from '../source/path.ts';
import type { Glob } from './globs.ts';

/** Never harvested, wherever they stand. */
const neverHarvested: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/** Dot folders in which clients keep what they read. */
const clientFolders: ReadonlySet<string> = new Set([
  '.github',
  '.claude',
  '.agents',
  '.cursor',
  '.claude-plugin',
  '.codex-plugin',
  '.cursor-plugin',
  '.plugin',
]);

/** The skill roots that have a name, relative to the subdirectory. */
const namedSkillRoots: ReadonlySet<string> = new Set(['skills', '.github/skills', '.claude/skills', '.agents/skills']);

/** A folder whose children are skills or groups: the source's own root, a named one, or a dot folder directly below. */
export function isSkillRoot(folder: string): boolean {
  return folder === '' || isNamedSkillRoot(folder);
}

/** A skill root other than the source's own root. */
export function isNamedSkillRoot(folder: string): boolean {
  return namedSkillRoots.has(folder) || (nameOf(folder).startsWith('.') && namedSkillRoots.has(folderOf(folder)));
}

/** Whether a folder or file is left out, judged by its own path and name; what stands in such a folder is too. */
export const isExcluded = (path: string, name: string, exclude: readonly Glob[]): boolean =>
  neverHarvested.has(name) || exclude.some((glob) => glob.matches(path));

/** Whether a path, or a folder that it lies in, is left out. */
export function isExcludedAnywhere(path: string, exclude: readonly Glob[]): boolean {
  let at = '';
  for (const name of path.split('/')) {
    at = at === '' ? name : `${at}/${name}`;
    if (isExcluded(at, name, exclude)) return true;
  }
  return false;
}

/**
 * The folder, or at last the file, that hides a path outside every skill: the first part that begins with a dot and is
 * neither a client's folder, nor directly below a named skill root, nor named by the glob that asks.
 * @param isFolderPath whether the path's last part is a folder
 * @returns its path, or undefined for a visible one
 */
export function hiddenBy(path: string, isNamed: (part: string) => boolean, isFolderPath = false): string | undefined {
  if (!/(^|\/)\./.test(path)) return undefined;
  const parts = path.split('/');
  for (const [at, part] of parts.entries()) {
    if (!part.startsWith('.') || isNamed(part)) continue;
    const isFolder = isFolderPath || at < parts.length - 1;
    if (isFolder && (clientFolders.has(part) || namedSkillRoots.has(parts.slice(0, at).join('/')))) continue;
    return parts.slice(0, at + 1).join('/');
  }
  return undefined;
}

/** Whether a path relative to a skill's folder has a part that begins with a dot and that the glob does not name. */
export const isHiddenInside = (path: string, isNamed: (part: string) => boolean): boolean =>
  /(^|\/)\./.test(path) && path.split('/').some((part) => part.startsWith('.') && !isNamed(part));
