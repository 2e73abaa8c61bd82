// The files of a folder on disk with their stamps, without reading any of them.
import { isUtf8 } from 'node:buffer';
import type { Dirent } from 'node:fs';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { posix, relative, resolve, sep } from 'node:path';
import { type Problem, problem } from '../../../catalogue/problem.ts';
import { treeCaps } from '../../../upstream/limits.ts';
import { checkCaps, tooManyEntries } from '../folder-tree.ts';
import { joinPath, pathFault, printable } from '../path.ts';
import { changedMeanwhile, folderFault, isGone } from './fault.ts';
import { type Stamp, stampOf } from './stamp.ts';

export interface ListedFile {
  /** Below the source's root. */
  path: string;
  /** Where it stands on disk. */
  file: string;
  stamp: Stamp;
  /** A link's target. */
  link: string | undefined;
  /** In a mounted ConfigMap, Secret or projected volume, which is made anew with every pod. */
  mounted: boolean;
}

export interface Listing {
  files: ListedFile[];
  problems: Problem[];
}

interface OpenFolder {
  path: string;
  folder: string;
  mounted: boolean;
}

/** Never harvested, and often large; or a file system's own, which only root may read. */
const passedOver: ReadonlySet<string> = new Set(['.git', 'node_modules', 'lost+found']);

/** So many files are asked for at once. */
const together = 64;

/**
 * @param root real path of the source's root
 * @param closed real paths of folders that are passed over
 * @param shown the root as the user knows it
 * @throws UpstreamFault LimitExceeded beyond `treeCaps`, AccessDenied, Unreachable; the signal's reason
 */
export async function listFolder(
  root: string,
  closed: readonly string[],
  shown: string,
  signal: AbortSignal,
): Promise<Listing> {
  const listing: Listing = { files: [], problems: [] };
  const open: OpenFolder[] = [{ path: '', folder: root, mounted: false }];
  let entries = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    signal.throwIfAborted();
    const { path, ...here } = next;
    const { folder, mounted, names } = await readFolder(here, posix.join(shown, path));
    entries += names.length;
    if (entries > treeCaps.entries) throw tooManyEntries();
    for (let at = 0; at < names.length; at += together) {
      signal.throwIfAborted();
      const some = names.slice(at, at + together);
      const looked = await Promise.all(some.map((dirent) => lookAt(dirent, { path, folder, mounted }, root, shown)));
      for (const found of looked) {
        if (found === undefined) continue;
        if ('problem' in found) listing.problems.push(found.problem);
        else if ('stamp' in found) listing.files.push(found);
        else if (!closed.includes(found.folder)) open.push(found);
      }
    }
  }
  return listing;
}

/** A folder's names; of a mounted volume those of its current version, in which each file stands once. */
async function readFolder(
  { folder, mounted }: Pick<OpenFolder, 'folder' | 'mounted'>,
  shown: string,
): Promise<Pick<OpenFolder, 'folder' | 'mounted'> & { names: Dirent<Buffer>[] }> {
  const read = (from: string) => readdir(from, { withFileTypes: true, encoding: 'buffer' });
  try {
    const names = await read(folder);
    const isMount = names.some((dirent) => dirent.isSymbolicLink() && dirent.name.toString() === '..data');
    if (!isMount) return { folder, mounted, names };
    const version = await realpath(resolve(folder, '..data'));
    if (!version.startsWith(folder + sep)) return { folder, mounted, names };
    const own = (await read(version)).filter((dirent) => !dirent.name.toString().startsWith('..'));
    return { folder: version, mounted: true, names: own };
  } catch (error) {
    throw isGone(error) ? changedMeanwhile(shown) : folderFault(error, shown);
  }
}

/** @returns undefined for what is not there any longer or is passed over */
async function lookAt(
  dirent: Dirent<Buffer>,
  parent: OpenFolder,
  root: string,
  shown: string,
): Promise<ListedFile | OpenFolder | { problem: Problem } | undefined> {
  const name = dirent.name.toString();
  const path = joinPath(parent.path, name);
  if (passedOver.has(name)) return undefined;
  const fault = isUtf8(dirent.name) ? pathFault(name) : 'is not UTF-8';
  if (fault !== undefined) {
    return { problem: problem('BadFileName', printable(path), `It is left out, since its name ${fault}: rename it.`) };
  }
  checkCaps(path, path.split('/').length);
  const file = resolve(parent.folder, name);
  try {
    const stats = await lstat(file, { bigint: true });
    if (stats.isDirectory()) return { path, folder: file, mounted: parent.mounted };
    if (stats.isFile()) return { path, file, stamp: stampOf(stats), link: undefined, mounted: parent.mounted };
    if (stats.isSymbolicLink()) {
      const link = withinRoot(await readlink(file), path, root);
      return { path, file, stamp: stampOf(stats), link, mounted: parent.mounted };
    }
    const message = 'It is a pipe, a socket or a device, so it is left out: remove it, or name it in exclude.';
    return { problem: problem('SpecialFile', path, message) };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw folderFault(error, posix.join(shown, path));
  }
}

/** A link's target, relative where it is written as an absolute path of something inside the root. */
function withinRoot(target: string, path: string, root: string): string {
  if (!target.startsWith(sep)) return target;
  const inside = relative(root, target);
  if (inside === '..' || inside.startsWith(`..${sep}`) || resolve(target) !== resolve(root, inside)) return target;
  return posix.relative(posix.dirname(path), inside) || '.';
}
