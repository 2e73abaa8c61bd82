// One zlib stream out of a row of them: a small one at once, a large one piece by piece off the main thread.
import { createInflate, type InflateRaw, inflateSync } from 'node:zlib';
import type { ByteStream } from './byte-stream.ts';

/** What was to be unpacked is no zlib stream, or not of the stated size, or ends too early. */
export class InflateDamaged extends Error {}

/** Up to this size inflating takes well under two milliseconds. */
const atOnce = 256 * 1024;
const packedAtOnce = 64 * 1024;

/** Told the packed bytes that were used up, in order. */
export type Consumed = (bytes: Buffer) => void;

/**
 * The whole result.
 * @param size the stated size, bounded by the caller
 * @throws InflateDamaged
 */
export async function inflateWhole(stream: ByteStream, size: number, consumed: Consumed): Promise<Buffer> {
  if (size <= atOnce) {
    const result = await inflateSmall(stream, size, consumed);
    if (result !== undefined) return result;
  }
  const pieces: Buffer[] = [];
  await inflateThrough(stream, size, consumed, (piece) => void pieces.push(piece), Math.max(size + 1, 64));
  return joined(pieces, size);
}

/** The pieces as one: without a copy where they lie in one row already, since room was made for the whole. */
function joined(pieces: readonly Buffer[], size: number): Buffer {
  const [first] = pieces;
  if (first === undefined) return Buffer.alloc(0);
  let next = first.byteOffset;
  for (const piece of pieces) {
    if (piece.buffer !== first.buffer || piece.byteOffset !== next) return Buffer.concat(pieces, size);
    next += piece.length;
  }
  return Buffer.from(first.buffer, first.byteOffset, size);
}

/** @returns undefined for a stream longer than packers make them, which has to be taken piece by piece */
async function inflateSmall(stream: ByteStream, size: number, consumed: Consumed): Promise<Buffer | undefined> {
  const longest = size + (size >> 3) + 64;
  if (stream.held.length < longest) await stream.fill(longest);
  try {
    const options = { info: true, maxOutputLength: Math.max(size, 1), chunkSize: Math.max(size + 1, 64) } as const;
    const { buffer, engine } = inflateSync(stream.held.subarray(0, longest), options) as unknown as {
      buffer: Buffer;
      engine: InflateRaw;
    };
    if (buffer.length !== size) throw new InflateDamaged();
    consumed(stream.take(engine.bytesWritten));
    return buffer;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'Z_BUF_ERROR') return undefined;
    throw new InflateDamaged();
  }
}

/** The result in pieces of at most `pieceOut` bytes, which are not kept. @throws InflateDamaged; whatever `output` throws */
export async function inflateInPieces(
  stream: ByteStream,
  size: number,
  consumed: Consumed,
  output: (piece: Buffer) => Promise<void>,
): Promise<void> {
  const pieces: Buffer[] = [];
  const giveOut = async () => {
    for (const piece of pieces.splice(0)) await output(piece);
  };
  await inflateThrough(stream, size, consumed, (piece) => void pieces.push(piece), 256 * 1024, giveOut);
  await giveOut();
}

/**
 * The result in pieces, which are not kept.
 * @param pieceOut bytes that room is made for at a time
 * @param pause awaited whenever some of the packed bytes have been unpacked, which are few enough to wait in memory
 * @throws InflateDamaged; whatever `output` throws
 */
export async function inflateThrough(
  stream: ByteStream,
  size: number,
  consumed: Consumed,
  output: (piece: Buffer) => void,
  pieceOut = 256 * 1024,
  pause?: () => Promise<void>,
): Promise<void> {
  const pieceIn = pause === undefined ? packedAtOnce : packedAtOnce / 8;
  const inflate = createInflate({ chunkSize: pieceOut });
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  const fail = (error: unknown): void => {
    failed.reject(error);
    inflate.destroy();
  };
  let produced = 0;
  inflate.on('error', () => fail(new InflateDamaged()));
  inflate.on('data', (piece: Buffer) => {
    produced += piece.length;
    try {
      if (produced > size) throw new InflateDamaged();
      output(piece);
    } catch (error) {
      fail(error);
    }
  });
  try {
    for (let offered = 0; ; ) {
      if (stream.held.length < pieceIn) await stream.fill(pieceIn);
      const piece = stream.held.subarray(0, pieceIn);
      if (piece.length === 0) throw new InflateDamaged();
      const written = Promise.withResolvers<void>();
      inflate.write(piece, () => written.resolve());
      await Promise.race([failed.promise, written.promise]);
      const used = inflate.bytesWritten - offered;
      consumed(stream.take(used));
      offered += used;
      if (used < piece.length) break;
      await pause?.();
    }
  } finally {
    inflate.destroy();
  }
  if (produced !== size) throw new InflateDamaged();
}
