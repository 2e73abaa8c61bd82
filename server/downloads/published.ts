// Looks at the gateway's downloads.json every few seconds. What cannot be read counts nothing.

import { join } from 'node:path';
import type { Logger } from 'pino';
import { type DownloadsFile, parseDownloads } from '../../catalogue/downloads-file.ts';
import { downloadsPath } from '../../catalogue/layout.ts';
import { readWhole } from '../../catalogue/whole-file.ts';
import { RepeatedLook } from '../repeated-look.ts';
import { fileIdentity } from '../snapshot/file-identity.ts';

export interface PublishedDownloadsOptions {
  /** Absolute path of the volume. */
  volume: string;
  namespace: string;
  gateway: string;
  logger: Logger;
  /** Told of what stands there, whenever that was read anew. */
  read(file: DownloadsFile): void;
}

const lookEveryMs = 5_000;
const mostBytes = 32 * 1024 * 1024;

export class PublishedDownloads {
  readonly #options: PublishedDownloadsOptions;
  readonly #path: string;
  readonly #looks = new RepeatedLook(() => this.#look(), lookEveryMs);
  #file: DownloadsFile | undefined;
  /** Of the file that was read, as its identity; undefined when it must be read. */
  #seen: string | undefined;
  #fault: string | undefined;

  constructor(options: PublishedDownloadsOptions) {
    this.#options = options;
    this.#path = downloadsPath(options.namespace, options.gateway);
  }

  of(key: string): number {
    const artifacts = this.#file?.artifacts;
    if (artifacts === undefined || !Object.hasOwn(artifacts, key)) return 0;
    const { install, archive } = artifacts[key]!;
    return install + archive;
  }

  /** Looks once and then now and then. Resolves after the first look, whatever it found. */
  start(): Promise<void> {
    return this.#looks.start();
  }

  close(): Promise<void> {
    return this.#looks.close();
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { volume, logger, read } = this.#options;
    let identity: string | undefined;
    try {
      identity = await fileIdentity(join(volume, this.#path));
      if (identity !== undefined && identity === this.#seen) return;
      this.#seen = undefined;
      this.#file = parseDownloads(this.#path, await readWhole(volume, this.#path, mostBytes));
      this.#seen = identity;
      this.#fault = undefined;
      read(this.#file);
    } catch (error) {
      this.#file = undefined;
      // Where nothing was counted yet there is no file.
      if (codeOf(error) === 'ENOENT') return;
      // What is damaged is read once, not at every look.
      if (codeOf(error) === undefined) this.#seen = identity;
      const why = error instanceof Error ? error.message : 'unknown';
      if (why !== this.#fault) logger.warn({ why }, 'downloads cannot be read: they are told as 0');
      this.#fault = why;
    }
  }
}

/** Of a file that could not be opened or read. */
const codeOf = (error: unknown): unknown =>
  ((error as Error | undefined)?.cause as NodeJS.ErrnoException | undefined)?.code;
