// The two keys of a file: the form that listings carry, and the raw path. Where two files want one key, the first wins.
import { encodePath } from '../../catalogue/address.ts';
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
export function artifactFile(row: ArtifactRow, path: string): FileRow | undefined {
  return row.files.find((file) => encodePath(file.path) === path) ?? row.files.find((file) => file.path === path);
}
