// What a request may see: the ceilings above it and its own scope, as a view. The one way from a request to content.
import { intersect, requestScope, type Scope, settingScope } from '../scope.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { ceilingOf } from '../tokens.ts';
import { type View, visible } from '../view.ts';
import { type Asker, clientOf } from './authentication.ts';

/** The parameters behind the `?` of a request's URL. */
export function queryOf(request: Asker): URLSearchParams {
  const url = request.raw.url ?? '';
  const mark = url.indexOf('?');
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
}

/**
 * @param within what the route itself narrows, by its path
 * @throws Unauthorized
 */
export function viewOf(request: Asker, snapshot: Snapshot, within: Scope = []): View {
  const { index } = snapshot;
  const client = clientOf(request, index);
  const above = client === undefined ? [] : ceilingOf(index.auth!, client);
  const own = requestScope(request.raw.headers, queryOf(request));
  return visible(snapshot, intersect(settingScope(index.scope), above, within, own));
}
