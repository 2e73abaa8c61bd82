// Tar archives of plain files, byte for byte the same wherever and whenever they are made: of 1970, nobody's, rw-r--r--.
import { Header, Pax } from 'tar';

export interface TarEntry {
  /** `/`-joined, relative, raw: it goes as UTF-8. */
  path: string;
  /** In bytes. */
  size: number;
}

const blockBytes = 512;
const end = Buffer.alloc(2 * blockBytes);

/** The lengths of the pieces that `tar` gives for these entries. */
export function* tarPieces(entries: readonly TarEntry[]): Generator<number> {
  for (const entry of entries) {
    yield headerOf(entry).length;
    if (entry.size > 0) yield entry.size;
    if (entry.size % blockBytes > 0) yield paddingOf(entry.size);
  }
  yield end.length;
}

/**
 * The archive in pieces, a file's content in one. Each file is asked for when what stands before it has been taken.
 * @param contentOf a file's bytes, as many as its entry says
 */
export async function* tar<Entry extends TarEntry>(
  entries: readonly Entry[],
  contentOf: (entry: Entry) => Buffer | Promise<Buffer>,
): AsyncGenerator<Buffer> {
  for (const entry of entries) {
    const content = await contentOf(entry);
    if (content.length !== entry.size) throw new Error(`${entry.path} has ${content.length} bytes, not ${entry.size}`);
    yield headerOf(entry);
    if (entry.size > 0) yield content;
    if (entry.size % blockBytes > 0) yield Buffer.alloc(paddingOf(entry.size));
  }
  yield end;
}

const paddingOf = (size: number): number => blockBytes - (size % blockBytes);

/** With an extended header before it where the path does not fit into a plain one. */
function headerOf({ path, size }: TarEntry): Buffer {
  const block = Buffer.alloc(blockBytes);
  const header = new Header({ path, size, mode: 0o644, uid: 0, gid: 0, mtime: new Date(0), type: 'File' });
  return header.encode(block) ? Buffer.concat([new Pax({ path }).encode(), block]) : block;
}
