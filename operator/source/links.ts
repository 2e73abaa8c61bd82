// Symbolic links, alike in every backend: followed inside the source's root, refused where they leave it.
import { type Problem, problem } from '../../catalogue/problem.ts';
import { Slices } from '../../catalogue/slices.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import { treeCaps } from '../../upstream/limits.ts';
import { checkCaps, type Folder, folderTree, tooManyEntries, walk } from './folder-tree.ts';
import { folderOf, joinPath, nameOf } from './path.ts';
import type { TreeEntry } from './source.ts';

/** Links that are followed one after the other for one path; as many as Linux follows. */
const mostHops = 40;

/** Characters of a link's target; PATH_MAX of Linux. */
const longestTarget = 4096;

/** Parts of targets that are walked in all, so that long targets in long chains cannot take for ever. */
const mostParts = 10_000_000;

/**
 * The same entries without links, and under each link's path what stands behind it, with `realPath` where the bytes are.
 * @returns entries in no particular order, and the problems LinkEscapes (one a link) and LinkBroken (one a folder)
 * @throws UpstreamFault LimitExceeded where the links unfold to more than `treeCaps`
 */
export async function resolveLinks(
  entries: readonly TreeEntry[],
): Promise<{ entries: TreeEntry[]; problems: Problem[] }> {
  if (!entries.some(({ link }) => link !== undefined)) return { entries: [...entries], problems: [] };
  const slices = new Slices();
  const { root, problems } = await folderTree(entries, slices);
  const resolved: TreeEntry[] = [];
  const links: { folder: Folder; entry: TreeEntry }[] = [];
  for (const folder of walk(root)) {
    for (const entry of folder.files.values()) {
      if (entry.link === undefined) resolved.push(entry);
      else links.push({ folder, entry });
    }
    if (slices.over) await slices.turn();
  }
  const unfolding: Unfolding = {
    broken: new Set(),
    escaping: new Set(),
    left: treeCaps.entries - resolved.length,
    parts: mostParts,
  };
  for (const { folder, entry } of links) {
    if (slices.over) await slices.turn();
    for (const found of behind(folder, entry, entry.path, ancestors(folder), unfolding)) {
      if (found !== undefined) resolved.push(found);
      if (slices.over) await slices.turn();
    }
  }
  for (const path of unfolding.escaping) {
    problems.push(
      problem('LinkEscapes', path, 'The link leads out of the source and is not followed: link to something inside.'),
    );
  }
  problems.push(...brokenByFolder(unfolding.broken));
  return { entries: resolved, problems };
}

interface Unfolding {
  /** Paths of links, where they really stand. */
  broken: Set<string>;
  escaping: Set<string>;
  /** Entries that may still be met. */
  left: number;
  /** Parts of targets that may still be walked. */
  parts: number;
}

type Target = { file: TreeEntry } | { folder: Folder } | 'broken' | 'escapes';

/**
 * What a link gives under the path at which it is seen, one step at a time: an entry, or nothing yet.
 * @param chain the folders that are being walked: whoever comes back to one of them walks in a circle
 */
function* behind(
  from: Folder,
  entry: TreeEntry,
  seenAt: string,
  chain: Set<Folder>,
  unfolding: Unfolding,
): Generator<TreeEntry | undefined> {
  const target = follow(from, entry.link!, unfolding);
  if (target === 'escapes') unfolding.escaping.add(entry.path);
  else if (target === 'broken') unfolding.broken.add(entry.path);
  else if ('file' in target) yield linked(target.file, seenAt);
  else if (isAbove(target.folder, from) || chain.has(target.folder)) unfolding.broken.add(entry.path);
  else yield* below(target.folder, seenAt, chain, unfolding);
}

function* below(
  folder: Folder,
  seenAt: string,
  chain: Set<Folder>,
  unfolding: Unfolding,
): Generator<TreeEntry | undefined> {
  checkCaps(seenAt, seenAt.split('/').length);
  chain.add(folder);
  for (const [name, entry] of folder.files) {
    if (--unfolding.left < 0) throw tooManyEntries();
    const path = joinPath(seenAt, name);
    yield entry.link === undefined ? linked(entry, path) : undefined;
    if (entry.link !== undefined) yield* behind(folder, entry, path, chain, unfolding);
  }
  for (const [name, inner] of folder.folders) {
    if (--unfolding.left < 0) throw tooManyEntries();
    yield undefined;
    if (!chain.has(inner)) yield* below(inner, joinPath(seenAt, name), chain, unfolding);
  }
  chain.delete(folder);
}

function linked(file: TreeEntry, path: string): TreeEntry {
  checkCaps(path, path.split('/').length);
  return { ...file, path, realPath: file.path };
}

/** Walks a target text as the kernel does: part by part, each link on the way replaced by its own target. */
function follow(from: Folder, text: string, unfolding: Unfolding): Target {
  let folder = from;
  let hops = 1;
  const parts: string[] = [];
  const push = (target: string): Target | undefined => {
    if (target === '' || target.length > longestTarget) return 'broken';
    if (target.startsWith('/')) return 'escapes';
    const more = target.split('/').reverse();
    unfolding.parts -= more.length;
    if (unfolding.parts < 0) throw tooManyParts();
    parts.push(...more);
    return undefined;
  };
  const unfit = push(text);
  if (unfit !== undefined) return unfit;
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      if (folder.parent === undefined) return 'escapes';
      folder = folder.parent;
      continue;
    }
    const inner = folder.folders.get(part);
    if (inner !== undefined) {
      folder = inner;
      continue;
    }
    const entry = folder.files.get(part);
    if (entry === undefined) return 'broken';
    if (entry.link === undefined) return parts.length === 0 ? { file: entry } : 'broken';
    if (++hops > mostHops) return 'broken';
    const end = push(entry.link);
    if (end !== undefined) return end;
  }
  return { folder };
}

const tooManyParts = (): UpstreamFault =>
  new UpstreamFault(
    'LimitExceeded',
    `the links of the tree have more than ${mostParts} parts, followed one after the other, which no field raises: link to places directly`,
  );

function ancestors(folder: Folder): Set<Folder> {
  const above = new Set<Folder>();
  for (let at: Folder | undefined = folder; at !== undefined; at = at.parent) above.add(at);
  return above;
}

function isAbove(folder: Folder, from: Folder): boolean {
  for (let at: Folder | undefined = from; at !== undefined; at = at.parent) if (at === folder) return true;
  return false;
}

function brokenByFolder(broken: ReadonlySet<string>): Problem[] {
  const names = Map.groupBy(broken, folderOf);
  return [...names].map(([folder, links]) => {
    const first = nameOf(links.sort()[0]!);
    const what =
      links.length === 1
        ? `The link "${first}" leads nowhere, or in a circle`
        : `${links.length} links here lead nowhere, or in a circle, "${first}" first`;
    return problem(
      'LinkBroken',
      folder === '' ? '.' : folder,
      `${what}: mend or remove ${links.length === 1 ? 'it' : 'them'}.`,
    );
  });
}
