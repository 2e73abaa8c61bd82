// The bytes of one listed file, exactly as listed or not at all.
import { constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises';
import { changedMeanwhile, folderFault, isGone } from './fault.ts';
import type { ListedFile } from './list.ts';
import { stampOf, stampText } from './stamp.ts';

/** A link at the end of the path is not followed, and a pipe is not waited for. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * @param shown the file as the user knows it
 * @throws UpstreamFault UpstreamInvalid when it is not the file that was listed, AccessDenied, Unreachable
 */
export async function readListed({ file, stamp }: ListedFile, shown: string): Promise<Buffer> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, flags);
    if ((await placeOf(handle, file)) !== file) throw changedMeanwhile(shown);
    await expectSame(handle, stampText(stamp), shown);
    const bytes = Buffer.alloc(Number(stamp.size));
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, filled);
      if (bytesRead === 0) throw changedMeanwhile(shown);
      filled += bytesRead;
    }
    await expectSame(handle, stampText(stamp), shown);
    return bytes;
  } catch (error) {
    if (isGone(error)) throw changedMeanwhile(shown);
    throw error instanceof Error && 'code' in error ? folderFault(error, shown) : error;
  } finally {
    await handle?.close();
  }
}

/**
 * Where an open file really stands: elsewhere when a folder on its path has become a link since it was listed, or was one
 * for the moment of the listing. Only Linux tells of the open file itself.
 */
const placeOf = (handle: FileHandle, file: string): Promise<string> =>
  process.platform === 'linux' ? readlink(`/proc/self/fd/${handle.fd}`) : realpath(file);

async function expectSame(handle: FileHandle, stamp: string, shown: string): Promise<void> {
  const stats = await handle.stat({ bigint: true });
  if (!stats.isFile() || stampText(stampOf(stats)) !== stamp) throw changedMeanwhile(shown);
}
