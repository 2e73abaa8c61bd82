// Reads the catalogue file of a source. Rows that the version before had too are the same objects in the new one.
import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { z } from 'zod';
import { LineTooLong, readFirstLine, readLines } from './json-lines.ts';
import {
  type ArtifactRow,
  artifactRowSchema,
  type CatalogueRef,
  type FileRow,
  type FirstFilesRow,
  firstFilesRowSchema,
  type PackFileRow,
  type ProblemRow,
  packFileRowSchema,
  problemRowSchema,
  type SourceCatalogue,
  type SourceHeader,
  sourceCatalogueFormat,
  sourceHeaderSchema,
} from './source-catalogue.ts';
import { CatalogueUnreadable, checkFormat, unreadable } from './unreadable.ts';

/** Longer than any line that a publication writes, in bytes. */
const longestLine = 4 * 1024 * 1024;

type Row = ArtifactRow | PackFileRow | ProblemRow;

/** A catalogue as it was read, with what the next reading needs to know its rows again. */
export interface LoadedSourceCatalogue extends SourceCatalogue {
  /** 16 bytes of SHA-256 of each row's line, one character a byte, in the order of artifacts, files, problems. */
  readonly lineDigests: readonly string[];
}

/**
 * The catalogue that an index.json or a record names, checked against its digest.
 * @param root absolute path of the volume
 * @param options.reuse the catalogue of this source that was read before: rows with the same line are taken from it
 * @throws CatalogueUnreadable
 */
export async function readSourceCatalogue(
  root: string,
  ref: CatalogueRef,
  options: { reuse?: LoadedSourceCatalogue | undefined } = {},
): Promise<LoadedSourceCatalogue> {
  const reading = new Reading(ref.path, options.reuse);
  let read: { size: number; digest: string };
  try {
    read = await readLines(join(root, ref.path), longestLine, (line) => reading.take(line));
  } catch (error) {
    throw unreadableLines(ref.path, error);
  }
  if (read.size !== ref.size || read.digest !== ref.digest) {
    throw new CatalogueUnreadable('Corrupt', ref.path, 'is not the file that was published: its digest differs');
  }
  return reading.end();
}

/**
 * The header of a catalogue file; the rest is neither read nor checked.
 * @throws CatalogueUnreadable
 */
export async function readSourceHeader(root: string, path: string): Promise<SourceHeader> {
  try {
    return parseHeader(path, await readFirstLine(join(root, path), longestLine));
  } catch (error) {
    throw unreadableLines(path, error);
  }
}

