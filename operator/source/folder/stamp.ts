// What the file system tells of a file without reading it, and when that is not enough to know its bytes.
import type { BigIntStats } from 'node:fs';

/** A file that stays the same keeps its stamp; one that is written gets another, unless it was written just before. */
export interface Stamp {
  ino: bigint;
  size: bigint;
  mtimeNs: bigint;
  ctimeNs: bigint;
}

export const stampOf = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats): Stamp => ({ ino, size, mtimeNs, ctimeNs });

/** The stamp as text: equal texts, equal stamps. The device is not part of it, since a remount may change it. */
export const stampText = ({ ino, size, mtimeNs, ctimeNs }: Stamp): string => `${ino}-${size}-${mtimeNs}-${ctimeNs}`;

/** Clocks of file systems tick as slowly as this, in nanoseconds. */
const slowestTick = 2_000_000_000n;

/**
 * Whether a later write might leave the stamp as it is: the file was written less than a tick before it was looked at.
 * @param lookedAt milliseconds since the epoch
 */
export function isRacy({ mtimeNs, ctimeNs }: Stamp, lookedAt: number): boolean {
  const since = BigInt(Math.floor(lookedAt)) * 1_000_000n - slowestTick;
  return mtimeNs > since || ctimeNs > since;
}
