// The room that a copy may take: old files stay for their time while there is room, and go at once when new ones need it.
import { temporaryFolder } from '../catalogue/layout.ts';
import { SyncFault } from './fault.ts';
import type { Folder, FolderFile } from './folder.ts';

export interface RoomOptions {
  folder: Folder;
  /** In bytes. */
  limit: number;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
}

/** How long a file that is no longer needed stays for a server that has not heard of it, in milliseconds. */
export const graceMilliseconds = 300_000;

export class Room {
  readonly #options: RoomOptions;
  #needed: ReadonlySet<string> = new Set();
  /** Since when a file is not needed. */
  readonly #unneeded = new Map<string, number>();

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  /** What the index.json in the folder needs. It never goes. */
  needs(paths: ReadonlySet<string>): void {
    this.#needed = paths;
  }

  /**
   * Makes room for what is not there yet.
   * @param more what else the new index.json needs
   * @throws SyncFault TooLarge
   */
  async take(wanted: readonly FolderFile[], more: ReadonlySet<string>): Promise<void> {
    const { folder, limit } = this.#options;
    const files = await folder.list();
    const there = new Map(files.map(({ path, size }) => [path, size]));
    const missing = sum(wanted.filter(({ path, size }) => there.get(path) !== size));
    let taken = sum(files.filter(({ path }) => !isTemporary(path)));
    if (taken + missing <= limit) return;
    const keep = new Set([...this.#needed, ...more, ...wanted.map(({ path }) => path)]);
    for (const { path, size } of files) {
      if (keep.has(path) || isTemporary(path)) continue;
      await folder.remove(path);
      taken -= size;
    }
    if (taken + missing <= limit) return;
    throw new SyncFault(
      'TooLarge',
      `the catalogue needs ${taken + missing} bytes beside the one that is served, the folder may have ${limit}: raise spec.sync.sizeLimit, or --size-limit`,
    );
  }

  /**
   * Removes what has not been needed for its time.
   * @returns bytes that the folder holds now
   * @throws SyncFault StorageFailed
   */
  async sweep(): Promise<number> {
    const { folder, now } = this.#options;
    let bytes = 0;
    const files = await folder.list();
    for (const { path, size } of files) {
      const since = this.#needed.has(path) ? undefined : (this.#unneeded.get(path) ?? now());
      if (since === undefined) this.#unneeded.delete(path);
      else this.#unneeded.set(path, since);
      if (since !== undefined && now() - since >= graceMilliseconds) {
        await folder.remove(path);
        this.#unneeded.delete(path);
      } else {
        bytes += size;
      }
    }
    return bytes;
  }
}

const isTemporary = (path: string): boolean => path.startsWith(`${temporaryFolder}/`);
const sum = (files: readonly FolderFile[]): number => files.reduce((total, { size }) => total + size, 0);
