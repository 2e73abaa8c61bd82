// What may be a path in a source. Paths are hostile until proved otherwise.

const unfit = /[\0\n\\]/;
const unfitPart = /(?:^|\/)(\.{0,2})(?:\/|$)/;
const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** Why a path cannot stand in a catalogue, in words that follow "its name"; undefined for a good one. */
export function pathFault(path: string): string | undefined {
  if (!path.isWellFormed()) return 'is not UTF-8';
  if (unfit.test(path)) return 'holds a NUL, a line break or a backslash';
  const part = unfitPart.exec(path)?.[1];
  if (part === undefined) return undefined;
  return part === '' ? 'has an empty part' : `has the part ${part}`;
}

/** A path as a message may show it: characters that a terminal obeys, or that turn text round, as escapes. */
export function printable(path: string): string {
  return path
    .toWellFormed()
    .replace(unprintable, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** `a/b` and `c` to `a/b/c`; either may be empty. */
export const joinPath = (folder: string, name: string): string =>
  folder === '' ? name : name === '' ? folder : `${folder}/${name}`;

/** The folder that holds a path, `` for one at the root. */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** The last part of a path. */
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Whether a path is a folder or lies below it; everything lies below the root. */
export const isWithin = (path: string, folder: string): boolean =>
  folder === '' || path === folder || path.startsWith(`${folder}/`);
