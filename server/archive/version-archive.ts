// The archive of one version of a skill, rule or profile, as it is installed: a gzipped tar of its files and their manifest.
import type { ContentReader } from '../../catalogue/content.ts';
import { byCodePoint } from '../../catalogue/names.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { ArtifactRow, FileRow } from '../../catalogue/source-catalogue.ts';
import { installationManifest, installedFiles, installedFrom, manifestPath } from '../answers/installation.ts';
import type { Budget } from '../budget.ts';
import type { Artifact } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import { digestOfPieces, FilesInTurn } from './files-in-turn.ts';
import { gzip, gzipSize } from './gzip.ts';
import { tar, tarPieces } from './tar.ts';

/** An archive that can be made, the same bytes each time. */
export class VersionArchive {
  /** In bytes. */
  readonly size: number;
  readonly #made: Made;
  readonly #entries: readonly Entry[];
  readonly #content: ContentReader;

  private constructor(made: Made, entries: readonly Entry[], content: ContentReader) {
    this.size = made.size;
    this.#made = made;
    this.#entries = entries;
    this.#content = content;
  }

  /** @param version one of the artifact's */
  static async of(view: View, artifact: Artifact, version: ArtifactRow): Promise<VersionArchive> {
    const made = await madeOf(view, artifact, version);
    return new VersionArchive(made, entriesOf(version, made.manifest), view.snapshot.content);
  }

  /**
   * Each file is read when its turn has come.
   * @param budget for the bytes that are in memory until the next piece is asked for
   * @param overdue ends whatever takes the pieces, when others have waited long enough
   * @throws ContentUnavailable
   */
  async *pieces(budget: Budget, overdue: () => void): AsyncGenerator<Buffer> {
    using inTurn = new FilesInTurn(this.#content, budget, overdue);
    yield* gzip(tar(this.#entries, ({ file }) => (file === undefined ? this.#made.manifest : inTurn.read(file))));
  }

  /**
   * `sha256:<hex>` of its bytes. The files are read for it once.
   * @throws ContentUnavailable
   */
  digest(budget: Budget): Promise<string> {
    const made = this.#made;
    if (made.digest !== undefined) return made.digest;
    const digest = digestOfPieces(this.pieces(budget, () => {}));
    made.digest = digest;
    digest.catch(() => {
      made.digest = undefined;
    });
    return digest;
  }
}

interface Entry {
  path: string;
  size: number;
  /** Left out: the manifest. */
  file?: FileRow;
}

/** What costs more the more files there are, and is made once. */
interface Made {
  manifest: Buffer;
  size: number;
  digest?: Promise<string> | undefined;
}

/** By version, with what its manifest names besides: the source's revision moves by itself. */
const known = new WeakMap<ArtifactRow, { names: string; made: Promise<Made> }>();

function madeOf(view: View, artifact: Artifact, version: ArtifactRow): Promise<Made> {
  const names = JSON.stringify([artifact.row.name, installedFrom(view, artifact)]);
  const before = known.get(version);
  if (before?.names === names) return before.made;
  const manifest = installationManifest(view, artifact, version, '');
  const made = make(version, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
  known.set(version, { names, made });
  return made;
}

async function make(version: ArtifactRow, manifest: Buffer): Promise<Made> {
  const slices = new Slices();
  const pieces: number[] = [];
  for (const length of tarPieces(entriesOf(version, manifest))) {
    pieces.push(length);
    if (slices.over) await slices.turn();
  }
  return { manifest, size: gzipSize(pieces) };
}

function entriesOf(version: ArtifactRow, manifest: Buffer): Entry[] {
  const files = installedFiles(version).map((file): Entry => ({ path: file.path, size: file.size, file }));
  return [...files, { path: manifestPath, size: manifest.length }].sort((a, b) => byCodePoint(a.path, b.path));
}
