// The files that an index.json and its catalogues name, with what each must be. Pure.
import type { Index } from '../catalogue/index-file.ts';
import { cataloguePath, segmentIndexPath, segmentPath } from '../catalogue/layout.ts';
import type { CatalogueRef, SegmentRef } from '../catalogue/source-catalogue.ts';
import { SyncFault } from './fault.ts';

export interface WantedCatalogue {
  source: string;
  ref: CatalogueRef;
}

export interface WantedSegment {
  ref: SegmentRef;
  path: string;
  indexPath: string;
  /** Of the file at indexPath. */
  indexSize: number;
}

const bytesOfRecord = 44;
const objectName = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** @throws SyncFault DigestMismatch where a path is not the one that its digest has: nothing is written elsewhere */
export function wantedCatalogues({ gateway: { namespace }, sources }: Index): WantedCatalogue[] {
  return sources.flatMap(({ name, catalogue }) => {
    if (catalogue === undefined) return [];
    if (!objectName.test(name) || catalogue.path !== cataloguePath(namespace, name, catalogue.digest)) {
      throw new SyncFault('DigestMismatch', 'index.json names a catalogue at a place that is not its own');
    }
    return [{ source: name, ref: catalogue }];
  });
}

export const wantedSegments = (namespace: string, source: string, segments: readonly SegmentRef[]): WantedSegment[] =>
  segments.map((ref) => ({
    ref,
    path: segmentPath(namespace, source, ref.digest),
    indexPath: segmentIndexPath(namespace, source, ref.digest),
    indexSize: ref.blobs * bytesOfRecord,
  }));
