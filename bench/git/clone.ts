// What Lyceum is measured against: git's own shallow clone.
import { rm } from 'node:fs/promises';
import { git } from '../../test/fixtures/git-repository.ts';

/**
 * `git clone --depth 1` into a folder that is not there yet and is removed afterwards.
 * @returns milliseconds
 */
export async function shallowClone(url: string, folder: string): Promise<number> {
  try {
    const began = performance.now();
    await git(['clone', '--quiet', '--depth', '1', url, folder]);
    return performance.now() - began;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
