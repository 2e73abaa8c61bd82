// The version of what has none, and the order of an artifact's versions: SemVer where they are, what is none behind them by name.
import type { SemVer } from 'semver';
import compare from 'semver/functions/compare.js';
import parse from 'semver/functions/parse.js';
import { byCodePoint } from './names.ts';

/** The version of what its author gave none. */
export const defaultVersion = '0.0.0';

/** In characters: a version that is longer is no SemVer to anyone. */
const longestSemver = 256;

/** A version as it is compared, for whoever compares many. */
export interface ReadVersion {
  text: string;
  /** Undefined for what is no SemVer 2.0, strictly: a `v` in front or a blank makes it none. */
  semver: SemVer | undefined;
}

export const readVersion = (text: string): ReadVersion => ({
  text,
  semver: (text.length <= longestSemver && /^\d\S*$/.test(text) && parse(text)) || undefined,
});

export const isSemver = (version: string): boolean => readVersion(version).semver !== undefined;

/**
 * From old to new: the precedence of SemVer 2.0, equal ones by code point. What is no SemVer stands behind all that are,
 * by code point.
 */
export const compareVersions = (a: string, b: string): number => compareRead(readVersion(a), readVersion(b));

/** As `compareVersions`. */
export function compareRead(a: ReadVersion, b: ReadVersion): number {
  if (a.semver !== undefined && b.semver !== undefined) {
    return compare(a.semver, b.semver) || byCodePoint(a.text, b.text);
  }
  if (a.semver === undefined && b.semver === undefined) return byCodePoint(a.text, b.text);
  return a.semver === undefined ? 1 : -1;
}
