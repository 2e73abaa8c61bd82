// In which order the rows of an artifact's versions stand: the newest one first, which is what its address serves.
import type { Slices } from '../../catalogue/slices.ts';
import { compareRead, readVersion } from '../../catalogue/versions.ts';
import { sorted } from '../source/sorted.ts';

/** The newest is the highest SemVer, or the last by name where none is one. The others follow it from new to old. */
export async function newestFirst<Item>(
  items: readonly Item[],
  versionOf: (item: Item) => string,
  slices: Slices,
): Promise<Item[]> {
  if (items.length < 2) return [...items];
  const read = [];
  for (const item of items) {
    read.push({ item, version: readVersion(versionOf(item)) });
    if (slices.over) await slices.turn();
  }
  const ordered = await sorted(read, (a, b) => compareRead(b.version, a.version), slices);
  const newest = ordered.findIndex(({ version }) => version.semver !== undefined);
  if (newest > 0) ordered.unshift(...ordered.splice(newest, 1));
  return ordered.map(({ item }) => item);
}
