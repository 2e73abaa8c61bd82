// Archives that others have packed, zip or gzipped tar: what is in them, and the files that are wanted. Nothing is unpacked
// onto the disk, so no path in an archive can lead anywhere.
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { openPromise, type Entry as ZipEntry } from 'yauzl';
import { ArchiveFault } from '../archive-fault.ts';
import { gathering, readTar, type TarEntry } from '../tar.ts';

export interface ArchiveBounds {
  /** Of everything in it, unpacked. */
  bytes: number;
  entries: number;
  signal: AbortSignal;
}

export interface ArchiveListing {
  files: { path: string; size: number }[];
  /** Links and devices, and second files at one path: left out. */
  leftOut: number;
}

/** Reads one after the other, so that what cannot be unpacked is known now: some formats have no other way. @throws ArchiveFault, the signal's reason */
export async function listArchive(path: string, bounds: ArchiveBounds): Promise<ArchiveListing> {
  const files = new Map<string, number>();
  let entries = 0;
  let bytes = 0;
  let leftOut = 0;
  await eachEntry(path, bounds, async ({ name, size, isFile, passBy }) => {
    entries += 1;
    bytes += size;
    if (entries > bounds.entries) throw new ArchiveFault(`holds more than ${bounds.entries} files`);
    if (bytes > bounds.bytes) throw new ArchiveFault(`unpacks to more than ${bounds.bytes} bytes`);
    if (!isFile || files.has(name)) leftOut += 1;
    else {
      await passBy();
      files.set(name, size);
    }
  });
  return { files: [...files].map(([path, size]) => ({ path, size })), leftOut };
}

/**
 * @param wanted paths of the listing
 * @param take gets each of them, one after the other
 * @throws ArchiveFault, the signal's reason, whatever `take` throws
 */
export async function readArchive(
  path: string,
  wanted: ReadonlySet<string>,
  bounds: ArchiveBounds,
  take: (path: string, bytes: Buffer) => Promise<void>,
): Promise<void> {
  const left = new Set(wanted);
  await eachEntry(
    path,
    bounds,
    async ({ name, isFile, content }) => {
      if (!isFile || !left.delete(name)) return;
      const bytes = await content();
      await take(name, bytes).catch((cause: unknown) => {
        throw new TakeFailed('', { cause });
      });
    },
    wanted,
  );
  if (left.size > 0) throw new ArchiveFault('is not the archive that was listed');
}

interface Entry {
  /** Without `./` in front. */
  name: string;
  size: number;
  isFile: boolean;
  /** Of a file that is wanted. */
  content(): Promise<Buffer>;
  /** Unpacks what has not been unpacked on the way to it, and keeps nothing. */
  passBy(): Promise<void>;
}

type Visit = (entry: Entry) => Promise<void>;

class TakeFailed extends Error {}

async function eachEntry(
  path: string,
  bounds: ArchiveBounds,
  visit: Visit,
  wanted: ReadonlySet<string> = new Set(),
): Promise<void> {
  const magic = await firstBytes(path);
  const visited: Visit = async (entry) => {
    bounds.signal.throwIfAborted();
    await visit(entry);
  };
  try {
    if (magic.toString('latin1').startsWith('PK')) await eachZipEntry(path, visited);
    else if (magic[0] === 0x1f && magic[1] === 0x8b) await eachTarEntry(path, bounds, visited, wanted);
    else throw new ArchiveFault('is neither a zip archive nor a gzipped tar archive');
  } catch (error) {
    if (bounds.signal.aborted) throw bounds.signal.reason;
    if (error instanceof TakeFailed) throw error.cause;
    if (error instanceof ArchiveFault) throw error;
    throw new ArchiveFault('is damaged, or not made as archives are', { cause: error });
  }
}

async function firstBytes(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

const typeBits = 0o170000;
const regular = 0o100000;

async function eachZipEntry(path: string, visit: Visit): Promise<void> {
  const zip = await openPromise(path, { autoClose: false });
  try {
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName.endsWith('/')) continue;
      if (entry.isEncrypted()) throw new ArchiveFault('is encrypted');
      await visit({
        name: withoutDot(entry.fileName),
        size: entry.uncompressedSize,
        isFile: isRegular(entry),
        content: async () => await gathered(await zip.openReadStreamPromise(entry)),
        passBy: async () => {
          for await (const _ of await zip.openReadStreamPromise(entry));
        },
      });
    }
  } finally {
    zip.close();
  }
}

/** Archives made elsewhere than on Unix say nothing of the type. */
function isRegular({ externalFileAttributes }: ZipEntry): boolean {
  const type = (externalFileAttributes >>> 16) & typeBits;
  return type === 0 || type === regular;
}

/** Of those that are wanted the first file of a path alone, as it is listed: of those after it, nothing says how large they are. */
async function eachTarEntry(
  path: string,
  bounds: ArchiveBounds,
  visit: Visit,
  wanted: ReadonlySet<string>,
): Promise<void> {
  const left = new Set(wanted);
  const unpacking = pipeline(createReadStream(path), createGunzip(), () => {});
  const begin = (entry: TarEntry) => (left.delete(withoutDot(entry.path)) ? gathering() : undefined);
  for await (const { entry, result } of readTar(unpacking, bounds, begin)) {
    if (entry.type === 'folder') continue;
    await visit({
      name: withoutDot(entry.path),
      size: entry.size,
      isFile: entry.type === 'file',
      content: async () => result ?? Buffer.alloc(0),
      passBy: async () => {},
    });
  }
}

async function gathered(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const withoutDot = (path: string): string => path.replace(/^(\.\/+)+/, '');
