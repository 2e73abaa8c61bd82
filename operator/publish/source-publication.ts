// Publishes the catalogue of one source at one revision: an immutable file of JSON lines, named by its digest.
import { createHash } from 'node:crypto';
import { cataloguePath } from '../../catalogue/layout.ts';
import {
  type ArtifactRow,
  type CatalogueRef,
  type Counts,
  type FileRow,
  type FirstFilesRow,
  filesPerLine,
  type PackFileRow,
  type ProblemRow,
  type SegmentRef,
  type SourceHeader,
  sourceCatalogueFormat,
} from '../../catalogue/source-catalogue.ts';
import type { Key } from './key.ts';
import { LineWriter } from './line-writer.ts';
import type { Volume } from './volume.ts';

/** What a harvest found, in the order in which it is served. */
export interface Harvested {
  artifacts: readonly ArtifactRow[];
  files: readonly PackFileRow[];
  problems: readonly ProblemRow[];
  counts: Counts;
  /** Number of distinct files, and the bytes of them all. */
  fileCount: number;
  size: number;
}

export interface SourcePublication {
  harvest: Harvested;
  /** What upstream calls the state that was harvested. */
  revision: string;
  /** Where the harvest's blobs are, as the blob store gave it. */
  segments: readonly SegmentRef[];
  /** The catalogue that is published now, if any: when the new one is the same file, nothing is written. */
  current?: CatalogueRef | undefined;
}

export interface PublishedSource {
  catalogue: CatalogueRef;
  /** SHA-256 over what is served, `sha256:<hex>`: rows of artifacts and files, not revision, problems or segments. */
  artifactDigest: string;
}

/**
 * Writes the catalogue file. The same harvest, revision and segments give the same bytes.
 * @throws SourceFault StorageFailed
 */
export async function publishSource(
  volume: Volume,
  key: Key,
  publication: SourcePublication,
): Promise<PublishedSource> {
  const { harvest, revision, segments, current } = publication;
  const header: SourceHeader = {
    row: 'header',
    format: sourceCatalogueFormat,
    source: { namespace: key.namespace, name: key.name },
    revision,
    counts: harvest.counts,
    files: harvest.fileCount,
    size: harvest.size,
    segments: segments.map(({ digest, size, blobs }) => ({ digest, size, blobs })),
  };
  const lines = new LineWriter();
  const served = createHash('sha256');
  await lines.add(header);
  for (const row of harvest.artifacts) for (const line of artifactLines(row)) served.update(await lines.add(line));
  for (const row of harvest.files) served.update(await lines.add({ row: 'file', ...fileFields(row) }));
  for (const row of harvest.problems) await lines.add(problemFields(row));

  const { pieces, size, digest } = lines.end();
  const catalogue: CatalogueRef = { path: cataloguePath(key.namespace, key.name, digest), digest, size };
  const unchanged = current?.digest === digest && (await volume.stat(catalogue.path))?.size === size;
  if (!unchanged) await volume.write(catalogue.path, pieces);
  return { catalogue, artifactDigest: `sha256:${served.digest('hex')}` };
}

/** Every digest that the rows name, each once. */
export function digestsOf(harvest: Pick<Harvested, 'artifacts' | 'files'>): Set<string> {
  const digests = new Set<string>();
  for (const artifact of harvest.artifacts) for (const file of artifact.files) digests.add(file.digest);
  for (const file of harvest.files) digests.add(file.digest);
  return digests;
}

function* artifactLines(row: ArtifactRow): Generator<FirstFilesRow | ArtifactRow> {
  const files = row.files.map(fileFields);
  let at = 0;
  for (; files.length - at > filesPerLine; at += filesPerLine) {
    yield { row: 'files', files: files.slice(at, at + filesPerLine) };
  }
  yield {
    row: 'artifact',
    kind: row.kind,
    address: row.address,
    name: row.name,
    version: row.version,
    ...(row.group === undefined ? {} : { group: row.group }),
    folder: row.folder,
    ...(row.versionsIn === undefined ? {} : { versionsIn: row.versionsIn }),
    ...(row.title === undefined ? {} : { title: row.title }),
    description: row.description,
    tags: row.tags,
    ...(row.frontmatter === undefined ? {} : { frontmatter: row.frontmatter }),
    advertised: row.advertised,
    ...(row.prompt === undefined ? {} : { prompt: promptFields(row.prompt) }),
    main: row.main,
    files: files.slice(at),
  };
}

type Prompt = NonNullable<ArtifactRow['prompt']>;

// Each field by its name, so that the bytes do not hang on the order in which a harvest set them.
const fileFields = ({ path, digest, size, mediaType, text }: FileRow): FileRow => ({
  path,
  digest,
  size,
  mediaType,
  text,
});

const promptFields = ({ dialect, arguments: taken }: Prompt): Prompt => ({
  dialect,
  arguments: taken.map(({ name, description, required, default: preset }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    required,
    ...(preset === undefined ? {} : { default: preset }),
  })),
});

const problemFields = ({ path, line, severity, reason, message }: ProblemRow): ProblemRow => ({
  row: 'problem',
  path,
  ...(line === undefined ? {} : { line }),
  severity,
  reason,
  message,
});
