// The archive of a skill: all its files from its own folder on, as clients unpack them, and the digest of those bytes.
import type { ContentReader } from '../../catalogue/content.ts';
import type { ArtifactRow } from '../../catalogue/source-catalogue.ts';
import type { Budget } from '../budget.ts';
import { digestOfPieces, FilesInTurn } from './files-in-turn.ts';
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
  using inTurn = new FilesInTurn(content, budget, overdue);
  yield* zip(files, (file) => inTurn.read(file));
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
  const digest = digestOfPieces(archive(row, content, budget, () => {}));
  digests.set(row, digest);
  digest.catch(() => digests.delete(row));
  return digest;
}
