// Whether two answers of a server about a file prove that its bytes are the same. Pure.
import type { Entry } from './listing.ts';

/** Servers tell whole seconds: what is younger, in milliseconds, may change once more within its second. */
const settledAfter = 2000;

/** Whether the server itself promises that equal ETags mean equal bytes (RFC 9110, 8.8.1). */
export const isStrong = (etag: string | undefined): boolean => etag !== undefined && !/^W\//i.test(etag);

/**
 * Whether a file may change, or has just changed, without the server saying anything else of it. A strong ETag is no proof
 * while the file is young, since servers make it of a size and a time in seconds.
 * @param at the server's time of the answer, in milliseconds since 1970
 */
export function isRacy({ etag, modified }: Entry, at: number): boolean {
  if (modified === undefined) return !isStrong(etag);
  return at - modified < settledAfter;
}

const bare = (etag: string | undefined): string | null => etag?.replace(/^W\//i, '') ?? null;

/** What a server says of a file's bytes. Apache calls an ETag weak for a second and then strong: it is the same. */
export const validatorOf = ({ etag, size, modified }: Entry) => [bare(etag), size ?? null, modified ?? null] as const;

export const sameValidator = (a: Entry, b: Entry): boolean =>
  bare(a.etag) === bare(b.etag) && a.size === b.size && a.modified === b.modified;
