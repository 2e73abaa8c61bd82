// Decides what may be deleted from the volume. Pure: what is there, what custom resources name, and the time.
import type { SegmentRef } from '../../catalogue/source-catalogue.ts';
import { graceMilliseconds, type History, isKept, isRecent } from './history.ts';
import type { VolumeFile } from './volume.ts';

/** A gateway that a custom resource names. */
export interface GatewayOnVolume {
  /** It has an index.json that cannot be read, and no history that could be asked instead. */
  unknown: boolean;
  /** Paths of the catalogue files in its index.json; absent when that cannot be read. */
  index?: { generation: number; catalogues: readonly string[] };
  history?: History;
}

export interface CatalogueOnVolume extends VolumeFile {
  /** Digests of the segments that its header names; undefined when it cannot be read. */
  segments?: readonly string[];
}

export interface SegmentOnVolume extends VolumeFile {
  /** `sha256:<hex>`; the same for a segment's two files. */
  digest: string;
}

export interface SourceOnVolume {
  /** False when no custom resource names it. */
  named: boolean;
  /** What its record names. Absent where there is none that can be read. */
  record?: { catalogue: string; segments: readonly SegmentRef[] };
  catalogues: readonly CatalogueOnVolume[];
  segments: readonly SegmentOnVolume[];
}

/** One namespace: gateways serve no source of another. */
export interface NamespaceOnVolume {
  gateways: readonly GatewayOnVolume[];
  sources: readonly SourceOnVolume[];
}

/**
 * The files that nobody needs: catalogues that are in no current index and no record, were in none within the hour
 * and the last two generations, and were not written within the hour; and segments that no remaining catalogue and no
 * record names and that were not written within the hour. A source that no custom resource names has no record and no
 * generations to wait for, only the hour. Where a gateway tells neither by index nor by history what it serves,
 * nothing of its namespace is deleted.
 * @param now milliseconds since 1970
 * @returns paths
 */
export function filesToDelete({ gateways, sources }: NamespaceOnVolume, now: number): string[] {
  if (gateways.some(({ unknown }) => unknown)) return [];
  return sources.flatMap((source) => {
    const isServed = servedBy(gateways, source.named, now);
    const record = source.named ? source.record : undefined;
    const young = (file: VolumeFile) => file.modified > now - graceMilliseconds;
    const isNeeded = (catalogue: CatalogueOnVolume) =>
      young(catalogue) || record?.catalogue === catalogue.path || isServed(catalogue.path);
    const dead = source.catalogues.filter((catalogue) => !isNeeded(catalogue));
    const kept = source.catalogues.filter(isNeeded);
    // A catalogue whose header cannot be read may name any segment.
    const all = kept.some(({ segments }) => segments === undefined);
    const needed = new Set(kept.flatMap(({ segments }) => segments ?? []));
    for (const { digest } of record?.segments ?? []) needed.add(digest);
    const deadSegments = all ? [] : source.segments.filter((file) => !young(file) && !needed.has(file.digest));
    return [...dead, ...deadSegments].map(({ path }) => path);
  });
}

function servedBy(gateways: readonly GatewayOnVolume[], named: boolean, now: number): (path: string) => boolean {
  const current = new Set(gateways.flatMap(({ index }) => index?.catalogues ?? []));
  return (path) =>
    current.has(path) ||
    gateways.some(({ index, history }) => {
      const entry = history?.catalogues[path];
      if (entry === undefined || history === undefined) return false;
      return named ? isKept(entry, index?.generation ?? history.generation, now) : isRecent(entry, now);
    });
}
