// Publishes a gateway: its history first, then index.json, renamed over the one before.
import { type Index, type IndexContent, indexDigest, indexFormat, indexSchema } from '../../catalogue/index-file.ts';
import { indexPath } from '../../catalogue/layout.ts';
import { SourceFault } from '../reasons.ts';
import type { Claim } from './claim.ts';
import { type History, nextHistory, readHistory, writeHistory } from './history.ts';
import type { Key } from './key.ts';
import type { Volume } from './volume.ts';

export interface PublishedIndex {
  generation: number;
  digest: string;
  /** False when the index on the volume says the same already: nothing was written then. */
  changed: boolean;
}

/**
 * Writes a gateway's index.json if it would say something else than the one that is there. Its generation is one more
 * than the highest that the index or the history on the volume can be made to tell, whatever else is wrong with them
 * (damaged, a newer format); 1 where neither tells any.
 * @param now milliseconds since 1970
 * @param claim of this operator on the volume, where one of several is elected
 * @throws Displaced, SourceFault StorageFailed, also when a catalogue that the content names is not on the volume
 */
export async function publishIndex(
  volume: Volume,
  key: Key,
  content: IndexContent,
  now: number = Date.now(),
  claim?: Pick<Claim, 'check'>,
): Promise<PublishedIndex> {
  const path = indexPath(key.namespace, key.name);
  const draft = indexSchema.parse({
    ...content,
    format: indexFormat,
    gateway: { namespace: key.namespace, name: key.name },
    generation: 1,
    published: new Date(now).toISOString(),
    digest: noDigest,
  } satisfies Index);
  const digest = indexDigest(draft);
  const there = whatIsThere(await volume.read(path));
  if (there.whole?.digest === digest) return { generation: there.whole.generation, digest, changed: false };

  const catalogues = new Set<string>();
  for (const { catalogue } of draft.sources) {
    if (catalogue === undefined) continue;
    catalogues.add(catalogue.path);
    if ((await volume.stat(catalogue.path))?.size !== catalogue.size) {
      throw new SourceFault('StorageFailed', `cannot write ${path}: ${catalogue.path} is not on the volume`);
    }
  }
  await claim?.check();
  const history: History | undefined = await readHistory(volume, key);
  const generation = Math.max(there.generation, history?.generation ?? 0) + 1;
  await writeHistory(volume, key, nextHistory(history, there.whole, { generation, catalogues }, now));
  // Another writer, of a Lease that was lost or taken, has been faster: its generation must not be gone back behind.
  if (whatIsThere(await volume.read(path)).generation !== there.generation) {
    return await publishIndex(volume, key, content, now, claim);
  }
  await claim?.check();
  await volume.write(path, Buffer.from(JSON.stringify({ ...draft, generation, digest })));
  return { generation, digest, changed: true };
}

const noDigest = `sha256:${'0'.repeat(64)}`;

/** What can be read of the index on the volume: all of it, or at least its generation. */
function whatIsThere(bytes: Buffer | undefined): { whole?: Index; generation: number } {
  if (bytes === undefined) return { generation: 0 };
  try {
    const content: unknown = JSON.parse(bytes.toString());
    const whole = indexSchema.safeParse(content);
    if (whole.success && whole.data.format <= indexFormat && indexDigest(content as object) === whole.data.digest) {
      return { whole: whole.data, generation: whole.data.generation };
    }
    const generation = (content as { generation?: unknown } | null)?.generation;
    if (typeof generation === 'number' && Number.isSafeInteger(generation) && generation > 0) return { generation };
  } catch {
    // Not JSON: it tells nothing.
  }
  return { generation: 0 };
}
