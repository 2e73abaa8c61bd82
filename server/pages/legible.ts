// What a person sees of a text is what an agent reads in it: characters that hide text, or turn its direction, are seen.

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
const misleading = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]+/gu;

/**
 * Control characters, halves of characters, marks that begin or end a direction of their own, and runs of invisible tags, each
 * as U+FFFD. What scripts need that are written from right to left stays: their letters have a direction of their own.
 */
export const legible = (text: string): string => text.toWellFormed().replace(misleading, '\ufffd');
