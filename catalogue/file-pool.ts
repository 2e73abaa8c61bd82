// Open files for reading at offsets: few at a time, the least recently used one closed first, none while it is read.
import { type FileHandle, open } from 'node:fs/promises';

interface OpenFile {
  handle: Promise<FileHandle>;
  readers: number;
  /** No longer in the pool: closed by its last reader. */
  dropped: boolean;
}

export class FilePool {
  readonly #limit: number;
  readonly #open: typeof open;
  /** By path, the least recently used first. */
  readonly #files = new Map<string, OpenFile>();

  /**
   * @param limit files kept open; files beyond it are open only while they are read
   * @param openFile Node's own, or a stand-in for a file server's faults
   */
  constructor(limit: number, openFile: typeof open = open) {
    this.#limit = limit;
    this.#open = openFile;
  }

  /**
   * Reads `length` bytes at `offset`.
   * @returns fewer bytes where the file ends before
   * @throws whatever opening and reading throw
   */
  async read(path: string, offset: number, length: number): Promise<Buffer> {
    const file = this.#take(path);
    file.readers++;
    try {
      const handle = await file.handle;
      const bytes = Buffer.allocUnsafe(length);
      let done = 0;
      while (done < length) {
        const { bytesRead } = await handle.read(bytes, done, length - done, offset + done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      return bytes.subarray(0, done);
    } catch (error) {
      // A descriptor that failed is not used again: the next read opens the file anew.
      if (this.#files.get(path) === file) this.drop(path);
      throw error;
    } finally {
      file.readers--;
      if (file.dropped && file.readers === 0) close(file);
    }
  }

  /** Closes the file as soon as nobody reads it. */
  drop(path: string): void {
    const file = this.#files.get(path);
    if (file === undefined) return;
    this.#files.delete(path);
    file.dropped = true;
    if (file.readers === 0) close(file);
  }

  dropAll(): void {
    for (const path of [...this.#files.keys()]) this.drop(path);
  }

  #take(path: string): OpenFile {
    const known = this.#files.get(path);
    if (known !== undefined) {
      this.#files.delete(path);
      this.#files.set(path, known);
      return known;
    }
    const file: OpenFile = { handle: this.#open(path, 'r'), readers: 0, dropped: false };
    this.#files.set(path, file);
    if (this.#files.size > this.#limit) this.drop(this.#files.keys().next().value as string);
    return file;
  }
}

function close(file: OpenFile): void {
  file.handle.then((handle) => handle.close()).catch(() => {});
}