/** One file being read, line by line. */
class Reading {
  readonly #path: string;
  readonly #known: ReadonlyMap<string, Row>;
  #header: SourceHeader | undefined;
  readonly #texts = new Map<string, string>();
  #firstFiles: FileRow[] = [];
  #firstFilesDigest = '';
  readonly #artifacts: ArtifactRow[] = [];
  readonly #files: PackFileRow[] = [];
  readonly #problems: ProblemRow[] = [];
  readonly #digests: { artifacts: string[]; files: string[]; problems: string[] } = {
    artifacts: [],
    files: [],
    problems: [],
  };

  constructor(path: string, reuse: LoadedSourceCatalogue | undefined) {
    this.#path = path;
    this.#known = rowsByDigest(reuse);
  }

  take(line: Buffer): void {
    if (this.#header === undefined) {
      this.#header = parseHeader(this.#path, line);
      return;
    }
    const lineDigest = shortDigest(line);
    const digest = this.#firstFilesDigest === '' ? lineDigest : chained(this.#firstFilesDigest, lineDigest);
    const known = this.#known.get(digest);
    const row = known ?? this.#parse(line);
    switch (row?.row) {
      case 'files':
        this.#firstFiles.push(...row.files);
        this.#firstFilesDigest = digest;
        return;
      case 'artifact':
        if (known === undefined && this.#firstFiles.length > 0) row.files = [...this.#firstFiles, ...row.files];
        this.#firstFiles = [];
        this.#firstFilesDigest = '';
        this.#artifacts.push(row);
        this.#digests.artifacts.push(digest);
        return;
      case 'file':
        this.#files.push(row);
        this.#digests.files.push(digest);
        return;
      case 'problem':
        this.#problems.push(row);
        this.#digests.problems.push(digest);
        return;
    }
  }

  end(): LoadedSourceCatalogue {
    if (this.#header === undefined) throw new CatalogueUnreadable('Corrupt', this.#path, 'is empty');
    return {
      header: this.#header,
      artifacts: this.#artifacts,
      files: this.#files,
      problems: this.#problems,
      lineDigests: [...this.#digests.artifacts, ...this.#digests.files, ...this.#digests.problems],
    };
  }

  /** A line's row; undefined for one of a kind that this version does not know. */
  #parse(line: Buffer): Row | FirstFilesRow | undefined {
    const content = parseLine(this.#path, line);
    const kind = 'row' in content ? String(content.row) : '';
    const schema = rowSchemas.get(kind);
    if (schema === undefined) return undefined;
    const parsed = schema.safeParse(content);
    if (!parsed.success) throw new CatalogueUnreadable('Corrupt', this.#path, `has a damaged row of kind ${kind}`);
    // What was parsed from JSON itself: it is a third smaller in memory than the copy that the schema makes of it.
    return this.#compact(content as Row | FirstFilesRow);
  }

  /** One string object for each media type, and for a description that stands in the frontmatter as well. */
  #compact<T extends Row | FirstFilesRow>(row: T): T {
    if (row.row === 'file') row.mediaType = this.#shared(row.mediaType);
    if ('files' in row) for (const file of row.files) file.mediaType = this.#shared(file.mediaType);
    if (row.row === 'artifact' && row.frontmatter?.description === row.description) {
      row.frontmatter.description = row.description;
    }
    return row;
  }

  #shared(text: string): string {
    const known = this.#texts.get(text);
    if (known === undefined) this.#texts.set(text, text);
    return known ?? text;
  }
}

const rowSchemas = new Map<string, z.ZodType<Row | FirstFilesRow>>([
  ['artifact', artifactRowSchema],
  ['files', firstFilesRowSchema],
  ['file', packFileRowSchema],
  ['problem', problemRowSchema],
]);

function rowsByDigest(catalogue: LoadedSourceCatalogue | undefined): Map<string, Row> {
  const known = new Map<string, Row>();
  if (catalogue === undefined) return known;
  let at = 0;
  for (const rows of [catalogue.artifacts, catalogue.files, catalogue.problems] as Row[][]) {
    for (const row of rows) known.set(catalogue.lineDigests[at++] as string, row);
  }
  return known;
}

const shortDigest = (bytes: Uint8Array): string => hash('sha256', bytes, 'binary').slice(0, 16);

/** The digest of an artifact's line behind lines with its first files. */
const chained = (before: string, digest: string): string => shortDigest(Buffer.from(before + digest, 'latin1'));

function parseHeader(path: string, line: Buffer): SourceHeader {
  const content = parseLine(path, line);
  checkFormat(path, 'format' in content ? content.format : undefined, sourceCatalogueFormat);
  const parsed = sourceHeaderSchema.safeParse(content);
  if (!parsed.success) throw new CatalogueUnreadable('Corrupt', path, 'has a damaged header');
  return parsed.data;
}

function parseLine(path: string, line: Buffer): object {
  let content: unknown;
  try {
    content = JSON.parse(line.toString());
  } catch {
    // Said below, together with a line that is JSON and no object.
  }
  if (typeof content === 'object' && content !== null) return content;
  throw new CatalogueUnreadable('Corrupt', path, 'has a line that is no JSON object');
}

const unreadableLines = (path: string, error: unknown): CatalogueUnreadable =>
  error instanceof LineTooLong
    ? new CatalogueUnreadable('Corrupt', path, `is damaged: ${error.message}`)
    : unreadable(path, error);
