// The catalogue with what Live sources have newer: a file that was edited upstream is a new snapshot of the same generation,
// so that whatever is made from a snapshot tells the digests of the bytes that it would serve.
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { FileRow } from '../../catalogue/source-catalogue.ts';
import { GuardedClient, type GuardOptions } from '../../upstream/guard/client.ts';
import type { CurrentCatalogue } from '../http/catalogue.ts';
import { buildSnapshot } from '../snapshot/build.ts';
import type { Loaded } from '../snapshot/load.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { LoadFault } from '../snapshot/watch.ts';
import type { AskedFiles } from './asked-files.ts';
import { LiveSource, type LiveState, type SecretOf } from './live-source.ts';
import { Overlay, type Row } from './overlay.ts';

export interface LiveMetrics {
  liveLooked(source: string): void;
  liveFetched(source: string): void;
  liveFailed(source: string, reason: string): void;
  /** @param bytes of newer files that are held */
  liveHeld(bytes: number): void;
}

export interface LiveCatalogueOptions {
  /** What is loaded from the volume. */
  base: { readonly loaded: Loaded | undefined; readonly fault: LoadFault | undefined };
  guard: GuardOptions;
  secretOf: SecretOf;
  metrics: LiveMetrics;
  logger: Logger;
}

/** Milliseconds that a request waits for all its files together. */
const waitAtMost = 3000;

export class LiveCatalogue implements CurrentCatalogue {
  readonly #options: LiveCatalogueOptions;
  readonly #overlay = new Overlay();
  readonly #sources = new Map<string, LiveSource>();
  /** From rows with newer files to those of the catalogue. */
  readonly #origins = new WeakMap<Row, Row>();
  #client: GuardedClient | undefined;
  /** Digests of newer bytes that are not taken over, by the catalogue's row and the file's path. */
  readonly #refused = new WeakMap<Row, Map<string, string>>();
  /** Moves with each change of the overlay. */
  #version = 0;
  #derived: { base: Loaded; version: number; snapshot: Snapshot } | undefined;
  #deriving: Promise<void> | undefined;
  #followed: Loaded | undefined;

  constructor(options: LiveCatalogueOptions) {
    this.#options = options;
  }

  /** What is served now. */
  get snapshot(): Snapshot | undefined {
    const { loaded } = this.#options.base;
    return loaded !== undefined && this.#derived?.base === loaded ? this.#derived.snapshot : loaded?.snapshot;
  }

  get fault(): LoadFault | undefined {
    return this.#options.base.fault;
  }

  /** Undefined for a source that is not Live. */
  liveState(source: string): LiveState | undefined {
    return this.#sources.get(source)?.state;
  }

  /** Another catalogue has been loaded: what lies over the one before is laid over this one where that says nothing newer. */
  async follow(): Promise<void> {
    const { loaded } = this.#options.base;
    if (loaded === undefined || loaded === this.#followed) return;
    this.#followed = loaded;
    const settings = new Map(loaded.snapshot.index.sources.map(({ name, live }) => [name, live]));
    for (const [name, source] of this.#sources) {
      if (isDeepStrictEqual(settings.get(name), source.setting)) continue;
      this.#sources.delete(name);
      if (this.#overlay.forget(name)) this.#version += 1;
      void source.close();
    }
    for (const [name, live] of settings) if (live !== undefined) this.#sourceOf(name, live);
    await this.#settle();
  }

  /**
   * Looks upstream for the newest bytes of files, and gives the snapshot that has them. Whatever fails, or takes too long,
   * is served as it is known. Never rejects.
   */
  async fresh(snapshot: Snapshot, asked: readonly AskedFiles[]): Promise<Snapshot> {
    const live = asked.filter(({ source }) => this.#sources.has(source));
    if (live.length === 0) return snapshot;
    const looks = live.flatMap((files) => this.#filesOf(files).map((file) => this.#refresh(files, file)));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((go) => {
      timer = setTimeout(go, waitAtMost);
    });
    await Promise.race([Promise.all(looks), late]);
    clearTimeout(timer);
    await this.#settle();
    return this.snapshot ?? snapshot;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sources.values()].map((source) => source.close()));
    await this.#deriving;
    await this.#client?.close();
  }

