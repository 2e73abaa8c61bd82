// What is new in a file of lines, against one that its reader has: a source that changed one file changed few of its lines.
import { Slices } from './slices.ts';

/** Both files are held in memory: longer ones are copied whole. In bytes. */
export const longestForDelta = 32 * 1024 * 1024;

/** A delta that cannot be applied to this file. */
export class DeltaBroken extends Error {}

const newline = 0x0a;

/**
 * A line `=from count` stands for so many lines of `base` from that one on, `+` and a line for that line.
 * @param target ends with a newline
 */
export async function lineDelta(base: Buffer, target: Buffer): Promise<Buffer> {
  const slices = new Slices();
  const known = new Map<string, number>();
  for (const [number, line] of linesOf(base).entries()) {
    known.set(line.toString('latin1'), number);
    if (slices.over) await slices.turn();
  }
  const pieces: Buffer[] = [];
  let from = 0;
  let count = 0;
  const endRun = (): void => {
    if (count > 0) pieces.push(Buffer.from(`=${from} ${count}\n`));
    count = 0;
  };
  for (const line of linesOf(target)) {
    const at = known.get(line.toString('latin1'));
    if (at !== undefined && count > 0 && at === from + count) {
      count++;
    } else if (at !== undefined) {
      endRun();
      [from, count] = [at, 1];
    } else {
      endRun();
      pieces.push(Buffer.from('+'), line);
    }
    if (slices.over) await slices.turn();
  }
  endRun();
  return Buffer.concat(pieces);
}

/** @param longest in bytes @throws DeltaBroken when it names lines that are not there, or makes more than so many bytes */
export function applyLineDelta(base: Buffer, delta: Buffer, longest: number): Buffer {
  const lines = linesOf(base);
  const pieces: Buffer[] = [];
  let bytes = 0;
  const take = (piece: Buffer): void => {
    bytes += piece.length;
    if (bytes > longest) throw new DeltaBroken('it makes more than the file has');
    pieces.push(piece);
  };
  for (const line of linesOf(delta)) {
    if (line[0] === 0x2b) {
      take(line.subarray(1));
      continue;
    }
    const [, from, count] = /^=(\d{1,9}) (\d{1,9})\n$/.exec(line.toString('latin1')) ?? [];
    if (from === undefined || Number(from) + Number(count) > lines.length) {
      throw new DeltaBroken('it names lines that are not there');
    }
    for (const piece of lines.slice(Number(from), Number(from) + Number(count))) take(piece);
  }
  return Buffer.concat(pieces);
}

/** With their newlines; the last one may have none. */
function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(newline, from);
    const next = end === -1 ? bytes.length : end + 1;
    lines.push(bytes.subarray(from, next));
    from = next;
  }
  return lines;
}
