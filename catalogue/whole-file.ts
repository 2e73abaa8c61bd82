// Reads a small file of the volume whole, opened anew each time: a kept descriptor would show the file that was renamed over.
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { CatalogueUnreadable, unreadable } from './unreadable.ts';

/**
 * @param root absolute path of the volume
 * @param longest in bytes: of a longer one nothing is read
 * @throws CatalogueUnreadable
 */
export async function readWhole(root: string, path: string, longest: number): Promise<string> {
  try {
    const handle = await open(join(root, path), 'r');
    try {
      const { size } = await handle.stat();
      if (size > longest) {
        throw new CatalogueUnreadable('Corrupt', path, `has ${size} bytes, at most ${longest} are read`);
      }
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw unreadable(path, error);
  }
}
