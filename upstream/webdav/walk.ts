// Every folder of a source, listed one by one with Depth 1: servers disagree on deeper ones, some without a word.
import { UpstreamFault } from '../fault.ts';
import { treeCaps } from '../limits.ts';
import { newPace } from '../pace.ts';
import type { Entry, Remark } from './listing.ts';
import type { WebDavServer } from './server.ts';
import { isStrong } from './validator.ts';

export interface Folder {
  /** SHA-256 of the listing, hex. */
  hash: string;
  entries: readonly Entry[];
  remarks: readonly Remark[];
}

export interface WalkedFolder extends Folder {
  /** The server's time of the listing, in milliseconds since 1970. */
  at: number;
}

/** So many folders are asked for at once. */
const together = 6;

/** Never harvested, and often large. */
const passedOver: ReadonlySet<string> = new Set(['.git', 'node_modules']);

export type Folders = ReadonlyMap<string, Folder>;

/**
 * @param start the folder to begin with, `` for the source's own
 * @param known folders as they were before: an equal listing is not parsed again
 * @param believed those of them that are not listed again where the server's deep ETags say that nothing in them has moved
 * @returns folders by path
 * @throws UpstreamFault; LimitExceeded beyond `treeCaps`, while listings are read; the signal's reason
 */
export async function walkFolders(
  server: WebDavServer,
  start: string,
  known: Folders,
  believed: Folders,
  signal: AbortSignal,
): Promise<Map<string, WalkedFolder>> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const pace = newPace(both);
  const folders = new Map<string, WalkedFolder>();
  const open: string[] = [start];
  let entries = 0;
  const count = (more = 1): void => {
    entries += more;
    if (entries > treeCaps.entries) throw beyond(`${treeCaps.entries} entries`);
  };

  const visit = async (path: string): Promise<void> => {
    const before = known.get(path);
    const { hash, at, listing } = await server.list(path, before?.hash, both, count);
    const folder: WalkedFolder = { hash, at, ...(listing ?? before!) };
    if (listing === undefined) count(folder.entries.length + folder.remarks.length);
    if (folder.entries.length === 0) await checkEmptied(server, path, before, both);
    folders.set(path, folder);
    for (const { name } of folder.remarks) if (name !== undefined) checkPath(join(path, name));
    const entriesBefore = new Map(before?.entries.map((entry) => [entry.name, entry]));
    for (const entry of folder.entries) {
      await pace();
      const below = join(path, entry.name);
      checkPath(below);
      if (!entry.folder || passedOver.has(entry.name)) continue;
      const same = isUnchanged(entriesBefore.get(entry.name), entry) ? knownBelow(below, believed) : undefined;
      if (same === undefined) open.push(below);
      for (const [inner, listed] of same ?? []) {
        await pace();
        count(listed.entries.length);
        folders.set(inner, { ...listed, at });
      }
    }
  };

  const running = new Set<Promise<void>>();
  try {
    while (open.length > 0 || running.size > 0) {
      while (open.length > 0 && running.size < together) {
        const visiting: Promise<void> = visit(open.pop()!).finally(() => running.delete(visiting));
        running.add(visiting);
      }
      await Promise.race(running);
    }
  } catch (error) {
    stop.abort(error);
    await Promise.allSettled(running);
    throw error;
  }
  return folders;
}

/** Whether nothing below a folder has changed since, which only servers with deep ETags tell. */
const isUnchanged = (before: Entry | undefined, { deep, etag }: Entry): boolean =>
  deep === true && before?.deep === true && isStrong(etag) && before.etag === etag;

/** A folder and all below it as they were; undefined where that is not known, or not told by the folder's own ETag. */
function knownBelow(path: string, known: Folders): Map<string, Folder> | undefined {
  const found = new Map<string, Folder>();
  const open = [path];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const folder = known.get(at);
    if (folder === undefined) return undefined;
    found.set(at, folder);
    for (const entry of folder.entries) {
      if (!entry.folder || passedOver.has(entry.name)) continue;
      if (entry.deep !== true) return undefined;
      open.push(join(at, entry.name));
    }
  }
  return found;
}

/** A folder that lists nothing though what was in it is still there has not been emptied: its server ignores Depth. */
async function checkEmptied(
  server: WebDavServer,
  path: string,
  before: Folder | undefined,
  signal: AbortSignal,
): Promise<void> {
  const child = before?.entries[0];
  if (child === undefined || !(await server.isThere(join(path, child.name), signal))) return;
  throw new UpstreamFault(
    'UpstreamInvalid',
    `${server.name} lists a folder as empty that still has something in it; a proxy in front of it may drop the header Depth`,
  );
}

function checkPath(path: string): void {
  if (path.split('/').length > treeCaps.depth) throw beyond(`${treeCaps.depth} levels`);
  if (path.length * 3 > treeCaps.pathBytes && Buffer.byteLength(path) > treeCaps.pathBytes) {
    throw beyond(`${treeCaps.pathBytes} bytes in a path`);
  }
}

const beyond = (what: string): UpstreamFault =>
  new UpstreamFault(
    'LimitExceeded',
    `the folder has more than ${what}, which no field raises: split it or make it flatter`,
  );

const join = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);
