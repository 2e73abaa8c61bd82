// Git's deltas (gitformat-pack): copies from a base and inserted bytes.
import type { Pace } from '../pace.ts';

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
  let read = header.offset;
  let written = 0;
  for (let step = 1; read < delta.length; step++) {
    if (step % 4096 === 0) await pace();
    const instruction = delta[read++]!;
    let length: number;
    if ((instruction & 0x80) !== 0) {
      let from = 0;
      let size = 0;
      for (let bit = 0; bit < 4; bit++) {
        if ((instruction & (1 << bit)) !== 0) from += byteAt(delta, read++) * 2 ** (8 * bit);
      }
      for (let bit = 0; bit < 3; bit++) {
        if ((instruction & (0x10 << bit)) !== 0) size += byteAt(delta, read++) * 2 ** (8 * bit);
      }
      length = size === 0 ? 0x10000 : size;
      if (from + length > base.length || written + length > result.length) throw new DeltaDamaged();
      base.copy(result, written, from, from + length);
    } else {
      length = instruction;
      if (length === 0 || read + length > delta.length || written + length > result.length) throw new DeltaDamaged();
      delta.copy(result, written, read, read + length);
      read += length;
    }
    written += length;
  }
  if (written !== result.length) throw new DeltaDamaged();
  return result;
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
