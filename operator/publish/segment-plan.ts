// Which of a source's segments stay, and which blobs move out of those that are mostly dead or too many.
import type { SegmentIndex } from '../../catalogue/segment-index.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { SegmentRef } from '../../catalogue/source-catalogue.ts';

/** A published segment that is whole. */
export interface OldSegment {
  ref: SegmentRef;
  index: SegmentIndex;
}

export interface SegmentPlan {
  keep: SegmentRef[];
  /** Digests of the live blobs that are copied into the new segment. */
  copy: string[];
  /** A live digest that no segment holds. */
  missing?: string;
}

/** A source has at most so many segments; beyond, the smallest are merged until half as many stay. */
export const mostSegments = 32;

/**
 * Plans a publication. A segment with no live blob is dropped; one whose live bytes are less than half is copied.
 * @param live digests that the new catalogue names and the new segment does not hold; emptied by the call
 * @param writing whether a new segment is published in any case
 */
export async function planSegments(
  old: readonly OldSegment[],
  live: Set<string>,
  writing: boolean,
): Promise<SegmentPlan> {
  const slices = new Slices();
  const kept: { ref: SegmentRef; digests: string[]; bytes: number }[] = [];
  const copy: string[] = [];
  for (const { ref, index } of old) {
    const digests: string[] = [];
    let bytes = 0;
    for (const [digest, { length }] of index.entries()) {
      if (slices.over) await slices.turn();
      if (!live.delete(digest)) continue;
      digests.push(digest);
      bytes += length;
    }
    if (digests.length === 0) continue;
    if (bytes * 2 < ref.size) for (const digest of digests) copy.push(digest);
    else kept.push({ ref, digests, bytes });
  }
  const [missing] = live;
  if (kept.length + (writing || copy.length > 0 ? 1 : 0) > mostSegments) {
    const bySize = kept.toSorted((a, b) => a.bytes - b.bytes || (a.ref.digest < b.ref.digest ? -1 : 1));
    const merged = new Set(bySize.slice(0, kept.length - mostSegments / 2));
    for (const { digests } of merged) for (const digest of digests) copy.push(digest);
    return plan(
      kept.filter((segment) => !merged.has(segment)),
      copy,
      missing,
    );
  }
  return plan(kept, copy, missing);
}

function plan(kept: { ref: SegmentRef }[], copy: string[], missing: string | undefined): SegmentPlan {
  return { keep: kept.map(({ ref }) => ref), copy, ...(missing === undefined ? {} : { missing }) };
}
