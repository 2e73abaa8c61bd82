// What a request to /mcp asks to be shown: what of the catalogue, and in which form. Most are alike, so it is remembered.
import { type Choices, requestChoices } from '../choices.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import { type Asker, clientOf } from './authentication.ts';
import { queryOf, viewOf } from './request-view.ts';

export interface Wish {
  view: View;
  choices: Choices;
}

const remembered = 64;
const longestKey = 1024;
const wishes = new WeakMap<Snapshot, Map<string, Wish>>();

/** @throws Unauthorized */
export function wishOf(request: Asker, snapshot: Snapshot): Wish {
  const key = keyOf(request, snapshot);
  const before = wishes.get(snapshot)?.get(key);
  if (before !== undefined) return before;
  const wish = { view: viewOf(request, snapshot), choices: requestChoices(request.raw.headers, queryOf(request)) };
  if (wish.view.libraries.size === 0 || key.length > longestKey) return wish;
  const known = wishes.get(snapshot) ?? new Map<string, Wish>();
  if (known.size === remembered) known.clear();
  known.set(key, wish);
  wishes.set(snapshot, known);
  return wish;
}

/**
 * The same where it is remembered: to find out what is not costs more than a look into a table.
 * @throws Unauthorized
 */
export const rememberedWish = (request: Asker, snapshot: Snapshot): Wish | undefined =>
  wishes.get(snapshot)?.get(keyOf(request, snapshot));

/** All that decides: who asks, the query, and the headers by which a client narrows and chooses. */
function keyOf(request: Asker, { index }: Snapshot): string {
  const client = clientOf(request, index);
  const { url = '', headers, rawHeaders } = request.raw;
  const query = url.indexOf('?');
  let key = query === -1 ? '' : url.slice(query);
  // Neither a URL nor a header holds a line feed.
  if (client !== undefined) key += `\n${client}`;
  if (!rawHeaders.some(isOwn)) return key;
  for (const name in headers) {
    if (name.startsWith('x-skill-') || name.startsWith('x-mcp-')) key += `\n${name}\n${headers[name]}`;
  }
  return key;
}

/** Whether it begins as all of those headers do. Values may as well: then they are looked for in vain. */
const isOwn = (text: string): boolean => (text.charCodeAt(0) | 0x20) === 0x78;
