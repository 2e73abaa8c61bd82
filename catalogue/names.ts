// The names that may stand in an address: libraries, groups and skills, and the slug that mends the others.

/** A library, source or group name: mcp-school's pattern, which is also a DNS label in lower case. */
export const libraryNamePattern = /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/;

/** An Agent Skills name: 1 to 64 characters, lower case, digits and single hyphens, no hyphen at either end. */
export const skillNamePattern = /^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/;

export const isLibraryName = (name: string): boolean => libraryNamePattern.test(name);

export const isSkillName = (name: string): boolean => skillNamePattern.test(name);

/**
 * The slug of any text: NFKD without marks, lower case, every run outside `[a-z0-9]` one hyphen, trimmed. May be empty.
 * @param longest cut to so many characters (a skill's name is cut to 64; the folder part of a qualifier is not cut)
 */
export function slug(text: string, longest = Number.POSITIVE_INFINITY): string {
  const words = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return words.length > longest ? words.slice(0, longest).replace(/-+$/, '') : words;
}

/** Order by code point, as every list of the catalogue is sorted. */
export function byCodePoint(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left === right) continue;
    // A surrogate stands for a code point above every other code unit.
    const leftHigh = left >= 0xd800 && left <= 0xdfff;
    const rightHigh = right >= 0xd800 && right <= 0xdfff;
    return leftHigh === rightHigh ? left - right : leftHigh ? 1 : -1;
  }
  return a.length - b.length;
}
