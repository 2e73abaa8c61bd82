// One look at an artifact: layers that are not known are fetched and listed, laid over one another, and read where wanted.
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type Problem, problem } from '../../../catalogue/problem.ts';
import { UpstreamFault } from '../../../upstream/fault.ts';
import type { Layer } from '../../../upstream/oci/manifest.ts';
import type { Registry } from '../../../upstream/oci/registry.ts';
import type { LookContext } from '../backend.ts';
import { printable } from '../path.ts';
import type { Source, Tree, TreeEntry, TreeSink } from '../source.ts';
import { totalSizeFault } from '../total-size.ts';
import { WantedFiles } from '../wanted-files.ts';
import { type FlatLayer, type Flattened, flatten, type Place } from './flatten.ts';
import { LayerBudget, type LayerListing, listLayer, readLayer } from './layer.ts';
import { decodeLayers, encodeLayers, type KnownLayers } from './memory.ts';
import { isTar } from './unpack.ts';

/** Stands in the place of a layer where there is nothing to say. */
const emptyType = 'application/vnd.oci.empty.v1+json';

export class OciLook implements Pick<Source, 'probe' | 'open'> {
  readonly #registry: Registry;
  readonly #context: LookContext;
  /** By digest, layers in the scratch folder. */
  readonly #fetched = new Map<string, string>();

  constructor(registry: Registry, context: LookContext) {
    this.#registry = registry;
    this.#context = context;
  }

  probe(): Promise<string> {
    return this.#registry.revision();
  }

  async open(): Promise<Tree> {
    const { revision, layers } = await this.#registry.artifact();
    this.#assertSize(layers);
    const { entries, places, problems } = await this.#flattened(layers);
    const files = new WantedFiles(this.#context);
    let total = 0;
    return {
      revision,
      entries,
      problems,
      read: async (wanted, sink) => {
        const layersOf = new Map(layers.map((layer) => [layer.digest, layer]));
        const alone = wanted.filter(({ path }) => places.get(path)!.at === 'whole');
        const inTars = wanted.filter(({ path }) => places.get(path)!.at !== 'whole');
        await files.read(alone, sink, ({ path }, signal) =>
          this.#blob(layersOf.get(places.get(path)!.digest)!, signal),
        );
        total = await this.#readTars(inTars, sink, places, layersOf, total);
      },
      close: async () => {},
    };
  }

  async #flattened(layers: readonly Layer[]): Promise<Flattened> {
    const unread: Problem[] = [];
    const listings = await this.#listings(layers);
    const flat = layers.flatMap((layer): FlatLayer[] => {
      const { digest, size, title, mediaType } = layer;
      const listing = listings.get(digest);
      if (layer.isArchive && listing !== undefined) return [{ digest, records: listing.records, isFile: false }];
      if (title !== undefined) {
        return [{ digest, records: [{ type: 'file', path: title, size, id: digest }], isFile: true }];
      }
      if (mediaType !== emptyType) unread.push(unusable(layer));
      return [];
    });
    const { entries, places, problems } = await flatten(flat, this.#context.signal);
    return { entries, places, problems: [...unread, ...problems] };
  }

  /** @throws UpstreamFault LimitExceeded, before anything of it is fetched */
  #assertSize(layers: readonly Layer[]): void {
    const { totalSize } = this.#context.limits;
    const archives = new Map(layers.filter(({ isArchive }) => isArchive).map(({ digest, size }) => [digest, size]));
    const size = [...archives.values()].reduce((sum, size) => sum + size, 0);
    if (size <= totalSize) return;
    throw new UpstreamFault(
      'LimitExceeded',
      `the layers of the artifact have ${size} bytes, packed, and at most ${totalSize} are fetched; raise spec.limits.totalSize, or publish less`,
    );
  }

  /** What the archives among the layers hold; undefined for one that is a file. */
  async #listings(layers: readonly Layer[]): Promise<KnownLayers> {
    const { memory, limits } = this.#context;
    const saved = await memory.load();
    const remembered: KnownLayers = saved === undefined ? new Map() : await decodeLayers(saved);
    const budget = new LayerBudget(limits.totalSize);
    const listings = new Map<string, LayerListing | undefined>();
    for (const layer of layers) {
      const { digest, isArchive } = layer;
      if (!isArchive) continue;
      const known = listings.has(digest) ? listings : remembered;
      for (const record of known.get(digest)?.records ?? []) budget.take(record);
      listings.set(digest, known.has(digest) ? known.get(digest) : await this.#list(layer, budget));
    }
    const bytes = await encodeLayers(listings);
    if (saved === undefined || !saved.equals(bytes)) await memory.save(bytes);
    return listings;
  }

  async #list(layer: Layer, budget: LayerBudget): Promise<LayerListing | undefined> {
    const path = await this.#local(layer);
    // `oras` calls every file a tar for which nobody has given a type.
    if (layer.title !== undefined && !layer.isFolder && !(await isTar(path))) return undefined;
    return await listLayer(path, budget, this.#context.signal);
  }

  async #local({ digest, size }: Layer): Promise<string> {
    const there = this.#fetched.get(digest);
    if (there !== undefined) return there;
    const { scratch, signal } = this.#context;
    const path = join(scratch, `layer-${this.#fetched.size}`);
    await using file = await open(path, 'w');
    await this.#registry.blob({ digest, size }, signal, (chunk) => file.appendFile(chunk));
    this.#fetched.set(digest, path);
    return path;
  }

  async #blob(layer: Layer, signal: AbortSignal): Promise<Buffer> {
    const chunks: Buffer[] = [];
    await this.#registry.blob(layer, signal, (chunk) => void chunks.push(chunk));
    return Buffer.concat(chunks);
  }

  /** @param total bytes that have been read before @returns and with these */
  async #readTars(
    wanted: readonly TreeEntry[],
    sink: TreeSink,
    places: ReadonlyMap<string, Place>,
    layers: ReadonlyMap<string, Layer>,
    before: number,
  ): Promise<number> {
    const { limits, signal } = this.#context;
    let total = before;
    const byLayer = new Map<string, Map<number, TreeEntry[]>>();
    for (const entry of wanted) {
      const size = entry.size!;
      if (size > limits.fileSize) {
        sink.tooLarge(entry, size);
        continue;
      }
      total += size;
      if (total > limits.totalSize) throw totalSizeFault(limits.totalSize);
      const { digest, at } = places.get(entry.path)! as { digest: string; at: number };
      const files = byLayer.get(digest) ?? new Map<number, TreeEntry[]>();
      const same = files.get(at);
      if (same === undefined) files.set(at, [entry]);
      else same.push(entry);
      byLayer.set(digest, files);
    }
    for (const [digest, files] of byLayer) {
      const path = await this.#local(layers.get(digest)!);
      const wantedOf = new Set(files.keys());
      await readLayer(path, wantedOf, new LayerBudget(limits.totalSize), signal, async (at, bytes) => {
        for (const entry of files.get(at)!) await sink.take(entry, bytes);
      });
    }
    return total;
  }
}

const unusable = ({ mediaType, digest }: Layer): Problem =>
  problem(
    'BadEntry',
    '.',
    `The layer ${digest.slice(0, 19)} is left out: its type, "${printable(mediaType)}", is no tar, and it has no title to be a file by.`,
  );
