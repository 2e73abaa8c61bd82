// The volume as its writer sees it: files appear whole, synced and at once, or not at all.
import { randomUUID } from 'node:crypto';
import * as nodeFiles from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../../catalogue/layout.ts';
import { errnoOf, storageFault } from './storage-fault.ts';
import { TemporaryFile, type TemporaryFileHome } from './temporary-file.ts';

/** The file operations that the volume is made of: Node's own, or a stand-in that fails or dies where a test wants it. */
export type Files = Pick<
  typeof nodeFiles,
  | 'access'
  | 'chmod'
  | 'lstat'
  | 'mkdir'
  | 'open'
  | 'readdir'
  | 'readFile'
  | 'rename'
  | 'rm'
  | 'rmdir'
  | 'statfs'
  | 'unlink'
>;

const fileMode = 0o644;
const folderMode = 0o755;

/** How old a file in tmp/ must be before it counts as left behind by a writer that died, in milliseconds. */
export const temporaryAge = 3_600_000;

export interface VolumeFile {
  /** Relative to the volume's root. */
  path: string;
  size: number;
  /** Milliseconds since 1970. */
  modified: number;
}

/** A folder of its own in tmp/, there from `create` until it is disposed of. */
export interface Scratch extends AsyncDisposable {
  /** Absolute. */
  readonly path: string;
  /** @throws SourceFault StorageFailed */
  create(): Promise<void>;
}

export class Volume {
  /** Absolute path of the root. */
  readonly root: string;
  readonly #files: Files;
  #lastExclusive: Promise<unknown> = Promise.resolve();

  private constructor(root: string, files: Files) {
    this.root = root;
    this.#files = files;
  }

  /** The volume at a folder, whatever is there: nothing is read or written yet. */
  static at(root: string, files: Files = nodeFiles): Volume {
    return new Volume(root, files);
  }

  /**
   * How large the file system is and what may still be written to it, in bytes.
   * @throws SourceFault StorageFailed
   */
  async space(): Promise<{ capacity: number; free: number }> {
    try {
      const { blocks, bavail, bsize } = await this.#files.statfs(this.root);
      return { capacity: blocks * bsize, free: bavail * bsize };
    } catch (error) {
      throw storageFault('look at', '.', error);
    }
  }

  /**
   * Makes the volume's folder where it is missing, and writes nothing otherwise, so that it can be asked often.
   * @throws SourceFault StorageFailed where nothing can be written
   */
  async checkWritable(): Promise<void> {
    try {
      await this.#makeFolder(join(this.root, temporaryFolder));
      await this.#files.access(this.root, nodeFiles.constants.W_OK);
      const { bavail, files, ffree } = await this.#files.statfs(this.root);
      // A file system that counts no files has none left either.
      if (bavail === 0 || (files > 0 && ffree === 0)) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    } catch (error) {
      throw storageFault('write', '.', error);
    }
  }

  /**
   * Writes a whole file: under a temporary name, synced, renamed over what was there, the folder synced.
   * @param bytes the whole, or its pieces in order
   * @throws SourceFault StorageFailed: what was there before is then still there
   */
  async write(path: string, bytes: Uint8Array | Iterable<Uint8Array>): Promise<void> {
    await using file = await this.create(path);
    for (const piece of bytes instanceof Uint8Array ? [bytes] : bytes) await file.append(piece);
    await file.settle(path);
  }

  /**
   * A file under construction. Dispose of it; a settled one stays where it was put.
   * @param purpose what it will become: errors name it
   * @throws SourceFault StorageFailed
   */
  async create(purpose: string): Promise<TemporaryFile> {
    const temporary = join(this.root, temporaryFolder, `${process.pid}-${randomUUID()}`);
    try {
      const handle = await this.#inTemporaryFolder(() => this.#files.open(temporary, 'wx+', fileMode));
      try {
        // The mode given to open is cut by the umask.
        await handle.chmod(fileMode);
      } catch (error) {
        await handle.close();
        throw error;
      }
      return new TemporaryFile(this.#home, handle, temporary, purpose);
    } catch (error) {
      throw storageFault('write', purpose, error);
    }
  }

  /**
   * The whole file, undefined where there is none.
   * @throws SourceFault StorageFailed
   */
  async read(path: string): Promise<Buffer | undefined> {
    try {
      return await this.#files.readFile(this.absolute(path));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw storageFault('read', path, error);
    }
  }

  /** Size and age of a file, undefined where there is none. @throws SourceFault StorageFailed */
  async stat(path: string): Promise<VolumeFile | undefined> {
    try {
      const stats = await this.#files.lstat(this.absolute(path));
      return { path, size: stats.size, modified: stats.mtimeMs };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw storageFault('read', path, error);
    }
  }

  /** The names in a folder, sorted; none where there is no folder. @throws SourceFault StorageFailed */
  async list(path: string): Promise<string[]> {
    try {
      return (await this.#files.readdir(this.absolute(path))).sort();
    } catch (error) {
      if (isMissing(error)) return [];
      throw storageFault('list', path, error);
    }
  }

  /** Removes a file, or a folder with all in it. What is not there is fine. @throws SourceFault StorageFailed */
  async remove(path: string): Promise<void> {
    await this.removeWhen(path, () => true);
  }

  /**
   * Removes a file or folder if the condition holds while nothing is being renamed into place.
   * @param condition given the file's state, undefined where there is nothing
   * @returns true when it was removed
   * @throws SourceFault StorageFailed
   */
  async removeWhen(path: string, condition: (file: VolumeFile) => boolean): Promise<boolean> {
    return await this.#exclusively(async () => {
      const file = await this.stat(path);
      if (file === undefined || !condition(file)) return false;
      try {
        await this.#files.rm(this.absolute(path), { recursive: true, force: true });
      } catch (error) {
        throw storageFault('remove', path, error);
      }
      return true;
    });
  }

