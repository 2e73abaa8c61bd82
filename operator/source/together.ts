// Files of a server read side by side, within a bound on how many and on the bytes of them that are held.
import type { Limits } from '../../upstream/limits.ts';

/** So many files are read at once, and bytes of them held at most. */
const together = 8;
const heldBytes = 64 * 2 ** 20;

/**
 * Does some of the work at a time; the first that fails ends the others.
 * @param fileSize what one item may hold, in bytes
 * @throws what the work throws; the signal's reason
 */
export async function readTogether<Item>(
  items: readonly Item[],
  { fileSize }: Pick<Limits, 'fileSize'>,
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      both.throwIfAborted();
      await work(items[next++]!, both);
    }
  };
  const workers = Math.max(1, Math.min(together, items.length, Math.floor(heldBytes / fileSize)));
  const running = Array.from({ length: workers }, () => worker().catch((error: unknown) => stop.abort(error)));
  await Promise.all(running);
  both.throwIfAborted();
}
