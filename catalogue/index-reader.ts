// Reads a gateway's index.json, opened anew each time: a kept descriptor would show the file that was renamed over.
import { type Index, indexDigest, indexFormat, indexSchema } from './index-file.ts';
import { indexPath } from './layout.ts';
import { CatalogueUnreadable, checkFormat } from './unreadable.ts';
import { readWhole } from './whole-file.ts';

/** The largest index.json that is read, in bytes. */
export const longestIndex = 64 * 1024 * 1024;

/**
 * A gateway's index, whole and checked against its own digest.
 * @param root absolute path of the volume
 * @throws CatalogueUnreadable
 */
export async function readIndex(root: string, namespace: string, name: string): Promise<Index> {
  const path = indexPath(namespace, name);
  return parseIndex(path, await readWhole(root, path, longestIndex));
}

/**
 * The same of a text that was read already.
 * @param path for errors
 * @throws CatalogueUnreadable
 */
export function parseIndex(path: string, text: string): Index {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new CatalogueUnreadable('Corrupt', path, 'is not JSON: let the operator publish it again');
  }
  if (typeof content !== 'object' || content === null) {
    throw new CatalogueUnreadable('Corrupt', path, 'is no JSON object: let the operator publish it again');
  }
  checkFormat(path, 'format' in content ? content.format : undefined, indexFormat);
  const parsed = indexSchema.safeParse(content);
  if (!parsed.success) {
    const where = parsed.error.issues[0]?.path.join('.') || 'the whole';
    throw new CatalogueUnreadable('Corrupt', path, `does not have the shape of its format at ${where}`);
  }
  if (indexDigest(content) !== parsed.data.digest) {
    throw new CatalogueUnreadable('Corrupt', path, 'does not match its own digest: let the operator publish it again');
  }
  return parsed.data;
}
