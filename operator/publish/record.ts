// The operator's own record of a source: what is published and from what, so that a restart fetches nothing.
import { z } from 'zod';
import { readFirstLine, readLines } from '../../catalogue/json-lines.ts';
import { memoryPath, recordPath, segmentIndexPath, segmentPath } from '../../catalogue/layout.ts';
import { catalogueRefSchema, countsSchema, digestSchema, segmentRefSchema } from '../../catalogue/source-catalogue.ts';
import type { KnownContent, KnownContents } from '../harvest/content.ts';
import type { Memory } from '../source/source.ts';
import type { Key } from './key.ts';
import { LineWriter } from './line-writer.ts';
import { errnoOf, storageFault } from './storage-fault.ts';
import type { Volume } from './volume.ts';

/** The format that this version writes, and the only one it reads: another one costs a fetch, no more. */
const recordFormat = 1;

/** In bytes: longer than any line that is written. */
const longestLine = 4 * 1024 * 1024;

/** What is known of the bytes that upstream names by an id. */
const knownContentSchema: z.ZodType<KnownContent> = z.union([
  z.object({ digest: digestSchema, size: z.int().min(0), text: z.boolean(), lfsPointer: z.boolean() }),
  z.object({ tooLarge: z.int().min(0) }),
]);

const recordSchema = z.object({
  format: z.literal(recordFormat),
  /** The custom resource's: a new one of the same name starts anew. */
  uid: z.string(),
  /** Of the spec that was harvested. */
  specDigest: z.string(),
  /** What upstream calls the state that was harvested. */
  revision: z.string(),
  /** When the content last changed, RFC 3339. */
  built: z.string(),
  artifactDigest: digestSchema,
  catalogue: catalogueRefSchema,
  counts: countsSchema,
  /** Number of distinct files, and the bytes of them all. */
  files: z.int(),
  size: z.int(),
  segments: z.array(segmentRefSchema),
  /** Of the spec that was harvested: what gateways show and scope by. */
  settings: z.object({ library: z.string(), tags: z.array(z.string()), refreshSeconds: z.number().optional() }),
});

/** A record but for what is known of contents, which is as long as the source has files. */
export type RecordHead = Omit<z.infer<typeof recordSchema>, 'format'>;

export interface SourceRecord extends RecordHead {
  contents: KnownContents;
}

const contentLineSchema = z.tuple([z.string(), knownContentSchema]);

/**
 * The record of a source, a file of JSON lines: the record, then one line a known content. One that is missing,
 * damaged, of another format, or that names a catalogue or segment which is not there, is none.
 * @throws SourceFault StorageFailed when the volume cannot be read
 */
export async function readRecord(volume: Volume, key: Key): Promise<SourceRecord | undefined> {
  const path = recordPath(key.namespace, key.name);
  let record: z.infer<typeof recordSchema> | undefined;
  const contents = new Map<string, KnownContent>();
  try {
    await readLines(volume.absolute(path), longestLine, (line) => {
      const content: unknown = JSON.parse(line.toString());
      if (record === undefined) {
        record = recordSchema.parse(content);
      } else {
        const [id, known] = contentLineSchema.parse(content);
        contents.set(id, known);
      }
    });
  } catch (error) {
    return none(path, error);
  }
  if (record === undefined) return undefined;
  const { format: _format, ...known } = record;
  return (await isThere(volume, key, known)) ? { ...known, contents } : undefined;
}

/**
 * What a record names, without what is known of contents; undefined where there is none that can be read.
 * @throws SourceFault StorageFailed when the volume cannot be read
 */
export async function readRecordHead(volume: Volume, key: Key): Promise<RecordHead | undefined> {
  const path = recordPath(key.namespace, key.name);
  try {
    return recordSchema.parse(JSON.parse((await readFirstLine(volume.absolute(path), longestLine)).toString()));
  } catch (error) {
    return none(path, error);
  }
}

/**
 * Writes the record, unless it is there already.
 * @throws SourceFault StorageFailed
 */
export async function writeRecord(volume: Volume, key: Key, record: SourceRecord): Promise<void> {
  const { contents, ...known } = record;
  const lines = new LineWriter();
  await lines.add(recordSchema.parse({ format: recordFormat, ...known }));
  for (const content of contents) await lines.add(content);
  const { pieces, size } = lines.end();
  const path = recordPath(key.namespace, key.name);
  const isSame = (await volume.stat(path))?.size === size && startsWith(await volume.read(path), pieces);
  if (!isSame) await volume.write(path, pieces);
}

function startsWith(bytes: Buffer | undefined, pieces: readonly Buffer[]): boolean {
  let at = 0;
  return pieces.every((piece) => {
    const same = bytes?.subarray(at, at + piece.length).equals(piece);
    at += piece.length;
    return same;
  });
}

/** What a source's backend remembers between looks, as a file of its own. */
export function sourceMemory(volume: Volume, key: Key): Memory {
  const path = memoryPath(key.namespace, key.name);
  return {
    load: () => volume.read(path),
    save: (bytes) => volume.write(path, bytes),
  };
}

/** Whether all that a record names is on the volume. @throws SourceFault StorageFailed when the volume cannot be read */
export async function isThere(volume: Volume, key: Key, record: RecordHead): Promise<boolean> {
  if ((await volume.stat(record.catalogue.path))?.size !== record.catalogue.size) return false;
  for (const { digest, size } of record.segments) {
    if ((await volume.stat(segmentPath(key.namespace, key.name, digest)))?.size !== size) return false;
    if ((await volume.stat(segmentIndexPath(key.namespace, key.name, digest))) === undefined) return false;
  }
  return true;
}

/** A record that is missing or damaged is none; a volume that cannot be read is a fault. */
function none(path: string, error: unknown): undefined {
  const errno = errnoOf(error);
  if (errno !== undefined && errno !== 'ENOENT' && errno !== 'ENOTDIR') throw storageFault('read', path, error);
  return undefined;
}
