// The two keys of a file: the form that listings carry, and the raw path. Where two files want one key, the first wins.
import { encodePath, pathOfListed } from '../../catalogue/address.ts';
import { byCodePoint } from '../../catalogue/names.ts';
import type { Slices } from '../../catalogue/slices.ts';
import type { ArtifactRow, FileRow } from '../../catalogue/source-catalogue.ts';

/** A table of files by both keys, made in slices. */
export async function keyedFiles<T>(
  files: readonly T[],
  pathOf: (file: T) => string,
  slices: Slices,
): Promise<Map<string, T>> {
  const table = new Map<string, T>();
  const unlike: T[] = [];
  for (const file of files) {
    const path = pathOf(file);
    const listed = encodePath(path);
    if (!table.has(listed)) table.set(listed, file);
    if (listed !== path) unlike.push(file);
    if (slices.over) await slices.turn();
  }
  for (const file of unlike) {
    const path = pathOf(file);
    if (!table.has(path)) table.set(path, file);
  }
  return table;
}

/** The file of an artifact at a requested path: the listed form first, then the raw one, as exact strings. */
export function artifactFile({ files }: ArtifactRow, requested: string): FileRow | undefined {
  const path = pathOfListed(requested);
  return (path === undefined ? undefined : fileAt(files, path)) ?? fileAt(files, requested);
}

/** @param files sorted by code point of the path, as a catalogue has them */
function fileAt(files: readonly FileRow[], path: string): FileRow | undefined {
  let low = 0;
  let high = files.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (byCodePoint(files[middle]!.path, path) < 0) low = middle + 1;
    else high = middle;
  }
  return files[low]?.path === path ? files[low] : undefined;
}
