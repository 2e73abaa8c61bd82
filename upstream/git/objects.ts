// Git objects: their types, their names, and the one line of a commit that matters here.
import { createHash } from 'node:crypto';

export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag';

export interface GitObject {
  type: ObjectType;
  data: Buffer;
}

/** A running object name. @param size bytes of the whole object */
export const objectHash = (type: ObjectType, size: number) => createHash('sha1').update(`${type} ${size}\0`);

/** The name of an object: the SHA-1 of its header and bytes, as 40 hex digits. */
export const objectName = (type: ObjectType, data: Buffer): string =>
  objectHash(type, data.length).update(data).digest('hex');

/** The root tree of a commit; undefined for what is no commit. */
export function rootTree(commit: Buffer): string | undefined {
  return /^tree ([0-9a-f]{40})\n/.exec(commit.subarray(0, 46).toString('latin1'))?.[1];
}
