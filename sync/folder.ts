// The folder that a catalogue is copied to: files appear whole, synced and at once. It has one writer.
import * as nodeFiles from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../catalogue/layout.ts';
import { SyncFault } from './fault.ts';

/** The file operations that it is made of: Node's own, or a stand-in that fails or dies where a test wants it. */
export type Files = Pick<typeof nodeFiles, 'mkdir' | 'open' | 'readdir' | 'readFile' | 'rename' | 'rm' | 'stat'>;

export interface FolderFile {
  /** Relative to the folder. */
  path: string;
  size: number;
}

const remedies: Record<string, string> = {
  ENOSPC: 'the disk is full: give the folder more room',
  EDQUOT: 'the disk is full: give the folder more room',
  EACCES: 'it cannot be written: mount it with write access for the user of this container',
  EROFS: 'it cannot be written: mount it with write access for the user of this container',
};

export class Folder {
  /** Absolute. */
  readonly root: string;
  readonly #files: Files;

  constructor(root: string, files: Files = nodeFiles) {
    this.root = root;
    this.#files = files;
  }

  absolute(path: string): string {
    return join(this.root, path);
  }

  /** Where a file grows until it is whole: what is there after a kill is gone on with. */
  growing(name: string): string {
    return join(temporaryFolder, name);
  }

  /** Undefined where there is no file. @throws SyncFault StorageFailed */
  async size(path: string): Promise<number | undefined> {
    try {
      return (await this.#files.stat(this.absolute(path))).size;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw storageFault('read', path, error);
    }
  }

  /** Undefined where there is no file. @throws SyncFault StorageFailed */
  async read(path: string): Promise<Buffer | undefined> {
    try {
      return await this.#files.readFile(this.absolute(path));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw storageFault('read', path, error);
    }
  }

  /** @throws SyncFault StorageFailed; whatever the pieces throw */
  async append(path: string, pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    await this.#made(dirname(path));
    const there = await this.size(path);
    const flags = there === undefined ? 'wx' : 'r+';
    const handle = await this.#storing('write', path, () => this.#files.open(this.absolute(path), flags, 0o644));
    try {
      let end = there ?? 0;
      for await (const piece of pieces) {
        for (let at = 0; at < piece.length; ) {
          const write = () => handle.write(piece, at, piece.length - at, end);
          const { bytesWritten } = await this.#storing('write', path, write);
          if (bytesWritten === 0) throw new SyncFault('StorageFailed', `cannot write ${path}: the disk takes no more`);
          at += bytesWritten;
          end += bytesWritten;
        }
      }
      await this.#storing('write', path, () => handle.datasync());
    } finally {
      await handle.close();
    }
  }

  /** Renames a whole file to its place and syncs what names it. @throws SyncFault StorageFailed */
  async settle(growing: string, path: string): Promise<void> {
    await this.#made(dirname(path));
    await this.#storing('write', path, () => this.#files.rename(this.absolute(growing), this.absolute(path)));
    await this.#synced(dirname(path));
  }

  /** @throws SyncFault StorageFailed */
  async write(path: string, bytes: Uint8Array): Promise<void> {
    const growing = this.growing('writing');
    await this.remove(growing);
    await this.append(growing, [bytes]);
    await this.settle(growing, path);
  }

  /** What is not there is fine. @throws SyncFault StorageFailed */
  async remove(path: string): Promise<void> {
    await this.#storing('remove', path, () => this.#files.rm(this.absolute(path), { recursive: true, force: true }));
  }

  /** Every file below it. @throws SyncFault StorageFailed */
  async list(): Promise<FolderFile[]> {
    const found: FolderFile[] = [];
    const walk = async (path: string): Promise<void> => {
      const entries = await this.#storing('list', path, () =>
        this.#files.readdir(this.absolute(path), { withFileTypes: true }),
      );
      for (const entry of entries) {
        const below = path === '' ? entry.name : `${path}/${entry.name}`;
        if (entry.isDirectory()) await walk(below);
        else found.push({ path: below, size: (await this.size(below)) ?? 0 });
      }
    };
    if ((await this.size('')) !== undefined) await walk('');
    return found;
  }

  async #made(folder: string): Promise<void> {
    await this.#storing('create', folder, () => this.#files.mkdir(this.absolute(folder), { recursive: true }));
  }

  async #synced(folder: string): Promise<void> {
    const handle = await this.#storing('write', folder, () => this.#files.open(this.absolute(folder), 'r'));
    try {
      await this.#storing('write', folder, () => handle.sync());
    } finally {
      await handle.close();
    }
  }

  async #storing<T>(doing: string, path: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      throw storageFault(doing, path, error);
    }
  }
}

function storageFault(doing: string, path: string, error: unknown): unknown {
  const errno = (error as NodeJS.ErrnoException).code;
  if (errno === undefined || !/^E[A-Z0-9]+$/.test(errno)) return error;
  const remedy = remedies[errno];
  return new SyncFault(
    'StorageFailed',
    `cannot ${doing} ${path || 'the folder'} (${errno})${remedy ? `: ${remedy}` : ''}`,
    {
      cause: error,
    },
  );
}

const isMissing = (error: unknown): boolean => {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
};
