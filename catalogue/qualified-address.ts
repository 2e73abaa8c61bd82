// Where an artifact stands in a library, and its second address: where it stands when another one holds that of its name.
import { createHash } from 'node:crypto';
import { slug } from './names.ts';

/** What stands between a library's name and an artifact's address. */
const places: Readonly<Record<string, string>> = { skill: '/', prompt: '_', rule: '/_rules/', profile: '/_profiles/' };

/**
 * What an artifact is asked for by in a whole gateway: the address without its scheme, of a prompt its name.
 * @param address relative to the library and to the kind's place there
 */
export const addressInLibrary = (library: string, kind: string, address: string): string =>
  `${library}${places[kind] ?? '/'}${address}`;

/** `/` in the addresses of skills, rules and profiles, `_` in the names of prompts. */
export type Separator = '/' | '_';

export const separatorOf = (kind: string): Separator => (kind === 'prompt' ? '_' : '/');

/**
 * `<source>--<folder>/<name>`, relative to the library. `--` can stand in no name of a skill, rule or profile, so it
 * meets none of their addresses; prompts are called as their authors like.
 * @param folder the artifact's own folder, below `subdirectory`, or the path of its file without extensions
 * @param taken whether an address is used already: then, or where the folder gives no slug, 8 hex digits of the SHA-256
 *   of the folder's path are added, and all of them where that is used too
 */
export function qualifiedAddress(
  source: string,
  folder: string,
  name: string,
  taken: (address: string) => boolean,
  separator: Separator,
): string {
  const words = slug(folder);
  const plain = `${source}--${words}${separator}${name}`;
  if (words !== '' && !taken(plain)) return plain;
  const hash = createHash('sha256').update(folder).digest('hex');
  const hashed = (digits: string): string =>
    `${source}--${words === '' ? '' : `${words}-`}${digits}${separator}${name}`;
  const short = hashed(hash.slice(0, 8));
  return taken(short) ? hashed(hash) : short;
}