  #sourceOf(name: string, setting: LiveSource['setting']): void {
    if (this.#sources.has(name)) return;
    const { guard, secretOf, metrics, logger } = this.#options;
    this.#client ??= new GuardedClient(guard);
    this.#sources.set(
      name,
      new LiveSource({
        name,
        setting,
        client: this.#client,
        secretOf,
        looked: () => metrics.liveLooked(name),
        fetched: () => metrics.liveFetched(name),
        failed: (reason) => metrics.liveFailed(name, reason),
        logger,
      }),
    );
  }

  /** The row that the catalogue has, whichever snapshot the request was made from. */
  #rowOf(row: Row): Row {
    return this.#origins.get(row) ?? row;
  }

  #filesOf({ row, paths }: AskedFiles): readonly FileRow[] {
    const own = this.#rowOf(row);
    if (own.row === 'file') return [own];
    return paths === undefined ? own.files : own.files.filter(({ path }) => paths.has(path));
  }

  async #refresh({ source: name, row }: AskedFiles, file: FileRow): Promise<void> {
    const source = this.#sources.get(name);
    if (source === undefined) return;
    const own = this.#rowOf(row);
    const served = () => this.#overlay.digestOf(own, file.path) ?? file.digest;
    const refused = this.#refused.get(own);
    const has = (digest: string) => digest === file.digest || digest === served() || digest === refused?.get(file.path);
    const current = await source.current(placesOf(source.setting.subdirectory, own, file), has);
    if (current === undefined || current.digest === served() || this.#sources.get(name) !== source) return;
    let changed = false;
    if (current.digest === file.digest) changed = this.#overlay.remove(own, file.path);
    else if (current.bytes !== undefined) {
      changed = this.#overlay.put(name, own, file.path, current.digest, current.bytes);
      if (!changed) this.#refused.set(own, (refused ?? new Map()).set(file.path, current.digest));
    }
    if (!changed) return;
    this.#version += 1;
  }

  /** Resolves when the snapshot is that of the loaded catalogue and has all that is in the overlay now. Never rejects. */
  async #settle(): Promise<void> {
    const wanted = this.#version;
    while (!this.#isSettled(wanted)) {
      this.#deriving ??= this.#derive().finally(() => {
        this.#deriving = undefined;
      });
      await this.#deriving;
    }
  }

  /** @param wanted a state of the overlay; what has come since is waited for by nobody else, or a busy source would hold all up */
  #isSettled(wanted: number): boolean {
    const { loaded } = this.#options.base;
    if (loaded === undefined) return true;
    return this.#derived?.base === loaded && this.#derived.version >= wanted;
  }

  async #derive(): Promise<void> {
    const base = this.#options.base.loaded!;
    if (this.#derived?.base !== base) await this.#overlay.keepOnly(base.catalogues);
    const version = this.#version;
    this.#options.metrics.liveHeld(this.#overlay.bytes);
    let { snapshot } = base;
    try {
      snapshot = await this.#over(base);
    } catch (error) {
      this.#options.logger.error({ err: error }, 'newer files of Live sources could not be laid over the catalogue');
    }
    this.#derived = { base, version, snapshot };
  }

  async #over(base: Loaded): Promise<Snapshot> {
    const layer = this.#overlay.layer();
    const { sources } = layer;
    if (sources.size === 0) return base.snapshot;
    const content = layer.reader(base.snapshot.content);
    const catalogues = new Map(base.catalogues);
    for (const name of sources) {
      const catalogue = base.catalogues.get(name);
      if (catalogue !== undefined) catalogues.set(name, await layer.over(catalogue, this.#origins));
    }
    return await buildSnapshot(base.snapshot.index, catalogues, content, base.snapshot, sources);
  }
}

/**
 * Where a file stands below the source's folder. A prompt, rule or profile that is one file in a folder of many has that
 * file's path without its extensions as its folder; whether it does, its row does not say in every case.
 */
function placesOf(subdirectory: string, row: Row, { path }: FileRow): string[] {
  const below = (inner: string): string => (subdirectory === '' ? inner : `${subdirectory}/${inner}`);
  if (row.row === 'file') return [below(path)];
  const slash = row.folder.lastIndexOf('/');
  const [parent, last] = [row.folder.slice(0, Math.max(0, slash)), row.folder.slice(slash + 1)];
  const inFolder = below(row.folder === '' ? path : `${row.folder}/${path}`);
  const beside = below(parent === '' ? path : `${parent}/${path}`);
  if (row.kind === 'skill') {
    // Served as SKILL.md, however it is spelled upstream.
    const spellings = path === 'SKILL.md' ? ['SKILL.md', 'Skill.md', 'skill.md'] : [path];
    return spellings.map((name) => below(row.folder === '' ? name : `${row.folder}/${name}`));
  }
  if (row.kind === 'prompt') return [beside];
  return row.files.length === 1 && path.startsWith(`${last}.`) ? [beside, inFolder] : [inFolder];
}
