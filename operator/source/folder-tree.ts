// A flat list of entries as folders: the shape in which links are followed and a harvest is selected.
import { byCodePoint } from '../../catalogue/names.ts';
import { type Problem, problem } from '../../catalogue/problem.ts';
import type { Slices } from '../../catalogue/slices.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import { treeCaps } from '../../upstream/limits.ts';
import { pathFault, printable } from './path.ts';
import { sorted } from './sorted.ts';
import type { TreeEntry } from './source.ts';

export interface Folder {
  /** From the tree's root, `` for the root itself. */
  path: string;
  name: string;
  parent: Folder | undefined;
  /** By name, in the order of code points. */
  folders: Map<string, Folder>;
  /** Files and links by name, in the order of code points. */
  files: Map<string, TreeEntry>;
}

/**
 * The folders of a list of entries. The same entries in any order give the same tree: where a file and a folder have
 * one path, the folder stands; where two files have one, the first by id and link does.
 * @returns the root, and what had to be left out
 * @throws UpstreamFault LimitExceeded beyond `treeCaps`
 */
export async function folderTree(
  entries: readonly TreeEntry[],
  slices: Slices,
): Promise<{ root: Folder; problems: Problem[] }> {
  if (entries.length > treeCaps.entries) throw tooManyEntries();
  const root = newFolder('', '', undefined);
  const problems: Problem[] = [];
  for (const entry of entries) {
    const fault = pathFault(entry.path);
    if (fault !== undefined) {
      problems.push(
        problem('BadFileName', printable(entry.path), `The file is left out, since its name ${fault}: rename it.`),
      );
      continue;
    }
    const parts = entry.path.split('/');
    checkCaps(entry.path, parts.length);
    const name = parts.pop()!;
    let folder = root;
    for (const part of parts) folder = subfolder(folder, part);
    const other = folder.files.get(name);
    if (other !== undefined) problems.push(twice(entry.path));
    if (other === undefined || compareEntries(entry, other) < 0) folder.files.set(name, entry);
    if (slices.over) await slices.turn();
  }
  for (const folder of walk(root)) {
    for (const name of folder.files.keys()) {
      if (!folder.folders.has(name)) continue;
      problems.push(twice(folder.files.get(name)!.path));
      folder.files.delete(name);
    }
    folder.folders = await inOrder(folder.folders, slices);
    folder.files = await inOrder(folder.files, slices);
    if (slices.over) await slices.turn();
  }
  return { root, problems };
}

/**
 * A folder and all below it, each before what it holds, in the order of code points segment by segment.
 * @param skips a folder that is not entered
 */
export function* walk(folder: Folder, skips: (folder: Folder) => boolean = () => false): Generator<Folder> {
  const open = [folder];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    yield next;
    for (const below of [...next.folders.values()].reverse()) if (!skips(below)) open.push(below);
  }
}

/** The folder at a path, if there is one. */
export function folderAt(root: Folder, path: string): Folder | undefined {
  let folder: Folder | undefined = root;
  if (path !== '') for (const part of path.split('/')) folder = folder?.folders.get(part);
  return folder;
}

/** A folder without anything in it, that no tree has. */
export const emptyFolder = (path: string): Folder => newFolder(path, path.slice(path.lastIndexOf('/') + 1), undefined);

/** @throws UpstreamFault LimitExceeded for a path that is too deep or too long */
export function checkCaps(path: string, depth: number): void {
  if (depth > treeCaps.depth) {
    throw new UpstreamFault(
      'LimitExceeded',
      `the tree is more than ${treeCaps.depth} folders deep, which no field raises: make it flatter`,
    );
  }
  if (path.length * 3 > treeCaps.pathBytes && Buffer.byteLength(path) > treeCaps.pathBytes) {
    throw new UpstreamFault(
      'LimitExceeded',
      `the tree has paths of more than ${treeCaps.pathBytes} bytes, which no field raises: shorten them`,
    );
  }
}

export const tooManyEntries = (): UpstreamFault =>
  new UpstreamFault(
    'LimitExceeded',
    `the tree has more than ${treeCaps.entries} entries, links followed, which no field raises: split it`,
  );

function subfolder(folder: Folder, name: string): Folder {
  const there = folder.folders.get(name);
  if (there !== undefined) return there;
  const made = newFolder(folder.path === '' ? name : `${folder.path}/${name}`, name, folder);
  folder.folders.set(name, made);
  return made;
}

const newFolder = (path: string, name: string, parent: Folder | undefined): Folder => ({
  path,
  name,
  parent,
  folders: new Map(),
  files: new Map(),
});

const twice = (path: string): Problem =>
  problem('BadFileName', path, 'The name stands twice in its folder: one is left out, rename it.');

const compareEntries = (a: TreeEntry, b: TreeEntry): number =>
  byCodePoint(`${a.link === undefined ? '' : '~'}${a.id ?? ''}`, `${b.link === undefined ? '' : '~'}${b.id ?? ''}`);

async function inOrder<Value>(map: Map<string, Value>, slices: Slices): Promise<Map<string, Value>> {
  if (map.size < 2) return map;
  return new Map(await sorted([...map], ([a], [b]) => byCodePoint(a, b), slices));
}
