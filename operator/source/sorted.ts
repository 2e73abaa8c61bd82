// Sorting many things without holding up the event loop.
import type { Slices } from '../../catalogue/slices.ts';

/** So many are sorted at once. */
const run = 512;

/** The items in order, in a new array. Stable. */
export async function sorted<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
  slices: Slices,
): Promise<Item[]> {
  let from: Item[] = [];
  for (let at = 0; at < items.length; at += run) {
    for (const item of items.slice(at, at + run).sort(compare)) from.push(item);
    if (slices.over) await slices.turn();
  }
  for (let width = run; width < from.length; width *= 2) {
    const into: Item[] = [];
    for (let at = 0; at < from.length; at += 2 * width) {
      const middle = Math.min(at + width, from.length);
      const end = Math.min(middle + width, from.length);
      let left = at;
      let right = middle;
      while (left < middle || right < end) {
        const takeLeft = right >= end || (left < middle && compare(from[left]!, from[right]!) <= 0);
        into.push(takeLeft ? from[left++]! : from[right++]!);
        if ((into.length & 255) === 0 && slices.over) await slices.turn();
      }
    }
    from = into;
  }
  return from;
}
