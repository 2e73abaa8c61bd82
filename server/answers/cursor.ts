// Cursors: the key of the last row that was given. A list goes on behind it, whatever catalogue is in force by then.

/** A cursor that this server cannot have given. */
export class BadCursor extends Error {
  constructor() {
    super('the cursor is not one that this server gave; list again without a cursor');
    this.name = 'BadCursor';
  }
}

/** More than the key of any row takes: a second address is as long as the slug of its folder. */
const longestCursor = 4096;

export const cursorOf = (key: string): string => Buffer.from(key).toString('base64url');

/**
 * @param shape what a key of the list looks like
 * @throws BadCursor
 */
export function keyOf(cursor: string, shape: RegExp): string {
  if (cursor.length > longestCursor) throw new BadCursor();
  const key = Buffer.from(cursor, 'base64url').toString();
  if (cursorOf(key) !== cursor || !shape.test(key)) throw new BadCursor();
  return key;
}
