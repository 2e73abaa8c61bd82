// A folder below the operator's file root as a source: a consistent look at what is on disk, never out of its root.
import { realpath, stat } from 'node:fs/promises';
import { join, posix, resolve, sep } from 'node:path';
import { digestOf } from '../../catalogue/digest.ts';
import { Slices } from '../../catalogue/slices.ts';
import { SourceFault } from '../reasons.ts';
import type { LookContext } from './backend.ts';
import { changedMeanwhile, folderFault } from './folder/fault.ts';
import { type ListedFile, listFolder } from './folder/list.ts';
import { readListed } from './folder/read.ts';
import { revisionOf } from './folder/revision.ts';
import { tokensOf } from './folder/tokens.ts';
import type { Source, Tree, TreeEntry, TreeSink } from './source.ts';

export interface FolderRoots {
  /** The folder that is `/` for file:/// sources; without it there are none. */
  fileRoot: string | undefined;
  /** Folders that no source may lie in or see: the volume, mounted secrets. */
  closedFolders: readonly string[];
}

/** A folder grows while it is read so often; then the look has failed. */
const attempts = 3;

/** So many files are read at once, of so many bytes in all. */
const together = { files: 16, bytes: 8 * 1024 * 1024 };

/**
 * @param url `file:///PATH`, percent-encoded as URLs are
 * @throws SourceFault InvalidSpec for the URL; from probe and open: SourceFault FileRootNotAllowed, UpstreamFault
 *   NotFound, AccessDenied, LimitExceeded, Unreachable, UpstreamInvalid for a folder that does not come to rest
 */
export function openFolderSource(url: string, roots: FolderRoots, context: LookContext): Source {
  const path = pathOf(url);
  let looked: Promise<Look> | undefined;
  const look = () => {
    looked ??= lookAt(path, roots, context);
    return looked;
  };
  return {
    probe: async () => (await look()).revision,
    open: async () => treeOf(await look(), path, context),
    close: async () => {},
  };
}

interface Look {
  revision: string;
  files: ReadonlyMap<string, ListedFile>;
  tokens: ReadonlyMap<string, string>;
  problems: Tree['problems'];
}

function pathOf(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    if (protocol === 'file:' && host === '' && !/%(00|2f)/i.test(pathname)) return decodeURIComponent(pathname);
  } catch {
    // Falls through to the one message for a URL that cannot be read.
  }
  throw new SourceFault('InvalidSpec', 'spec.url is not file:///PATH: write an absolute path after file://');
}

async function lookAt(path: string, roots: FolderRoots, context: LookContext): Promise<Look> {
  const { root, closed } = await realRoot(path, roots);
  for (let attempt = 1; ; attempt++) {
    try {
      return await lookOnce(root, closed, path, context);
    } catch (error) {
      const unsettled = error instanceof Error && 'reason' in error && error.reason === 'UpstreamInvalid';
      if (!unsettled || attempt === attempts) throw error;
    }
  }
}

/** The source's root on disk, links resolved, which must lie below the file root and in no closed folder. */
async function realRoot(
  path: string,
  { fileRoot, closedFolders }: FolderRoots,
): Promise<{ root: string; closed: string[] }> {
  if (fileRoot === undefined) {
    throw new SourceFault(
      'FileRootNotAllowed',
      "the operator has no --file-root, so there are no file:/// sources: give it one (fileRoot of the chart's values), or use another kind of source",
    );
  }
  const refused = new SourceFault(
    'FileRootNotAllowed',
    `${path} leads out of the operator's --file-root, or into a folder that is closed to sources: use another folder`,
  );
  let base: string;
  let root: string;
  try {
    base = await realpath(fileRoot);
    root = await realpath(join(base, path));
    if (!(await stat(root)).isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
  } catch (error) {
    throw folderFault(error, path);
  }
  const closed = await Promise.all(closedFolders.map((folder) => realpath(folder).catch(() => resolve(folder))));
  if (!isBelow(root, base) || closed.some((folder) => isBelow(root, folder))) throw refused;
  return { root, closed };
}

const isBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

async function lookOnce(root: string, closed: readonly string[], shown: string, context: LookContext): Promise<Look> {
  const { limits, memory, signal, received } = context;
  const lookedAt = Date.now();
  const { files, problems } = await listFolder(root, closed, shown, signal);
  const digest = async (file: ListedFile): Promise<string | undefined> => {
    signal.throwIfAborted();
    if (file.stamp.size > BigInt(limits.fileSize)) return undefined;
    const bytes = await readListed(file, posix.join(shown, file.path));
    received(bytes.length);
    return digestOf(bytes);
  };
  const slices = new Slices();
  const tokens = await tokensOf(files, memory, digest, lookedAt, slices);
  const revision = await revisionOf(files, tokens, slices);
  return { revision, files: new Map(files.map((file) => [file.path, file])), tokens, problems };
}

function treeOf({ revision, files, tokens, problems }: Look, shown: string, context: LookContext): Tree {
  const entries = [...files.values()].map(({ path, stamp, link }): TreeEntry => {
    if (link !== undefined) return { path, link };
    return { path, id: tokens.get(path)!, size: Number(stamp.size) };
  });
  return {
    revision,
    entries,
    problems,
    read: (wanted, sink) => readFiles(wanted, sink, files, shown, context),
    close: async () => {},
  };
}

async function readFiles(
  wanted: readonly TreeEntry[],
  sink: TreeSink,
  files: ReadonlyMap<string, ListedFile>,
  shown: string,
  { limits, signal, received }: LookContext,
): Promise<void> {
  let batch: { entry: TreeEntry; file: ListedFile }[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const read = await Promise.all(
      batch.map(async ({ entry, file }) => ({ entry, content: await readListed(file, posix.join(shown, file.path)) })),
    );
    batch = [];
    bytes = 0;
    for (const { entry, content } of read) {
      if (entry.id?.startsWith('sha256:') && digestOf(content) !== entry.id) {
        throw changedMeanwhile(posix.join(shown, entry.path));
      }
      received(content.length);
      await sink.take(entry, content);
    }
  };
  for (const entry of wanted) {
    signal.throwIfAborted();
    const file = files.get(entry.path)!;
    const size = Number(file.stamp.size);
    if (size > limits.fileSize) {
      sink.tooLarge(entry, size);
      continue;
    }
    if (batch.length === together.files || (batch.length > 0 && bytes + size > together.bytes)) await flush();
    batch.push({ entry, file });
    bytes += size;
  }
  await flush();
}
