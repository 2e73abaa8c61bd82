// What is known of a publisher's index from the look before, as JSON lines with their digest behind them.
import { z } from 'zod';
import type { Validators } from '../../../upstream/discovery/download.ts';
import { decodeLines, encodeLines } from '../memory-lines.ts';

/** What an archive holds, as `listArchive` tells. */
export interface KnownArchive {
  files: readonly { path: string; size: number }[];
  leftOut: number;
}

/** A document without a digest in the index, as it was last seen. */
export interface LooseDocument extends Validators {
  digest: string;
  size: number;
}

export interface DiscoveryMemory {
  /** Of the index. */
  digest: string;
  validators: Validators;
  /** By URL. */
  loose: ReadonlyMap<string, LooseDocument>;
  /** By digest, the sizes of files that have been seen to be what the index says. */
  files: ReadonlyMap<string, number>;
  /** By digest, likewise. */
  archives: ReadonlyMap<string, KnownArchive>;
  /** URLs of what could not be had. */
  missing: readonly string[];
}

const format = 'lyceum discovery 1';
const filesPerLine = 256;

const text = z.string();
const optional = z.string().nullable();
const lineSchema = z.union([
  z.tuple([z.literal('index'), text, optional, optional]),
  z.tuple([z.literal('loose'), text, text, z.int(), optional, optional]),
  z.tuple([z.literal('file'), text, z.int()]),
  /** Digest, what is left out, the first files; more may follow with the same digest. */
  z.tuple([z.literal('archive'), text, z.int(), z.array(z.tuple([text, z.int()]))]),
  z.tuple([z.literal('missing'), text]),
]);

/** @param url the source's address: what is known of another one is worth nothing */
export const encodeMemory = (url: string, memory: DiscoveryMemory): Promise<Buffer> =>
  encodeLines([format, url], rowsOf(memory));

function* rowsOf({
  digest,
  validators,
  loose,
  files,
  archives,
  missing,
}: DiscoveryMemory): Generator<z.infer<typeof lineSchema>> {
  yield ['index', digest, validators.etag ?? null, validators.lastModified ?? null];
  for (const [at, { digest, size, etag = null, lastModified = null }] of loose) {
    yield ['loose', at, digest, size, etag, lastModified];
  }
  for (const [digest, size] of files) yield ['file', digest, size];
  for (const [digest, { files, leftOut }] of archives) {
    for (let at = 0; at === 0 || at < files.length; at += filesPerLine) {
      const some = files.slice(at, at + filesPerLine).map(({ path, size }): [string, number] => [path, size]);
      yield ['archive', digest, leftOut, some];
    }
  }
  for (const one of missing) yield ['missing', one];
}

/** Undefined for what is damaged, of another format, or of another address. */
export async function decodeMemory(url: string, bytes: Buffer): Promise<DiscoveryMemory | undefined> {
  const loose = new Map<string, LooseDocument>();
  const files = new Map<string, number>();
  const archives = new Map<string, { files: { path: string; size: number }[]; leftOut: number }>();
  const missing: string[] = [];
  let index: { digest: string; validators: Validators } | undefined;
  const isWhole = await decodeLines([format, url], bytes, (line) => {
    const parsed = lineSchema.safeParse(line);
    if (!parsed.success) return false;
    const row = parsed.data;
    switch (row[0]) {
      case 'index':
        index = { digest: row[1], validators: validators(row[2], row[3]) };
        break;
      case 'loose':
        loose.set(row[1], { digest: row[2], size: row[3], ...validators(row[4], row[5]) });
        break;
      case 'file':
        files.set(row[1], row[2]);
        break;
      case 'archive': {
        const known = archives.get(row[1]) ?? { files: [], leftOut: row[2] };
        for (const [path, size] of row[3]) known.files.push({ path, size });
        archives.set(row[1], known);
        break;
      }
      case 'missing':
        missing.push(row[1]);
    }
    return true;
  });
  return isWhole ? index && { ...(index as DiscoveryMemory), loose, files, archives, missing } : undefined;
}

const validators = (etag: string | null, lastModified: string | null): Validators => ({
  ...(etag === null ? {} : { etag }),
  ...(lastModified === null ? {} : { lastModified }),
});
