// A folder as a volume, small harvests, and a reader that reads everything a gateway serves and believes nothing.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ContentReader } from '../../catalogue/content.ts';
import { digestOf } from '../../catalogue/digest.ts';
import type { Index, IndexContent, IndexSource } from '../../catalogue/index-file.ts';
import { readIndex } from '../../catalogue/index-reader.ts';
import { SegmentReader } from '../../catalogue/segment-reader.ts';
import type { ArtifactRow, FileRow } from '../../catalogue/source-catalogue.ts';
import { type LoadedSourceCatalogue, readSourceCatalogue } from '../../catalogue/source-catalogue-reader.ts';
import { openBlobs } from '../../operator/publish/blob-store.ts';
import { type PublishedIndex, publishIndex } from '../../operator/publish/gateway-publication.ts';
import type { Key } from '../../operator/publish/key.ts';
import { readRecord, type SourceRecord, writeRecord } from '../../operator/publish/record.ts';
import { digestsOf, type Harvested, publishSource } from '../../operator/publish/source-publication.ts';
import type { Volume } from '../../operator/publish/volume.ts';

export const gateway: Key = { namespace: 'flow', name: 'agents' };
export const source: Key = { namespace: 'flow', name: 'pack' };

/** A skill's files by path, `SKILL.md` among them. */
export type Skills = Record<string, Record<string, string | Uint8Array>>;

export async function temporaryFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'lyceum-volume-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export function fileRow(path: string, content: string | Uint8Array): FileRow {
  const bytes = Buffer.from(content);
  return { path, digest: digestOf(bytes), size: bytes.length, mediaType: 'text/markdown', text: true };
}

export function harvestOf(skills: Skills): Harvested {
  const artifacts = Object.entries(skills).map(
    ([address, files]): ArtifactRow => ({
      row: 'artifact',
      kind: 'skill',
      address,
      name: address,
      version: '0.0.0',
      folder: `skills/${address}`,
      description: `What ${address} is for`,
      tags: [],
      frontmatter: { name: address, description: `What ${address} is for` },
      advertised: true,
      main: 'SKILL.md',
      files: Object.entries(files).map(([path, content]) => fileRow(path, content)),
    }),
  );
  const files = artifacts.flatMap((artifact) => artifact.files);
  return {
    artifacts,
    files: [],
    problems: [],
    counts: {
      skills: artifacts.length,
      prompts: 0,
      rules: 0,
      profiles: 0,
      files: 0,
      discovered: artifacts.length,
      duplicates: 0,
      rejected: 0,
      problems: 0,
    },
    fileCount: files.length,
    size: files.reduce((sum, { size }) => sum + size, 0),
  };
}

/** Publishes a source the way a look does, from the record on the volume to the new one. */
export async function publishSkills(
  volume: Volume,
  skills: Skills,
  revision: string,
  key: Key = source,
): Promise<SourceRecord> {
  const before = await readRecord(volume, key);
  await using blobs = await openBlobs(volume, key, before?.segments ?? []);
  for (const files of Object.values(skills))
    for (const content of Object.values(files)) await blobs.add(Buffer.from(content));
  const harvest = harvestOf(skills);
  const segments = await blobs.seal(digestsOf(harvest));
  const current = before?.catalogue;
  const { catalogue, artifactDigest } = await publishSource(volume, key, { harvest, revision, segments, current });
  const record: SourceRecord = {
    uid: 'uid-1',
    specDigest: 'spec-1',
    settings: { library: key.name, tags: [] },
    revision,
    built: '2026-01-01T00:00:00Z',
    artifactDigest,
    catalogue,
    counts: harvest.counts,
    files: harvest.fileCount,
    size: harvest.size,
    segments,
    contents: new Map(),
  };
  await writeRecord(volume, key, record);
  return record;
}

export function indexSource(key: Key, record: SourceRecord): IndexSource {
  const { revision, built, counts, catalogue } = record;
  return { name: key.name, state: 'ok', library: key.name, tags: [], revision, built, counts, catalogue, moves: [] };
}

export const indexContent = (sources: IndexSource[]): IndexContent => ({ scope: {}, libraries: [], sources });

/** Publishes a source and the one gateway that selects it. */
export async function publish(volume: Volume, skills: Skills, revision: string): Promise<PublishedIndex> {
  const record = await publishSkills(volume, skills, revision);
  return await publishIndex(volume, gateway, indexContent([indexSource(source, record)]));
}

export interface Served {
  index: Index;
  catalogues: LoadedSourceCatalogue[];
  /** `<source>/<skill>/<path>` to the bytes that were read. */
  files: Map<string, Buffer>;
}

/** Loads what a gateway serves now and reads every file of it: as a server would, and every digest is checked. */
export async function readAll(root: string, reader: SegmentReader): Promise<Served> {
  const index = await readIndex(root, gateway.namespace, gateway.name);
  const catalogues: LoadedSourceCatalogue[] = [];
  for (const { catalogue } of index.sources) if (catalogue) catalogues.push(await readSourceCatalogue(root, catalogue));
  await reader.use(catalogues.map(({ header }) => ({ ...header.source, segments: header.segments })));
  const files = new Map<string, Buffer>();
  for (const catalogue of catalogues) await readCatalogue(catalogue, reader, files);
  return { index, catalogues, files };
}

async function readCatalogue(
  { header, artifacts }: LoadedSourceCatalogue,
  reader: ContentReader,
  files: Map<string, Buffer>,
): Promise<void> {
  for (const artifact of artifacts) {
    for (const { path, digest, size } of artifact.files) {
      const bytes = await reader.read(digest);
      assert.equal(digestOf(bytes), digest);
      assert.equal(bytes.length, size);
      files.set(`${header.source.name}/${artifact.address}/${path}`, bytes);
    }
  }
}

/** Reads everything once, with a reader of its own: path to text. */
export async function served(root: string): Promise<Record<string, string>> {
  const reader = new SegmentReader(root);
  try {
    const { files } = await readAll(root, reader);
    return Object.fromEntries([...files].map(([path, bytes]) => [path, bytes.toString()]));
  } finally {
    reader.close();
  }
}

/** Every file of a folder, below it, with what identifies its state: a file that was touched differs. */
export async function filesOf(
  root: string,
): Promise<Record<string, { inode: bigint; modified: bigint; size: bigint }>> {
  const files: Record<string, { inode: bigint; modified: bigint; size: bigint }> = {};
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const { ino, mtimeNs, size } = await stat(path, { bigint: true });
    files[path.slice(root.length + 1)] = { inode: ino, modified: mtimeNs, size };
  }
  return files;
}
