// Watches index.json by opening it every second, and swaps the snapshot in force by one assignment.
// What is missing, corrupt or newer than this version changes nothing that is served; it is said once, and kept as state.
import { join } from 'node:path';
import type { Logger } from 'pino';
import { indexPath } from '../../catalogue/layout.ts';
import { SegmentReader } from '../../catalogue/segment-reader.ts';
import { CatalogueUnreadable } from '../../catalogue/unreadable.ts';
import { RepeatedLook } from '../repeated-look.ts';
import { fileIdentity } from './file-identity.ts';
import { type Loaded, loadCatalogue } from './load.ts';
import { type Snapshot, servedCounts } from './snapshot.ts';

/** Why the catalogue that stands on the volume is not the one that is served. */
export interface LoadFault {
  reason: string;
  message: string;
}

/** What one look found. */
export type LookResult = 'unchanged' | 'loaded' | 'failed';

export interface WatchOptions {
  /** Absolute path of the volume. */
  volume: string;
  namespace: string;
  gateway: string;
  logger: Logger;
  /** @param seconds how long loading took */
  loaded(snapshot: Snapshot, seconds: number): void;
  /** Told of a fault once, until another one or a success follows. */
  failed(fault: LoadFault): void;
  looked(result: LookResult): void;
}

const lookEveryMs = 1000;
/** The longest that a file which could not be loaded is left alone before it is tried again, unless it changes. */
const longestPauseMs = 30_000;

export class CatalogueWatch {
  readonly #options: WatchOptions;
  readonly #reader: SegmentReader;
  readonly #path: string;
  readonly #looks = new RepeatedLook(() => this.#look(), lookEveryMs);
  #loaded: Loaded | undefined;
  #fault: LoadFault | undefined;
  /** What the index.json was that is loaded, as its file's identity; undefined when it must be read. */
  #seen: string | undefined;
  /** The index.json that could not be loaded, and when it is tried again: loading a large one costs. */
  #pause: { identity: string | undefined; ms: number; until: number } | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#reader = new SegmentReader(options.volume);
    this.#path = join(options.volume, indexPath(options.namespace, options.gateway));
  }

  /** The snapshot in force; undefined until a catalogue could be loaded. */
  get snapshot(): Snapshot | undefined {
    return this.#loaded?.snapshot;
  }

  /** The same with what it was made from. */
  get loaded(): Loaded | undefined {
    return this.#loaded;
  }

  /** Why the last look could load nothing; undefined when it could. */
  get fault(): LoadFault | undefined {
    return this.#fault;
  }

  /** Looks once and then every second. Resolves after the first look, whatever it found. */
  start(): Promise<void> {
    return this.#looks.start();
  }

  async close(): Promise<void> {
    await this.#looks.close();
    this.#reader.close();
  }

  async #look(): Promise<void> {
    const begun = performance.now();
    let identity: string | undefined;
    try {
      identity = await fileIdentity(this.#path);
      if (identity !== undefined && identity === this.#seen) {
        this.#options.looked('unchanged');
        return;
      }
      if (identity !== undefined && identity === this.#pause?.identity && begun < this.#pause.until) {
        this.#options.looked('failed');
        return;
      }
      this.#seen = undefined;
      const { volume, namespace, gateway } = this.#options;
      const loaded = await loadCatalogue(volume, { namespace, name: gateway }, this.#reader, this.#loaded);
      this.#seen = identity;
      this.#succeed(loaded, (performance.now() - begun) / 1000);
      this.#pause = undefined;
    } catch (error) {
      const again = this.#pause !== undefined && this.#pause.identity === identity;
      const ms = again ? Math.min(longestPauseMs, this.#pause!.ms * 2) : lookEveryMs;
      this.#pause = { identity, ms, until: performance.now() + ms };
      this.#fail(error);
    }
  }

  #succeed(loaded: Loaded, seconds: number): void {
    const { logger } = this.#options;
    if (this.#fault !== undefined) logger.info('the catalogue on the volume is readable again');
    this.#fault = undefined;
    this.#options.looked(loaded === this.#loaded ? 'unchanged' : 'loaded');
    if (loaded === this.#loaded) return;
    this.#loaded = loaded;
    const { index } = loaded.snapshot;
    logger.info({ generation: index.generation, counts: servedCounts(loaded.snapshot), seconds }, 'catalogue loaded');
    this.#options.loaded(loaded.snapshot, seconds);
  }

  #fail(error: unknown): void {
    this.#options.looked('failed');
    const fault: LoadFault =
      error instanceof CatalogueUnreadable
        ? { reason: error.reason, message: error.message }
        : { reason: 'Internal', message: 'the catalogue could not be loaded: the log says why' };
    const again = this.#fault?.reason === fault.reason && this.#fault.message === fault.message;
    this.#fault = fault;
    if (again) return;
    const serving = this.#loaded?.snapshot.index.generation;
    const cause = error instanceof CatalogueUnreadable ? {} : { err: error };
    this.#options.logger.error(
      { ...fault, ...cause, volume: this.#options.volume, serving },
      `catalogue not loaded, ${serving === undefined ? 'nothing is served yet' : 'what is served stays'}`,
    );
    this.#options.failed(fault);
  }
}
