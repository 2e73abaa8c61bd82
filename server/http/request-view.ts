// What a request may see: the ceilings above it and its own scope, as a view. The one way from a request to content.
import type { FastifyRequest } from 'fastify';
import { intersect, requestScope, settingScope } from '../scope.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { type View, visible } from '../view.ts';

/** The parameters behind the `?` of a request's URL. */
export function queryOf(request: FastifyRequest): URLSearchParams {
  const url = request.raw.url ?? '';
  const mark = url.indexOf('?');
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
}

export const viewOf = (request: FastifyRequest, snapshot: Snapshot): View =>
  visible(snapshot, intersect(settingScope(snapshot.index.scope), requestScope(request.headers, queryOf(request))));
