// What is known of layers from the looks before, by digest: no layer is fetched again to know what it holds.
import { z } from 'zod';
import { decodeLines, encodeLines } from '../memory-lines.ts';
import type { LayerListing, LayerRecord } from './layer.ts';

/** What a layer that says that it is a tar has turned out to be: one, or a single file (`undefined`). */
export type KnownLayers = ReadonlyMap<string, LayerListing | undefined>;

const format = 'lyceum oci 1';
const recordsPerLine = 256;
/** Of all layers that are remembered; a larger one is fetched again when the artifact has moved. */
const mostRecords = 100_000;

const text = z.string();
const recordSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('file'), path: text, size: z.int(), id: text }),
  z.strictObject({ type: z.enum(['link', 'hardLink']), path: text, target: text }),
  z.strictObject({ type: z.enum(['folder', 'special']), path: text }),
]);
const lineSchema = z.union([
  z.tuple([z.literal('file'), text]),
  /** Digest, bytes of all files, the first entries; more may follow with the same digest. */
  z.tuple([z.literal('layer'), text, z.int(), z.array(recordSchema)]),
]);

export const encodeLayers = (layers: KnownLayers): Promise<Buffer> => encodeLines([format], rowsOf(layers));

function* rowsOf(layers: KnownLayers): Generator<z.infer<typeof lineSchema>> {
  let left = mostRecords;
  for (const [digest, listing] of layers) {
    if (listing === undefined) yield ['file', digest];
    else if (listing.records.length <= left) {
      const { records, bytes } = listing;
      left -= records.length;
      for (let at = 0; at === 0 || at < records.length; at += recordsPerLine) {
        yield ['layer', digest, bytes, records.slice(at, at + recordsPerLine)];
      }
    }
  }
}

/** Nothing for what is damaged or of another format. */
export async function decodeLayers(bytes: Buffer): Promise<KnownLayers> {
  const layers = new Map<string, { records: LayerRecord[]; bytes: number } | undefined>();
  const isWhole = await decodeLines([format], bytes, (line) => {
    const parsed = lineSchema.safeParse(line);
    if (!parsed.success) return false;
    const row = parsed.data;
    if (row[0] === 'file') layers.set(row[1], undefined);
    else {
      const listing = layers.get(row[1]) ?? { records: [], bytes: row[2] };
      for (const record of row[3]) listing.records.push(record);
      layers.set(row[1], listing);
    }
    return true;
  });
  return isWhole ? layers : new Map();
}
