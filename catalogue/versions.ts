// The order of an artifact's versions: SemVer where they are, what is none behind them by name.
import type { SemVer } from 'semver';
import compare from 'semver/functions/compare.js';
import parse from 'semver/functions/parse.js';
import { byCodePoint } from './names.ts';

/** In characters: a version that is longer is no SemVer to anyone. */
const longestSemver = 256;

/** Whether a text is a version by SemVer 2.0, strictly: without a `v` in front, without blanks. */
export const isSemver = (version: string): boolean => read(version).semver !== null;

/**
 * From old to new: the precedence of SemVer 2.0, equal ones by code point. What is no SemVer stands behind all that are,
 * by code point.
 */
export const compareVersions = (a: string, b: string): number => compareRead(read(a), read(b));

/** The newest one first: the highest SemVer, or the last by name where none is one. Then the others, newest first. */
export function newestFirst<Item>(items: readonly Item[], versionOf: (item: Item) => string): Item[] {
  const ordered = items.map((item) => ({ item, ...read(versionOf(item)) })).sort((a, b) => compareRead(b, a));
  const newest = ordered.findIndex(({ semver }) => semver !== null);
  if (newest > 0) ordered.unshift(...ordered.splice(newest, 1));
  return ordered.map(({ item }) => item);
}

interface Read {
  version: string;
  semver: SemVer | null;
}

const read = (version: string): Read => ({
  version,
  semver: version.length <= longestSemver && /^\d\S*$/.test(version) ? parse(version) : null,
});

function compareRead(a: Read, b: Read): number {
  if (a.semver !== null && b.semver !== null) return compare(a.semver, b.semver) || byCodePoint(a.version, b.version);
  if (a.semver === null && b.semver === null) return byCodePoint(a.version, b.version);
  return a.semver === null ? 1 : -1;
}
