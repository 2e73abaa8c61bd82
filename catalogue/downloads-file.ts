// downloads.json, how often a gateway's artifacts were taken, and the batches of counts that it is made from.
import { z } from 'zod';
import { CatalogueUnreadable, checkFormat } from './unreadable.ts';

/** The format that this version writes. */
export const downloadsFormat = 1;

/** How an artifact was taken: installed by an agent, or as an archive. */
export const waysTaken = ['install', 'archive'] as const;
export type Taken = (typeof waysTaken)[number];

/** What an artifact is counted by, in all its versions. @param address relative to the library, as the gateway has it */
export const artifactKey = (kind: string, library: string, address: string): string => `${kind} ${library}/${address}`;

/** No batch counts more than this of one artifact; a server has the rest in its next one. */
export const mostTimes = 1_000_000;

/** The most artifacts in one batch. */
export const mostInBatch = 500;

/** In bytes of UTF-8: the longest batch, as JSON. */
export const longestBatch = 256 * 1024;

const timesSchema = z.int().min(0).max(mostTimes);

/** What one server counted since its last batch. A batch that comes twice is counted once, by replica and sequence. */
export const batchSchema = z.strictObject({
  /** Of one run of a server; another one of the same pod has another. */
  replica: z.uuid(),
  /** 1, 2, 3 … */
  sequence: z.int().min(1),
  counts: z
    .array(z.strictObject({ artifact: z.string().min(1).max(8192), install: timesSchema, archive: timesSchema }))
    .min(1)
    .max(mostInBatch),
});
export type DownloadsBatch = z.infer<typeof batchSchema>;

export interface ArtifactDownloads {
  install: number;
  archive: number;
  /** Since when the gateway's catalogue has it no longer, in milliseconds since 1970. */
  gone?: number;
}

const isWhole = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

const isArtifactDownloads = (value: unknown): value is ArtifactDownloads => {
  if (typeof value !== 'object' || value === null) return false;
  const { install, archive, gone } = value as Record<string, unknown>;
  return isWhole(install) && isWhole(archive) && (gone === undefined || isWhole(gone));
};

/** There may be ten thousand rows, and nobody shall wait for them: this is a tenth of what a schema of zod's own takes. */
const artifactsSchema = z.custom<Record<string, ArtifactDownloads>>(
  (value) => typeof value === 'object' && value !== null && Object.values(value).every(isArtifactDownloads),
);

const downloadsSchema = z.object({
  format: z.literal(downloadsFormat),
  /** By artifactKey. */
  artifacts: artifactsSchema,
  /** The last batch of each server that counts in `artifacts`, and when it came, in milliseconds since 1970. */
  replicas: z.record(z.string(), z.object({ sequence: z.int().min(1), at: z.int() })),
});
export type DownloadsFile = z.infer<typeof downloadsSchema>;

/** @throws CatalogueUnreadable Corrupt, NewerFormat */
export function parseDownloads(path: string, text: string): DownloadsFile {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new CatalogueUnreadable('Corrupt', path, 'is not JSON');
  }
  checkFormat(path, (content as { format?: unknown } | null)?.format, downloadsFormat);
  const parsed = downloadsSchema.safeParse(content);
  if (!parsed.success) throw new CatalogueUnreadable('Corrupt', path, 'does not have the shape of its format');
  return parsed.data;
}
