// The volume's file operations with a hook before every step that changes the disk: a test counts, fails or dies there.

import type { FileHandle } from 'node:fs/promises';
import * as nodeFiles from 'node:fs/promises';
import type { Files } from '../../operator/publish/volume.ts';

export interface Step {
  /** `create`, `write`, `half` (half of a write is on the disk), `datasync`, `sync`, `rename`, `mkdir`, `remove`. */
  action: string;
  /** The file it happens to; a rename's target. */
  path: string;
}

// As they were when this was loaded: what stands here may be put in the place of Node's own.
const files = { ...nodeFiles };

/** @param before called before each step; what it throws, the step throws */
export function filesWithSteps(before: (step: Step) => void | Promise<void>): Files {
  return {
    ...files,
    async mkdir(path: string, options: object) {
      await before({ action: 'mkdir', path });
      return await files.mkdir(path, options);
    },
    async open(path: string, flags: string, mode?: number) {
      if (flags.startsWith('w')) await before({ action: 'create', path });
      return withSteps(await files.open(path, flags, mode), path, before);
    },
    async rename(from: string, to: string) {
      await before({ action: 'rename', path: to });
      await files.rename(from, to);
    },
    async rm(path: string, options: object) {
      await before({ action: 'remove', path });
      await files.rm(path, options);
    },
  } as Files;
}

function withSteps(handle: FileHandle, path: string, before: (step: Step) => void | Promise<void>): FileHandle {
  const write = async (bytes: Uint8Array, offset: number, length: number, position: number) => {
    await before({ action: 'write', path });
    if (length > 1) {
      await handle.write(bytes, offset, length >> 1, position);
      await before({ action: 'half', path });
    }
    return await handle.write(bytes, offset, length, position);
  };
  return new Proxy(handle, {
    get(target, property) {
      if (property === 'write') return write;
      if (property === 'datasync' || property === 'sync') {
        return async () => {
          await before({ action: property, path });
          await target[property]();
        };
      }
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
