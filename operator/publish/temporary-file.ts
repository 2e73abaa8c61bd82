// A file under construction in tmp/: appended to, then synced and renamed to its place, or thrown away.
import type { FileHandle } from 'node:fs/promises';
import { SourceFault } from '../reasons.ts';
import { storageFault } from './storage-fault.ts';

/** What a temporary file needs of its volume. */
export interface TemporaryFileHome {
  /** Renames into place and syncs the folder. */
  settle(temporary: string, path: string): Promise<void>;
  removeTemporary(temporary: string): Promise<void>;
}

export class TemporaryFile {
  readonly #home: TemporaryFileHome;
  readonly #temporary: string;
  readonly #purpose: string;
  #handle: FileHandle | undefined;
  #size = 0;
  #settled = false;

  /**
   * @param temporary absolute path of the file that `handle` has open, made with `wx`
   * @param purpose what the file will become, relative to the volume's root: errors name it
   */
  constructor(home: TemporaryFileHome, handle: FileHandle, temporary: string, purpose: string) {
    this.#home = home;
    this.#handle = handle;
    this.#temporary = temporary;
    this.#purpose = purpose;
  }

  /** Bytes appended so far. */
  get size(): number {
    return this.#size;
  }

  /**
   * Writes all of `bytes` behind what is there, however short the system writes. One caller at a time.
   * @throws SourceFault StorageFailed
   */
  async append(bytes: Uint8Array): Promise<void> {
    const handle = this.#open();
    try {
      for (let written = 0; written < bytes.length; ) {
        const step = await handle.write(bytes, written, bytes.length - written, this.#size);
        if (step.bytesWritten === 0) {
          throw new SourceFault('StorageFailed', `cannot write ${this.#purpose}: the volume takes no more bytes`);
        }
        written += step.bytesWritten;
        this.#size += step.bytesWritten;
      }
    } catch (error) {
      throw storageFault('write', this.#purpose, error);
    }
  }

  /** @throws SourceFault StorageFailed, also when the file is shorter than asked */
  async read(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    try {
      for (let done = 0; done < length; ) {
        const step = await this.#open().read(bytes, done, length - done, offset + done);
        if (step.bytesRead === 0) {
          throw new SourceFault(
            'StorageFailed',
            `cannot read back ${this.#purpose}: it is shorter than what was written`,
          );
        }
        done += step.bytesRead;
      }
    } catch (error) {
      throw storageFault('read back', this.#purpose, error);
    }
    return bytes;
  }

  /**
   * Syncs the bytes, closes the file and renames it to `path`, whose folder is synced as well.
   * @throws SourceFault StorageFailed; the file is then still to be discarded
   */
  async settle(path: string): Promise<void> {
    const handle = this.#open();
    try {
      await handle.datasync();
      this.#handle = undefined;
      await handle.close();
    } catch (error) {
      throw storageFault('write', path, error);
    }
    await this.#home.settle(this.#temporary, path);
    this.#settled = true;
  }

  /** Removes what was not settled. Never fails: what stays behind is swept later. */
  async discard(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => {});
    if (!this.#settled) await this.#home.removeTemporary(this.#temporary);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.discard();
  }

  #open(): FileHandle {
    if (this.#handle === undefined) throw new Error(`the temporary file for ${this.#purpose} is closed`);
    return this.#handle;
  }
}
