// Secrets of Live sources as Kubernetes mounts them: a folder for each source, a file for each key, read when they are needed.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SecretOf } from './live-source.ts';

const keys = ['username', 'password', 'ca.crt'] as const;

/** @param folder absolute; one that is not there is a folder of no Secrets */
export const mountedSecrets =
  (folder: string): SecretOf =>
  async (source) => {
    const found = await Promise.all(
      keys.map(async (key) => {
        const value = await readFile(join(folder, source, key)).catch(() => undefined);
        return value === undefined ? [] : [[key, value] as const];
      }),
    );
    return new Map(found.flat());
  };
