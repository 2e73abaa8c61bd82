// The second address: where an artifact stands when another one holds the address of its name.
import { createHash } from 'node:crypto';
import { slug } from './names.ts';

/**
 * `<source>--<folder>/<name>`, relative to the library. `--` can stand in no skill's name, so it meets no other address.
 * @param folder the artifact's own folder, below `subdirectory`
 * @param taken whether the source already uses an address: then, or where the folder gives no slug, 8 hex digits of the
 *   SHA-256 of the folder's path are added
 */
export function qualifiedAddress(
  source: string,
  folder: string,
  name: string,
  taken: (address: string) => boolean,
): string {
  const words = slug(folder);
  const plain = `${source}--${words}/${name}`;
  if (words !== '' && !taken(plain)) return plain;
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 8);
  return `${source}--${words === '' ? '' : `${words}-`}${hash}/${name}`;
}
