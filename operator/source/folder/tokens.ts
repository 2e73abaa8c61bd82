// A name for each file's bytes that moves whenever they do: its stamp, or its digest while a stamp says too little.
import { z } from 'zod';
import { byCodePoint } from '../../../catalogue/names.ts';
import type { Slices } from '../../../catalogue/slices.ts';
import { sorted } from '../sorted.ts';
import type { Memory } from '../source.ts';
import type { ListedFile } from './list.ts';
import { isRacy, stampText } from './stamp.ts';

/** What is remembered of a file that was looked at just after it was written. */
const rememberedSchema = z.object({
  stamp: z.string(),
  /** The digest of its bytes. */
  token: z.string(),
  /** Looked at again when it was old enough, so that the stamp vouches for the digest. */
  settled: z.boolean(),
});
type Remembered = z.infer<typeof rememberedSchema>;

/** So many files are read at once. */
const together = 16;

const memorySchema = z.object({ format: z.literal(1), files: z.array(z.tuple([z.string(), rememberedSchema])) });

/**
 * Tokens by path. A file keeps its token as long as its bytes are the same and nobody touches it; the digest that a young
 * file got stays its token when it has grown old.
 * @param digest of a file's bytes; undefined for one that is too large to be read
 * @param lookedAt when the listing began, in milliseconds since the epoch
 */
export async function tokensOf(
  files: readonly ListedFile[],
  memory: Memory,
  digest: (file: ListedFile) => Promise<string | undefined>,
  lookedAt: number,
  slices: Slices,
): Promise<Map<string, string>> {
  const known = await load(memory);
  const next = new Map<string, Remembered>();
  const tokens = new Map<string, string>();
  const look = async (file: ListedFile): Promise<void> => {
    const stamp = stampText(file.stamp);
    const remembered = known.get(file.path)?.stamp === stamp ? known.get(file.path) : undefined;
    if (remembered?.settled) {
      tokens.set(file.path, remembered.token);
      next.set(file.path, remembered);
      return;
    }
    const racy = isRacy(file.stamp, lookedAt);
    const found = racy || remembered !== undefined || file.mounted ? await digest(file) : undefined;
    tokens.set(file.path, found ?? `stamp:${stamp}`);
    if (found !== undefined) next.set(file.path, { stamp, token: found, settled: !racy });
  };
  const regular = files.filter(({ link }) => link === undefined);
  for (let at = 0; at < regular.length; at += together) {
    await Promise.all(regular.slice(at, at + together).map(look));
    if (slices.over) await slices.turn();
  }
  await save(memory, known, next, slices);
  return tokens;
}

async function load(memory: Memory): Promise<ReadonlyMap<string, Remembered>> {
  const bytes = await memory.load();
  if (bytes === undefined) return new Map();
  try {
    return new Map(memorySchema.parse(JSON.parse(bytes.toString())).files);
  } catch {
    return new Map();
  }
}

async function save(
  memory: Memory,
  known: ReadonlyMap<string, Remembered>,
  next: ReadonlyMap<string, Remembered>,
  slices: Slices,
): Promise<void> {
  const isSame = ([path, { stamp, token, settled }]: [string, Remembered]): boolean => {
    const before = known.get(path);
    return before?.stamp === stamp && before.token === token && before.settled === settled;
  };
  if (known.size === next.size && [...next].every(isSame)) return;
  const files = await sorted([...next], ([a], [b]) => byCodePoint(a, b), slices);
  await memory.save(Buffer.from(JSON.stringify({ format: 1, files })));
}
