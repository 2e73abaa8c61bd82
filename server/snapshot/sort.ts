// Sorting in slices: no request waits behind a catalogue that is being loaded.
import type { Slices } from '../../catalogue/slices.ts';

const run = 1024;

/** A stable sort that yields between steps. Gives a new array; what is in order already costs one pass. */
export async function sortInSlices<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  slices: Slices,
): Promise<T[]> {
  if (items.length <= run) return items.toSorted(compare);
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += run) {
    runs.push(items.slice(at, at + run).sort(compare));
    if (slices.over) await slices.turn();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const left = runs[at]!;
      const right = runs[at + 1];
      merged.push(right === undefined ? left : await merge(left, right, compare, slices));
    }
    runs = merged;
  }
  return runs[0]!;
}

async function merge<T>(left: T[], right: T[], compare: (a: T, b: T) => number, slices: Slices): Promise<T[]> {
  const merged: T[] = [];
  let l = 0;
  let r = 0;
  while (l < left.length && r < right.length) {
    merged.push(compare(left[l]!, right[r]!) <= 0 ? left[l++]! : right[r++]!);
    if (merged.length % run === 0) if (slices.over) await slices.turn();
  }
  while (l < left.length) merged.push(left[l++]!);
  while (r < right.length) merged.push(right[r++]!);
  return merged;
}
