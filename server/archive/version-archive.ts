// The archive of one version of a skill, rule or profile, as it is installed: a gzipped tar of its files and their manifest.
import type { ContentReader } from '../../catalogue/content.ts';
import { byCodePoint } from '../../catalogue/names.ts';
import type { ArtifactRow, FileRow } from '../../catalogue/source-catalogue.ts';
import { installationManifest, installedFiles, manifestPath } from '../answers/installation.ts';
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
  readonly #row: ArtifactRow;
  readonly #manifest: Buffer;
  readonly #entries: readonly Entry[];
  readonly #content: ContentReader;

  /** @param version one of the artifact's */
  constructor(view: View, artifact: Artifact, version: ArtifactRow) {
    const manifest = installationManifest(view, artifact, version, '');
    this.#row = version;
    this.#manifest = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
    this.#content = view.snapshot.content;
    const files = installedFiles(version).map((file): Entry => ({ path: file.path, size: file.size, file }));
    const all = [...files, { path: manifestPath, size: this.#manifest.length }];
    this.#entries = all.sort((a, b) => byCodePoint(a.path, b.path));
    this.size = gzipSize(tarPieces(this.#entries));
  }

  /**
   * Each file is read when its turn has come.
   * @param budget for the bytes that are in memory until the next piece is asked for
   * @param overdue ends whatever takes the pieces, when others have waited long enough
   * @throws ContentUnavailable
   */
  async *pieces(budget: Budget, overdue: () => void): AsyncGenerator<Buffer> {
    using inTurn = new FilesInTurn(this.#content, budget, overdue);
    yield* gzip(tar(this.#entries, ({ file }) => (file === undefined ? this.#manifest : inTurn.read(file))));
  }

  /**
   * `sha256:<hex>` of its bytes. The files are read for it once.
   * @throws ContentUnavailable
   */
  digest(budget: Budget): Promise<string> {
    const known = digests.get(this.#row);
    if (known?.manifest.equals(this.#manifest)) return known.digest;
    const digest = digestOfPieces(this.pieces(budget, () => {}));
    digests.set(this.#row, { manifest: this.#manifest, digest });
    digest.catch(() => digests.delete(this.#row));
    return digest;
  }
}

interface Entry {
  path: string;
  size: number;
  /** Left out: the manifest. */
  file?: FileRow;
}

/** By version, with the manifest that the archive had then: it names the source's revision, which moves by itself. */
const digests = new WeakMap<ArtifactRow, { manifest: Buffer; digest: Promise<string> }>();
