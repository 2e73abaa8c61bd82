// A tar as it streams by: its entries in order, and what somebody makes of a file's bytes while they come. Nothing is unpacked
// onto the disk, so no path in it can lead anywhere.
import { Parser, type ReadEntry } from 'tar';
import { ArchiveFault, ArchiveTooLarge } from './archive-fault.ts';

export type TarType = 'file' | 'folder' | 'link' | 'hardLink' | 'special';

export interface TarEntry {
  /** As it is written. */
  path: string;
  type: TarType;
  /** Bytes of a file. */
  size: number;
  /** Where a link of either kind leads, as it is written. */
  target: string;
}

/** What somebody makes of the bytes of a file. */
export interface TarTaker<Result> {
  data(chunk: Buffer): void;
  end(): Result;
}

export interface TarBounds {
  /** Of everything in it. */
  bytes: number;
  entries: number;
  signal: AbortSignal;
}

const types: Record<string, TarType> = {
  File: 'file',
  OldFile: 'file',
  ContiguousFile: 'file',
  Directory: 'folder',
  GNUDumpDir: 'folder',
  SymbolicLink: 'link',
  Link: 'hardLink',
};

/** What the format adds to a file's bytes: headers, names and filling. */
const overheadOfEntry = 2048;
const overhead = 2 ** 20;

/** An entry that has begun, and what became of its bytes once all of them have come. */
interface Begun<Result> {
  entry: TarEntry;
  result: Result | undefined;
  isWhole: boolean;
}

/**
 * Every entry once its bytes have come by. What stands behind the archive's end is not read.
 * @param chunks of the tar, unpacked
 * @param begin asked at each file who takes its bytes; undefined: nobody
 * @throws ArchiveFault for what is damaged, ArchiveTooLarge beyond the bounds; the signal's reason
 */
export async function* readTar<Result>(
  chunks: AsyncIterable<Buffer>,
  { bytes, entries, signal }: TarBounds,
  begin: (entry: TarEntry) => TarTaker<Result> | undefined,
): AsyncGenerator<{ entry: TarEntry; result: Result | undefined }> {
  const begun: Begun<Result>[] = [];
  let fault: unknown;
  let isOver = false;
  let count = 0;
  let told = 0;
  const parser = new Parser({ strict: true, gzip: false, brotli: false, zstd: false });
  parser.on('entry', (read: ReadEntry) => {
    count += 1;
    const entry = {
      path: read.path,
      type: types[read.type] ?? 'special',
      size: read.size,
      target: read.linkpath ?? '',
    };
    const one: Begun<Result> = { entry, result: undefined, isWhole: true };
    begun.push(one);
    told += entry.size;
    if (told > bytes) fault ??= tooManyBytes(bytes);
    const taker = entry.type === 'file' && count <= entries ? begin(entry) : undefined;
    if (taker === undefined) return void read.resume();
    one.isWhole = false;
    read.on('data', (chunk) => taker.data(chunk));
    read.on('end', () => {
      one.result = taker.end();
      one.isWhole = true;
    });
  });
  parser.on('ignoredEntry', (read: ReadEntry) => {
    count += 1;
    if (read.meta) fault ??= new ArchiveFault('holds a name that is too long');
    else
      begun.push({
        entry: { path: read.path, type: 'special', size: 0, target: '' },
        result: undefined,
        isWhole: true,
      });
  });
  parser.on('error', (error: Error) => {
    fault ??= error;
  });
  parser.on('eof', () => {
    isOver = true;
  });
  const step = (feed: () => void): void => {
    try {
      feed();
    } catch (error) {
      fault ??= error;
    }
    signal.throwIfAborted();
    if (fault instanceof ArchiveFault) throw fault;
    if (fault !== undefined) throw damaged(fault);
    if (count > entries) throw new ArchiveTooLarge('entries', `holds more than ${entries} files`);
  };
  const whole = function* () {
    while (begun[0]?.isWhole === true) yield begun.shift()!;
  };
  const most = bytes + entries * overheadOfEntry + overhead;
  let unpacked = 0;
  for await (const chunk of unbroken(chunks, signal)) {
    unpacked += chunk.length;
    if (unpacked > most) throw tooManyBytes(bytes);
    step(() => void parser.write(chunk));
    yield* whole();
    if (isOver) break;
  }
  if (!isOver) step(() => void parser.end());
  yield* whole();
  if (begun.length > 0) throw new ArchiveFault('ends in the middle of a file');
}

/** What cannot be unpacked is damaged, whatever the unpacker calls it. */
async function* unbroken(chunks: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ArchiveFault ? error : damaged(error);
  }
}

const tooManyBytes = (bytes: number): ArchiveTooLarge =>
  new ArchiveTooLarge('bytes', `unpacks to more than ${bytes} bytes`);

const damaged = (cause: unknown): ArchiveFault =>
  new ArchiveFault('is damaged, or not made as archives are', { cause });

/** A taker that keeps the bytes: of small files alone. */
export function gathering(): TarTaker<Buffer> {
  const chunks: Buffer[] = [];
  return { data: (chunk) => void chunks.push(chunk), end: () => Buffer.concat(chunks) };
}