  /** Removes a folder if it is empty. @throws SourceFault StorageFailed */
  async removeEmpty(path: string): Promise<void> {
    await this.#exclusively(async () => {
      try {
        await this.#files.rmdir(this.absolute(path));
      } catch (error) {
        const errno = errnoOf(error);
        if (errno !== 'ENOENT' && errno !== 'ENOTEMPTY' && errno !== 'EEXIST')
          throw storageFault('remove', path, error);
      }
    });
  }

  /** Touches nothing: a look that finds nothing new never creates its scratch folder. */
  scratch(): Scratch {
    const path = join(this.root, temporaryFolder, `${process.pid}-${randomUUID()}`);
    let created = false;
    const create = async (): Promise<void> => {
      created = true;
      try {
        await this.#inTemporaryFolder(() => this.#files.mkdir(path, { mode: folderMode }));
      } catch (error) {
        throw storageFault('create', temporaryFolder, error);
      }
    };
    const remove = async (): Promise<void> => {
      if (created) await this.#home.removeTemporary(path);
    };
    return { path, create, [Symbol.asyncDispose]: remove };
  }

  /**
   * Removes what dead writers left in tmp/ more than an hour ago.
   * @param now milliseconds since 1970
   * @throws SourceFault StorageFailed
   */
  async sweep(now: number): Promise<void> {
    for (const name of await this.list(temporaryFolder)) {
      await this.removeWhen(`${temporaryFolder}/${name}`, (file) => file.modified < now - temporaryAge);
    }
  }

  /** The absolute path. Refuses what leads out of the volume. */
  absolute(path: string): string {
    if (path.startsWith('/') || path.split('/').some((part) => part === '..' || part === '')) {
      throw new Error(`${JSON.stringify(path)} is no path on the volume`);
    }
    return join(this.root, path);
  }

  readonly #home: TemporaryFileHome = {
    settle: async (temporary, path) => {
      const place = this.absolute(path);
      try {
        await this.#exclusively(async () => {
          await this.#makeFolder(dirname(place));
          await this.#files.rename(temporary, place);
        });
        await this.#syncFolder(dirname(place));
      } catch (error) {
        throw storageFault('write', path, error);
      }
    },
    removeTemporary: async (temporary) => {
      // What cannot be removed now is swept later.
      await this.#files.rm(temporary, { recursive: true, force: true }).catch(() => {});
    },
  };

  /** Once more where tmp/ has been removed, or the volume been replaced by an empty one. */
  async #inTemporaryFolder<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.#makeFolder(join(this.root, temporaryFolder));
      return await action();
    }
  }

  /**
   * Makes a folder and those above it; each one made is synced into the one above. Step by step, since Node's own
   * recursive mkdir never ends where a parent is there and refuses children with ENOENT, as /proc does.
   */
  async #makeFolder(folder: string): Promise<void> {
    let made: boolean;
    try {
      made = await this.#makeOne(folder);
    } catch (error) {
      if (!isMissing(error) || dirname(folder) === folder) throw error;
      await this.#makeFolder(dirname(folder));
      made = await this.#makeOne(folder);
    }
    if (!made) return;
    await this.#files.chmod(folder, folderMode);
    await this.#syncFolder(dirname(folder));
  }

  /** @returns false where the folder is there already */
  async #makeOne(folder: string): Promise<boolean> {
    try {
      await this.#files.mkdir(folder, { mode: folderMode });
      return true;
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') return false;
      throw error;
    }
  }

  async #syncFolder(folder: string): Promise<void> {
    const handle = await this.#files.open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** One at a time: a rename into place never meets a removal that was decided before it. */
  #exclusively<T>(action: () => Promise<T>): Promise<T> {
    const turn = this.#lastExclusive.then(action);
    this.#lastExclusive = turn.catch(() => {});
    return turn;
  }
}

const isMissing = (error: unknown): boolean => {
  const errno = errnoOf(error);
  return errno === 'ENOENT' || errno === 'ENOTDIR';
};
