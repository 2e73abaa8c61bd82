// One look at one source: credentials, probe, tree, harvest, publication. Says what it found, or throws a fault.
import { type HarvestResult, type HarvestRules, harvest } from '../harvest/harvest.ts';
import type { Cluster, KubernetesObject } from '../kubernetes/cluster.ts';
import { openBlobs } from '../publish/blob-store.ts';
import { isThere, type RecordHead, readRecord, sourceMemory, writeRecord } from '../publish/record.ts';
import { digestsOf, publishSource } from '../publish/source-publication.ts';
import { storageFault } from '../publish/storage-fault.ts';
import type { Volume } from '../publish/volume.ts';
import type { SkillSourceSpec } from '../resources/skill-source.ts';
import type { LookContext } from '../source/backend.ts';
import type { Backends } from '../source/backends.ts';
import { withSettledTree } from '../source/settled.ts';
import type { Tree } from '../source/source.ts';
import { rfc3339 } from './conditions.ts';
import { namedSecret } from './named-secret.ts';
import type { SourceSettings } from './source-state.ts';

export interface LookRequest {
  object: KubernetesObject;
  spec: SkillSourceSpec;
  specDigest: string;
  settings: SourceSettings;
  limits: LookContext['limits'];
  secret: ReadonlyMap<string, Buffer>;
  /** What is published now. */
  record: RecordHead | undefined;
  /** Harvest even when upstream's revision is the published one. */
  force: boolean;
  signal: AbortSignal;
  received: LookContext['received'];
  gitReader: LookContext['gitReader'];
}

export type LookOutcome =
  | { found: 'unchanged' }
  | { found: 'published'; record: RecordHead; result: HarvestResult; contentChanged: boolean };

export interface LookEdges {
  cluster: Cluster;
  volume: Volume;
  backends: Backends;
  now(): number;
}

/** @throws UpstreamFault, SourceFault */
export async function look(request: LookRequest, { cluster, volume, backends, now }: LookEdges): Promise<LookOutcome> {
  const { object, spec, record, force, signal, limits, secret, received, gitReader } = request;
  const { namespace, name } = object.metadata;
  const key = { namespace, name };
  await using scratch = volume.scratch();
  const memory = sourceMemory(volume, key);
  const context: LookContext = { limits, signal, secret, memory, scratch: scratch.path, received, gitReader };
  const source = await backends.open(spec, namespace, context, cluster);
  try {
    const isPublished = !force && record !== undefined && (await isThere(volume, key, record));
    if (isPublished && (await source.probe()) === record.revision) return { found: 'unchanged' };
    await scratch.create();
    return await withSettledTree(source, (tree) => harvestAndPublish(tree, request, volume, now));
  } catch (error) {
    // Faults of a server, a folder and a publication are told as what they are; what is left is a reader's scratch folder.
    throw storageFault('use', 'tmp', error);
  } finally {
    await source.close();
  }
}

async function harvestAndPublish(
  tree: Tree,
  { object, spec, specDigest, settings, limits, record, signal }: LookRequest,
  volume: Volume,
  now: () => number,
): Promise<LookOutcome> {
  const { namespace, name, uid } = object.metadata;
  const key = { namespace, name };
  const rules: HarvestRules = {
    include: spec.include,
    exclude: spec.exclude,
    subdirectory: spec.subdirectory,
    library: settings.library,
    source: name,
    url: spec.url,
    limits,
  };
  const blobs = await openBlobs(volume, key, record?.segments ?? []);
  try {
    const known = record === undefined ? undefined : await readRecord(volume, key);
    const result = await harvest(tree, rules, known?.contents ?? new Map(), blobs, signal);
    const segments = await blobs.seal(digestsOf(result).union(new Set(result.kept)));
    const publication = await publishSource(volume, key, {
      harvest: result,
      revision: tree.revision,
      segments,
      current: record?.catalogue,
    });
    const contentChanged = record?.artifactDigest !== publication.artifactDigest;
    const next: RecordHead = {
      uid,
      specDigest,
      settings,
      revision: tree.revision,
      built: contentChanged || record === undefined ? rfc3339(now()) : record.built,
      artifactDigest: publication.artifactDigest,
      catalogue: publication.catalogue,
      counts: result.counts,
      files: result.fileCount,
      size: result.size,
      segments,
    };
    await writeRecord(volume, key, { ...next, contents: result.contents });
    return { found: 'published', record: next, result, contentChanged };
  } finally {
    await blobs.discard();
  }
}

/** The Secret that a spec names. @throws SourceFault SecretNotFound */
export async function secretOf(
  cluster: Pick<Cluster, 'readSecret'>,
  namespace: string,
  spec: SkillSourceSpec,
): Promise<{ data: ReadonlyMap<string, Buffer>; version: string | undefined }> {
  const name = spec.secretRef?.name;
  if (name === undefined) return { data: new Map(), version: undefined };
  const { data, resourceVersion } = await namedSecret(cluster, namespace, name, 'spec.secretRef');
  return { data, version: resourceVersion };
}
