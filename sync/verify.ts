// Whether a segment and its index are what they say: every blob has the bytes of its digest.
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { digestOf } from '../catalogue/digest.ts';
import { SegmentIndex } from '../catalogue/segment-index.ts';
import { Slices } from '../catalogue/slices.ts';
import type { SegmentRef } from '../catalogue/source-catalogue.ts';
import { CatalogueUnreadable } from '../catalogue/unreadable.ts';

const chunkBytes = 1024 * 1024;

/** `sha256:<hex>` of a file, or of its first so many bytes. */
export async function digestOfFile(path: string): Promise<string> {
  const handle = await open(path, 'r');
  try {
    const hash = createHash('sha256');
    for await (const chunk of handle.createReadStream({ highWaterMark: chunkBytes, autoClose: false }))
      hash.update(chunk);
    return `sha256:${hash.digest('hex')}`;
  } finally {
    await handle.close();
  }
}

/** @param path absolute, of the segment, whose own digest has been checked */
export async function indexHolds(path: string, ref: SegmentRef, records: Buffer): Promise<boolean> {
  let index: SegmentIndex;
  try {
    index = new SegmentIndex(path, records, ref);
  } catch (error) {
    if (error instanceof CatalogueUnreadable) return false;
    throw error;
  }
  const slices = new Slices();
  const handle = await open(path, 'r');
  try {
    let bytes = 0;
    for (const [digest, { offset, length }] of index.entries()) {
      // Blobs stand one after the other: an index that names more than there is would make this side read without end.
      bytes += length;
      if (bytes > ref.size) return false;
      const blob = Buffer.allocUnsafe(length);
      const { bytesRead } = await handle.read(blob, 0, length, offset);
      if (bytesRead !== length || digestOf(blob) !== digest) return false;
      if (slices.over) await slices.turn();
    }
    return true;
  } finally {
    await handle.close();
  }
}
