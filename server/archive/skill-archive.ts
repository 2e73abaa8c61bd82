// The archive of a skill: all its files from its own folder on, as clients unpack them, and the digest of those bytes.
import { createHash } from 'node:crypto';
import type { ContentReader } from '../../catalogue/content.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { ArtifactRow, FileRow } from '../../catalogue/source-catalogue.ts';
import type { Budget, GiveBack } from '../budget.ts';
import { zip, zipSize } from './zip.ts';

/** In bytes; undefined where the skill is larger than an archive may be. */
export const archiveSize = ({ files }: Pick<ArtifactRow, 'files'>): number | undefined => zipSize(files);

/**
 * The archive in pieces, each file read when its turn has come.
 * @param budget for the bytes that are in memory until the next piece is asked for
 * @param overdue ends whatever takes the pieces, when others have waited long enough
 * @throws ContentUnavailable
 */
export async function* archive(
  { files }: Pick<ArtifactRow, 'files'>,
  content: ContentReader,
  budget: Budget,
  overdue: () => void,
): AsyncGenerator<Buffer> {
  let giveBack: GiveBack = () => {};
  const contentOf = async ({ digest, size }: FileRow): Promise<Buffer> => {
    giveBack();
    giveBack = await budget.take(size, overdue);
    return await content.read(digest);
  };
  try {
    yield* zip(files, contentOf);
  } finally {
    giveBack();
  }
}

/** Rows are shared by catalogues while nothing changes, so an archive is read for its digest once. */
const digests = new WeakMap<ArtifactRow, Promise<string>>();

/**
 * `sha256:<hex>` of the archive.
 * @throws ContentUnavailable
 */
export function archiveDigest(row: ArtifactRow, content: ContentReader, budget: Budget): Promise<string> {
  const known = digests.get(row);
  if (known !== undefined) return known;
  const digest = hashed(archive(row, content, budget, () => {}));
  digests.set(row, digest);
  digest.catch(() => digests.delete(row));
  return digest;
}

const hashedAtOnce = 1024 * 1024;

async function hashed(pieces: AsyncIterable<Buffer>): Promise<string> {
  const slices = new Slices();
  const hash = createHash('sha256');
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += hashedAtOnce) {
      hash.update(piece.subarray(at, at + hashedAtOnce));
      if (slices.over) await slices.turn();
    }
  }
  return `sha256:${hash.digest('hex')}`;
}
