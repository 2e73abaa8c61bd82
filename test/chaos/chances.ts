// Moments by chance that can be had again.
import { createHash } from 'node:crypto';

/** Numbers in [0, 1), the same for the same seed. */
export function chances(seed: number): () => number {
  let turn = 0;
  return () => createHash('sha256').update(`${seed} ${turn++}`).digest().readUInt32BE() / 2 ** 32;
}
