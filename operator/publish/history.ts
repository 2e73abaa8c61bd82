// What a gateway served and until when: the collector keeps it for its time, whatever index.json says now.
import { z } from 'zod';
import type { Index } from '../../catalogue/index-file.ts';
import { historyPath } from '../../catalogue/layout.ts';
import type { Key } from './key.ts';
import type { Volume } from './volume.ts';

/** How long content that is no longer current stays readable, in milliseconds. */
export const graceMilliseconds = 3_600_000;

/** How many generations before the current one stay readable, however old they are. */
export const graceGenerations = 2;

const historySchema = z.object({
  format: z.literal(1),
  /** Of the index.json that was written after it. */
  generation: z.int().min(1),
  /** By the path of a catalogue file: the last generation that names it, and when it ceased to. */
  catalogues: z.record(z.string(), z.object({ generation: z.int(), until: z.int().optional() })),
});
export type History = z.infer<typeof historySchema>;

/**
 * The history after a publication: the catalogues it names are current, those it names no longer have ended now, and
 * those whose time is over are forgotten.
 * @param before undefined where there is none that can be read
 * @param index the index on the volume, undefined where there is none that can be read
 * @param now milliseconds since 1970
 */
export function nextHistory(
  before: History | undefined,
  index: Index | undefined,
  next: { generation: number; catalogues: ReadonlySet<string> },
  now: number,
): History {
  const ended: History['catalogues'] = {};
  for (const [path, entry] of Object.entries(before?.catalogues ?? {})) {
    ended[path] = { generation: entry.generation, until: entry.until ?? now };
  }
  for (const { catalogue } of index?.sources ?? []) {
    if (catalogue !== undefined && index !== undefined)
      ended[catalogue.path] = { generation: index.generation, until: now };
  }
  const catalogues: History['catalogues'] = {};
  for (const path of next.catalogues) catalogues[path] = { generation: next.generation };
  for (const [path, entry] of Object.entries(ended)) {
    if (!next.catalogues.has(path) && isKept(entry, next.generation, now)) catalogues[path] = entry;
  }
  return { format: 1, generation: next.generation, catalogues };
}

/** Whether a catalogue of the history is still within its hour or its generations. */
export function isKept(entry: History['catalogues'][string], generation: number, now: number): boolean {
  return isRecent(entry, now) || entry.generation >= generation - graceGenerations;
}

/** Whether a catalogue of the history is current, or was within the hour. */
export function isRecent(entry: History['catalogues'][string], now: number): boolean {
  return entry.until === undefined || entry.until > now - graceMilliseconds;
}

/** The history of a gateway; undefined where there is none that can be read. @throws SourceFault StorageFailed */
export async function readHistory(volume: Volume, key: Key): Promise<History | undefined> {
  const bytes = await volume.read(historyPath(key.namespace, key.name));
  if (bytes === undefined) return undefined;
  try {
    return historySchema.parse(JSON.parse(bytes.toString()));
  } catch {
    return undefined;
  }
}

/** @throws SourceFault StorageFailed */
export async function writeHistory(volume: Volume, key: Key, history: History): Promise<void> {
  await volume.write(historyPath(key.namespace, key.name), Buffer.from(JSON.stringify(history)));
}
