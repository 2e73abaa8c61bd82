// A layer on the disk, unpacked while it streams, by what it is rather than by what it is called.
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { constants, createGunzip, createZstdDecompress } from 'node:zlib';

/** Of the window that a zstd stream may want in memory, as a power of two: 32 MiB. */
const largestWindow = 25;
/** In the header of a tar, where it says so of itself. */
const tarMagic = { at: 257, text: 'ustar' };

export async function unpack(path: string): Promise<AsyncIterable<Buffer>> {
  const magic = await firstBytes(path);
  const packed = createReadStream(path);
  if (magic.readUInt16BE(0) === 0x1f8b) return pipeline(packed, createGunzip(), () => {});
  if (magic.readUInt32BE(0) !== 0x28b52ffd) return packed;
  const params = { [constants.ZSTD_d_windowLogMax]: largestWindow };
  return pipeline(packed, createZstdDecompress({ params }), () => {});
}

/** Whether what it unpacks to begins as a tar does. */
export async function isTar(path: string): Promise<boolean> {
  const { at, text } = tarMagic;
  let beginning = Buffer.alloc(0);
  try {
    for await (const chunk of await unpack(path)) {
      beginning = Buffer.concat([beginning, chunk]);
      if (beginning.length >= at + text.length) break;
    }
  } catch {
    return false;
  }
  return beginning.toString('latin1', at, at + text.length) === text;
}

/** Four, filled up with zeros where there are fewer. */
async function firstBytes(path: string): Promise<Buffer> {
  await using file = await open(path);
  return (await file.read(Buffer.alloc(4), 0, 4, 0)).buffer;
}
