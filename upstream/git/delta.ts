// Git's deltas (gitformat-pack): copies from a base and inserted bytes.
import type { Pace } from '../pace.ts';
import type { ObjectType } from './objects.ts';

/** A delta that does not fit its base or itself. */
export class DeltaDamaged extends Error {}

/** Sizes that a delta states, of its base and its result, and where its instructions begin. */
export interface DeltaHeader {
  baseSize: number;
  resultSize: number;
  offset: number;
}

/** @throws DeltaDamaged */
export function deltaHeader(delta: Buffer): DeltaHeader {
  const [baseSize, second] = sizeAt(delta, 0);
  const [resultSize, offset] = sizeAt(delta, second);
  return { baseSize, resultSize, offset };
}

/**
 * The result of a delta. The caller has bounded `header.resultSize`.
 * @throws DeltaDamaged when it reaches outside its base or does not give what it states
 */
export async function applyDelta(base: Buffer, delta: Buffer, header: DeltaHeader, pace: Pace): Promise<Buffer> {
  if (base.length !== header.baseSize) throw new DeltaDamaged();
  const result = Buffer.allocUnsafe(header.resultSize);
  const instruction: Instruction = { copies: false, from: 0, length: 0 };
  let written = 0;
  for (let step = 1, at = header.offset; at < delta.length; step++) {
    if (step % 4096 === 0) await pace();
    at = instructionAt(delta, at, instruction);
    const { copies, from, length } = instruction;
    const source = copies ? base : delta;
    if (from + length > source.length || written + length > result.length) throw new DeltaDamaged();
    source.copy(result, written, from, from + length);
    written += length;
  }
  if (written !== result.length) throw new DeltaDamaged();
  return result;
}

/** What a delta builds on, where that is too large to be held. */
export interface DeltaBase {
  type: ObjectType;
  size: number;
  /** These bytes, at most `pieceSize` of them, until the next call. */
  read(from: number, length: number): Promise<Buffer>;
}

/** Bytes that are read or given at once. */
export const pieceSize = 256 * 1024;

/**
 * The result of a delta in pieces of about `pieceSize`, in bounded memory.
 * @throws DeltaDamaged like `applyDelta`
 */
export async function* applyDeltaInPieces(
  base: DeltaBase,
  delta: Buffer,
  header: DeltaHeader,
  pace: Pace,
): AsyncGenerator<Buffer> {
  if (base.size !== header.baseSize) throw new DeltaDamaged();
  const instruction: Instruction = { copies: false, from: 0, length: 0 };
  let piece = Buffer.allocUnsafe(pieceSize);
  let filled = 0;
  let left = header.resultSize;
  for (let at = header.offset; at < delta.length; ) {
    at = instructionAt(delta, at, instruction);
    let { from, length } = instruction;
    const { copies } = instruction;
    if (from + length > (copies ? base.size : delta.length) || length > left) throw new DeltaDamaged();
    left -= length;
    while (length > 0) {
      await pace();
      const bytes = Math.min(length, pieceSize - filled);
      const source = copies ? await base.read(from, bytes) : delta.subarray(from, from + bytes);
      source.copy(piece, filled);
      from += bytes;
      length -= bytes;
      filled += bytes;
      if (filled < pieceSize) continue;
      yield piece;
      piece = Buffer.allocUnsafe(pieceSize);
      filled = 0;
    }
  }
  if (left !== 0) throw new DeltaDamaged();
  yield piece.subarray(0, filled);
}

/** Bytes that are copied, from the base or, inserted, from the delta itself. */
interface Instruction {
  copies: boolean;
  from: number;
  length: number;
}

/** Reads one instruction into `instruction`, which is used again since there are millions. @returns where the next begins */
function instructionAt(delta: Buffer, start: number, instruction: Instruction): number {
  let at = start;
  const first = delta[at++]!;
  instruction.copies = (first & 0x80) !== 0;
  if (!instruction.copies) {
    if (first === 0) throw new DeltaDamaged();
    instruction.from = at;
    instruction.length = first;
    return at + first;
  }
  let from = 0;
  let size = 0;
  for (let bit = 0; bit < 4; bit++) if ((first & (1 << bit)) !== 0) from += byteAt(delta, at++) * 2 ** (8 * bit);
  for (let bit = 0; bit < 3; bit++) if ((first & (0x10 << bit)) !== 0) size += byteAt(delta, at++) * 2 ** (8 * bit);
  instruction.from = from;
  instruction.length = size === 0 ? 0x10000 : size;
  return at;
}

function byteAt(bytes: Buffer, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new DeltaDamaged();
  return byte;
}

function sizeAt(delta: Buffer, start: number): [size: number, next: number] {
  let size = 0;
  for (let at = start; at < start + 7; at++) {
    const byte = byteAt(delta, at);
    size += (byte & 0x7f) * 2 ** (7 * (at - start));
    if ((byte & 0x80) === 0) return [size, at + 1];
  }
  throw new DeltaDamaged();
}
