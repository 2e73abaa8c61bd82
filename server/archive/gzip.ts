// Gzip without compression, for the same reason as zips are stored: what a compressor gives depends on its version. The size
// is known before anything is read (RFC 1951, 3.2.4; RFC 1952).
import { crc32 } from 'node:zlib';

/** Nothing of whoever made it: no name, no time, an unknown system. */
const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
const lastBlock = Buffer.from([1, 0, 0, 0xff, 0xff]);
const blockHeaderBytes = 5;
const trailerBytes = 8;
const longestBlock = 0xffff;

/** @param pieces the length of each piece */
export function gzipSize(pieces: Iterable<number>): number {
  let bytes = header.length + lastBlock.length + trailerBytes;
  for (const length of pieces) bytes += length + blockHeaderBytes * Math.ceil(length / longestBlock);
  return bytes;
}

export async function* gzip(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [crc, size] = [0, 0];
  yield header;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += longestBlock) {
      const block = piece.subarray(at, at + longestBlock);
      crc = crc32(block, crc);
      size += block.length;
      yield blockHeader(block.length);
      yield block;
    }
  }
  yield lastBlock;
  const trailer = Buffer.alloc(trailerBytes);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(size % 2 ** 32, 4);
  yield trailer;
}

function blockHeader(length: number): Buffer {
  const bytes = Buffer.alloc(blockHeaderBytes);
  bytes.writeUInt16LE(length, 1);
  bytes.writeUInt16LE(~length & 0xffff, 3);
  return bytes;
}
