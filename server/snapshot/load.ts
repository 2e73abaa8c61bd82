// Loads what an index.json names: the source catalogues that are new, and of those only the rows that are new.
import { readIndex } from '../../catalogue/index-reader.ts';
import type { SegmentReader } from '../../catalogue/segment-reader.ts';
import { type LoadedSourceCatalogue, readSourceCatalogue } from '../../catalogue/source-catalogue-reader.ts';
import { buildSnapshot } from './build.ts';
import type { Snapshot } from './snapshot.ts';

/** A snapshot with what the next loading can take over. */
export interface Loaded {
  snapshot: Snapshot;
  /** By the source's name. */
  catalogues: ReadonlyMap<string, LoadedSourceCatalogue>;
}

/**
 * @param root absolute path of the volume
 * @throws CatalogueUnreadable
 */
export async function loadCatalogue(
  root: string,
  gateway: { namespace: string; name: string },
  reader: SegmentReader,
  previous?: Loaded,
): Promise<Loaded> {
  const index = await readIndex(root, gateway.namespace, gateway.name);
  if (previous !== undefined && sameIndex(previous.snapshot, index)) return previous;
  const before = new Map(previous?.snapshot.index.sources.map(({ name, catalogue }) => [name, catalogue?.digest]));
  const catalogues = new Map<string, LoadedSourceCatalogue>();
  for (const { name, catalogue } of index.sources) {
    if (catalogue === undefined) continue;
    const reuse = previous?.catalogues.get(name);
    const same = reuse !== undefined && before.get(name) === catalogue.digest;
    catalogues.set(name, same ? reuse : await readSourceCatalogue(root, catalogue, { reuse }));
  }
  const snapshot = await buildSnapshot(index, catalogues, reader, previous?.snapshot);
  await reader.use([...catalogues.values()].map(({ header: { source, segments } }) => ({ ...source, segments })));
  return { snapshot, catalogues };
}

const sameIndex = ({ index }: Snapshot, { generation, digest }: Snapshot['index']): boolean =>
  index.generation === generation && index.digest === digest;
