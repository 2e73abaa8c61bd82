// Numbers, lists and URIs as they stand in a sentence.

/** `1 skill`, `2 skills`. */
export const counted = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? '' : 's'}`;

/** `a`, `a and b`, `a, b and c`. */
export function inWords(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}

const longestQuoted = 512;

/** A URI or a name as it may be quoted back. */
export const shortened = (text: string): string =>
  text.length > longestQuoted ? `${text.slice(0, longestQuoted)}…` : text;
