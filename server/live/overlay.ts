// Newer bytes of single files, over the rows of the catalogue that is loaded. Bounded; those that were used lately stay.
import { isUtf8 } from 'node:buffer';
import type { ContentReader } from '../../catalogue/content.ts';
import type { ParsedMain } from '../../catalogue/main-text.ts';
import { parseSkill, tooMuch } from '../../catalogue/skill-text.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { ArtifactRow, FileRow, PackFileRow, SourceCatalogue } from '../../catalogue/source-catalogue.ts';

export type Row = ArtifactRow | PackFileRow;

interface Newer {
  /** The row of the catalogue, which is another object once the catalogue says something else of it. */
  row: Row;
  source: string;
  path: string;
  digest: string;
  bytes: Buffer;
  /** What it says, where it is a SKILL.md. */
  said: ParsedMain | undefined;
}

/** Bytes over all sources. */
const mostBytes = 64 * 2 ** 20;

export class Overlay {
  readonly #newer = new Map<Row, Map<string, Newer>>();
  /** In the order of their last use. */
  readonly #order = new Set<Newer>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get sources(): ReadonlySet<string> {
    return new Set([...this.#order].map(({ source }) => source));
  }

  /** The digest of the newer bytes of a file, where there are any. */
  digestOf(row: Row, path: string): string | undefined {
    const newer = this.#newer.get(row)?.get(path);
    if (newer === undefined) return undefined;
    this.#order.delete(newer);
    this.#order.add(newer);
    return newer.digest;
  }

  /** @returns false for bytes that no overlay takes: then the catalogue's stay */
  put(source: string, row: Row, path: string, digest: string, bytes: Buffer): boolean {
    const isMain = row.row === 'artifact' && row.main === path;
    if (bytes.length > mostBytes / 2 || (isMain && (bytes.length === 0 || !isUtf8(bytes)))) return false;
    const said = isMain && row.kind === 'skill' ? parseSkill(bytes, true) : undefined;
    if (said?.rejected !== undefined) return false;
    this.remove(row, path);
    const newer: Newer = { row, source, path, digest, bytes, said };
    const files = this.#newer.get(row) ?? new Map<string, Newer>();
    this.#newer.set(row, files.set(path, newer));
    this.#order.add(newer);
    this.#bytes += bytes.length;
    for (const oldest of this.#order) {
      if (this.#bytes <= mostBytes) break;
      this.remove(oldest.row, oldest.path);
    }
    return true;
  }

  /** @returns whether there was anything */
  remove(row: Row, path: string): boolean {
    const files = this.#newer.get(row);
    const newer = files?.get(path);
    if (files === undefined || newer === undefined) return false;
    files.delete(path);
    if (files.size === 0) this.#newer.delete(row);
    this.#order.delete(newer);
    this.#bytes -= newer.bytes.length;
    return true;
  }

  /** Forgets what lies over rows that no catalogue has any longer: a look of the operator has brought something newer. */
  async keepOnly(catalogues: ReadonlyMap<string, SourceCatalogue>): Promise<void> {
    if (this.#newer.size === 0) return;
    const slices = new Slices();
    const there = new Set<Row>();
    for (const source of this.sources) {
      const catalogue = catalogues.get(source);
      for (const row of [...(catalogue?.artifacts ?? []), ...(catalogue?.files ?? [])]) {
        if (this.#newer.has(row)) there.add(row);
        if (slices.over) await slices.turn();
      }
    }
    for (const { row, path } of [...this.#order]) if (!there.has(row)) this.remove(row, path);
  }

  /** Forgets what lies over a source. @returns whether there was anything */
  forget(source: string): boolean {
    const own = [...this.#order].filter((newer) => newer.source === source);
    for (const { row, path } of own) this.remove(row, path);
    return own.length > 0;
  }

  /** What lies over the catalogue now; it stays so, whatever comes and goes while it is used. */
  layer(): Layer {
    return new Layer([...this.#order]);
  }
}

/** Newer files as they were at one moment: the rows that tell their digests, and the bytes that have these. */
export class Layer {
  readonly sources: ReadonlySet<string>;
  readonly #newer = new Map<Row, Map<string, Newer>>();
  readonly #bytes: ReadonlyMap<string, Buffer>;

  constructor(all: readonly Newer[]) {
    this.sources = new Set(all.map(({ source }) => source));
    this.#bytes = new Map(all.map(({ digest, bytes }) => [digest, bytes]));
    for (const newer of all) {
      const files = this.#newer.get(newer.row) ?? new Map<string, Newer>();
      this.#newer.set(newer.row, files.set(newer.path, newer));
    }
  }

  /**
   * A catalogue with the newer files in it. Rows without any are the same objects.
   * @param origins is told of each new row which one it came from
   */
  async over<Catalogue extends SourceCatalogue>(catalogue: Catalogue, origins: WeakMap<Row, Row>): Promise<Catalogue> {
    const slices = new Slices();
    const artifacts: ArtifactRow[] = [];
    for (const row of catalogue.artifacts) {
      if (slices.over) await slices.turn();
      const newer = this.#newer.get(row);
      const made = newer && edited(row, newer);
      if (made !== undefined) origins.set(made, row);
      artifacts.push(made ?? row);
    }
    const files: PackFileRow[] = [];
    for (const row of catalogue.files) {
      if (slices.over) await slices.turn();
      const newer = this.#newer.get(row)?.get(row.path);
      const made = newer && { ...row, ...replaced(row, newer) };
      if (made !== undefined) origins.set(made, row);
      files.push(made ?? row);
    }
    return { ...catalogue, artifacts, files };
  }

  /** Reads the newer bytes, also after the overlay has lost them, and everything else from the volume. */
  reader(below: ContentReader): ContentReader {
    return { read: (digest) => Promise.resolve(this.#bytes.get(digest) ?? below.read(digest)) };
  }
}

/**
 * A row as its newer files have it. Names and addresses stay as they are until the operator looks; the version of a folder of
 * versions is the folder's, whatever its files say.
 */
function edited(row: ArtifactRow, newer: ReadonlyMap<string, Newer>): ArtifactRow {
  const files = row.files.map((file) => replaced(file, newer.get(file.path)));
  if (row.kind !== 'skill') return { ...row, files };
  const fits = tooMuch(files).length === 0;
  const said = newer.get(row.main)?.said;
  if (said === undefined) return { ...row, files, advertised: row.advertised && fits };
  const { frontmatter: _, ...rest } = row;
  const { name, description, version, tags, frontmatter, unadvertised } = said;
  return {
    ...rest,
    description,
    version: row.versionsIn === undefined ? version : row.version,
    tags,
    ...(frontmatter === undefined ? {} : { frontmatter }),
    advertised: fits && unadvertised.length === 0 && name === row.name,
    files,
  };
}

const replaced = (file: FileRow, newer: Newer | undefined): FileRow =>
  newer === undefined ? file : { ...file, digest: newer.digest, size: newer.bytes.length, text: isUtf8(newer.bytes) };
