// Deletes from the volume what no custom resource names and what nobody reads any longer.
import { basename } from 'node:path';
import { readIndex } from '../../catalogue/index-reader.ts';
import {
  cataloguesFolder,
  gatewayFolder,
  indexPath,
  memoryPath,
  recordPath,
  segmentsFolder,
  sourceFolder,
} from '../../catalogue/layout.ts';
import { readSourceHeader } from '../../catalogue/source-catalogue-reader.ts';
import { CatalogueUnreadable } from '../../catalogue/unreadable.ts';
import {
  type CatalogueOnVolume,
  filesToDelete,
  type GatewayOnVolume,
  type SegmentOnVolume,
  type SourceOnVolume,
} from './collection-plan.ts';
import { graceMilliseconds, readHistory } from './history.ts';
import type { Key } from './key.ts';
import { readRecordHead } from './record.ts';
import type { Volume, VolumeFile } from './volume.ts';

/**
 * Whether a custom resource of this kind and key exists. Asked again right before anything of it is deleted. It must
 * not be asked before the whole list has arrived from the API server: an empty list would empty the volume.
 */
export interface Named {
  source(key: Key): boolean;
  gateway(key: Key): boolean;
}

export interface Collected {
  /** What was deleted, relative to the volume's root. */
  deleted: string[];
  /** Bytes of catalogues and segments that remain. */
  bytes: number;
}

/**
 * Collects once. Of a source that nobody names, the record and the upstream memory go at once and the content after an
 * hour, since servers may still be reading it; of a gateway that nobody names everything goes at once.
 * @param now milliseconds since 1970
 * @throws SourceFault StorageFailed
 */
export async function collect(volume: Volume, named: Named, now: number = Date.now()): Promise<Collected> {
  const collected: Collected = { deleted: [], bytes: 0 };
  const namespaces = new Set([...(await volume.list('sources')), ...(await volume.list('gateways'))]);
  for (const namespace of namespaces) await collectNamespace(volume, namespace, named, now, collected);
  await volume.sweep(now);
  return collected;
}

async function collectNamespace(
  volume: Volume,
  namespace: string,
  named: Named,
  now: number,
  collected: Collected,
): Promise<void> {
  const remove = async (path: string, condition: (file: VolumeFile) => boolean): Promise<void> => {
    if (await volume.removeWhen(path, condition)) collected.deleted.push(path);
  };
  const gateways: GatewayOnVolume[] = [];
  for (const name of await volume.list(`gateways/${namespace}`)) {
    const key = { namespace, name };
    await remove(gatewayFolder(namespace, name), () => !named.gateway(key));
    if (named.gateway(key)) gateways.push(await gatewayState(volume, key));
  }
  const sources: SourceOnVolume[] = [];
  for (const name of await volume.list(`sources/${namespace}`)) {
    const key = { namespace, name };
    const isGone = () => !named.source(key);
    await remove(recordPath(namespace, name), isGone);
    await remove(memoryPath(namespace, name), isGone);
    sources.push(await sourceState(volume, key, named.source(key)));
  }
  const old = (file: VolumeFile) => file.modified <= now - graceMilliseconds;
  for (const path of filesToDelete({ gateways, sources }, now)) await remove(path, old);

  const left = new Set(collected.deleted);
  for (const { catalogues, segments } of sources) {
    for (const { path, size } of [...catalogues, ...segments]) if (!left.has(path)) collected.bytes += size;
  }
  for (const name of await volume.list(`sources/${namespace}`)) {
    if (named.source({ namespace, name })) continue;
    for (const folder of [cataloguesFolder, segmentsFolder, sourceFolder])
      await volume.removeEmpty(folder(namespace, name));
  }
  await volume.removeEmpty(`sources/${namespace}`);
  await volume.removeEmpty(`gateways/${namespace}`);
}

async function gatewayState(volume: Volume, key: Key): Promise<GatewayOnVolume> {
  const history = await readHistory(volume, key);
  const known = history === undefined ? {} : { history };
  try {
    const { generation, sources } = await readIndex(volume.root, key.namespace, key.name);
    const catalogues = sources.flatMap(({ catalogue }) => (catalogue === undefined ? [] : [catalogue.path]));
    return { unknown: false, index: { generation, catalogues }, ...known };
  } catch (error) {
    if (!(error instanceof CatalogueUnreadable)) throw error;
    const isThere = (await volume.stat(indexPath(key.namespace, key.name))) !== undefined;
    return { unknown: isThere && history === undefined, ...known };
  }
}

async function sourceState(volume: Volume, key: Key, isNamed: boolean): Promise<SourceOnVolume> {
  const { namespace, name } = key;
  const head = await readRecordHead(volume, key);
  const catalogues: CatalogueOnVolume[] = [];
  for (const file of await filesIn(volume, cataloguesFolder(namespace, name), /^[0-9a-f]{64}\.jsonl$/)) {
    const segments = await segmentsNamedBy(volume, file.path);
    catalogues.push({ ...file, ...(segments === undefined ? {} : { segments }) });
  }
  const segments: SegmentOnVolume[] = [];
  for (const file of await filesIn(volume, segmentsFolder(namespace, name), /^[0-9a-f]{64}\.(segment|index)$/)) {
    segments.push({ ...file, digest: `sha256:${basename(file.path).slice(0, 64)}` });
  }
  const record = head === undefined ? {} : { record: { catalogue: head.catalogue.path, segments: head.segments } };
  return { named: isNamed, catalogues, segments, ...record };
}

async function segmentsNamedBy(volume: Volume, path: string): Promise<string[] | undefined> {
  try {
    const { segments } = await readSourceHeader(volume.root, path);
    return segments.map(({ digest }) => digest);
  } catch (error) {
    if (!(error instanceof CatalogueUnreadable)) throw error;
    return undefined;
  }
}

async function filesIn(volume: Volume, folder: string, names: RegExp): Promise<VolumeFile[]> {
  const files: VolumeFile[] = [];
  for (const name of await volume.list(folder)) {
    const file = names.test(name) ? await volume.stat(`${folder}/${name}`) : undefined;
    if (file !== undefined) files.push(file);
  }
  return files;
}
