// That there has been something below a prefix once: from then on it is empty where nothing is listed, and not mistaken.
import type { Memory } from '../source.ts';

const format = 'lyceum s3 1';

/** @param place the bucket's URL and the prefix */
export const seen = (place: string): Buffer => Buffer.from(JSON.stringify([format, place]));

export const hasBeenSeen = async (memory: Pick<Memory, 'load'>, place: string): Promise<boolean> =>
  (await memory.load())?.equals(seen(place)) === true;
