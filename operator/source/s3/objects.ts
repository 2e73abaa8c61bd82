// From the objects of a bucket to the files of a tree: which keys can be paths, what names their bytes, what they all are called. Pure.
import { createHash, hash } from 'node:crypto';
import { byCodePoint } from '../../../catalogue/names.ts';
import { type Problem, problem } from '../../../catalogue/problem.ts';
import { Slices } from '../../../catalogue/slices.ts';
import type { BucketAddress } from '../../../upstream/s3/address.ts';
import { isStrong, type ListedObject } from '../../../upstream/s3/listing.ts';
import { pathFault, printable } from '../path.ts';
import { sorted } from '../sorted.ts';
import type { TreeEntry } from '../source.ts';

export interface BucketFiles {
  /** `sha256:<hex>` over every key with what the server says of it, whatever order they are listed in. */
  revision: string;
  entries: TreeEntry[];
  /** By path. */
  objects: ReadonlyMap<string, ListedObject>;
  problems: Problem[];
  /** There is something, be it only the marker of a folder. */
  isThere: boolean;
}

/** So many keys are named; those beyond are counted. */
const mostNamed = 200;

/** @param listed whose keys begin with the address's prefix, but for those that are garbled */
export async function filesOf(
  listed: readonly ListedObject[],
  { url, prefix }: Pick<BucketAddress, 'url' | 'prefix'>,
  signal: AbortSignal,
): Promise<BucketFiles> {
  const slices = new Slices();
  const entries: TreeEntry[] = [];
  const objects = new Map<string, ListedObject>();
  const problems: Problem[] = [];
  let leftOut = 0;
  const digest = createHash('sha256');
  for (const object of await sorted(listed, byKey, slices)) {
    if (slices.over) {
      await slices.turn();
      signal.throwIfAborted();
    }
    const { key, size } = object;
    if (key.endsWith('/') && (size ?? 0) === 0 && object.garbled === undefined) continue;
    const says = JSON.stringify([key, ...validatorOf(object)]);
    digest.update(`${says}\n`);
    const path = key.slice(prefix.length);
    const fault = object.garbled ? 'holds characters that the server cannot list' : pathFault(path);
    if (fault !== undefined) {
      leftOut += 1;
      const message = `The object is left out, since its key ${fault}: rename it.`;
      if (leftOut <= mostNamed) problems.push(problem('BadFileName', printable(path) || '.', message));
      continue;
    }
    const id = isStrong(object.etag) ? `s3:${hash('sha256', JSON.stringify([url.href, says]))}` : undefined;
    entries.push({ path, ...(id === undefined ? {} : { id }), ...(size === undefined ? {} : { size }) });
    objects.set(path, object);
  }
  if (leftOut > mostNamed) {
    const message = `${leftOut - mostNamed} more objects are left out, since their keys can be no paths.`;
    problems.push(problem('BadFileName', '.', message));
  }
  return { revision: `sha256:${digest.digest('hex')}`, entries, objects, problems, isThere: listed.length > 0 };
}

/** What the server says of an object's bytes: an ETag, and where it has none that promises anything, the time. */
const validatorOf = ({ etag, size, modified }: ListedObject) =>
  isStrong(etag) ? [etag, size ?? null] : [etag ?? null, size ?? null, modified ?? null];

const byKey = (a: ListedObject, b: ListedObject): number => byCodePoint(a.key, b.key);
