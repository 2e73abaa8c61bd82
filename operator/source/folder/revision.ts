// What a folder's state is called: one name for all that was listed, which moves when any of it does.
import { createHash } from 'node:crypto';
import { byCodePoint } from '../../../catalogue/names.ts';
import type { Slices } from '../../../catalogue/slices.ts';
import { sorted } from '../sorted.ts';
import type { ListedFile } from './list.ts';

/** The digest of all paths, links and tokens, in the order of code points. */
export async function revisionOf(
  files: readonly Pick<ListedFile, 'path' | 'link'>[],
  tokens: ReadonlyMap<string, string>,
  slices: Slices,
): Promise<string> {
  const lines: string[] = [];
  for (const { path, link } of files) {
    lines.push(`${JSON.stringify([path, link ?? null, tokens.get(path) ?? null])}\n`);
    if (slices.over) await slices.turn();
  }
  const hash = createHash('sha256');
  for (const line of await sorted(lines, byCodePoint, slices)) {
    hash.update(line);
    if (slices.over) await slices.turn();
  }
  return `sha256:${hash.digest('hex')}`;
}
