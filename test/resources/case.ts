// A spec, good or bad, that the API server and the TypeScript twins must judge alike; and what both tables of them share.

export interface Case {
  /** What is written, in the user's words. */
  what: string;
  name?: string;
  spec: unknown;
  /** Every field that is refused, and where a rule refuses it, the words that say what to write. Left out: accepted. */
  refused?: { field: string; remedy?: RegExp }[];
}

export const on = (field: string, remedy?: RegExp) => [{ field, ...(remedy ? { remedy } : {}) }];
export const words = (length: number, character = 'a') => character.repeat(length);
export const library = /lower-case letters, digits and hyphens/;
export const oneWord = /a tag is one word/;
export const objectName = /the name of a/;
