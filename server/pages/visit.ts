// One look at a page: what it may show, and how it leads on.
import type { FastifyRequest } from 'fastify';
import type { Door } from '../connect.ts';
import type { Downloads } from '../downloads/downloads.ts';
import { queryOf, viewOf } from '../http/request-view.ts';
import { queryText, requestScope, scopeParameters } from '../scope.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import { Links } from './links.ts';

export interface Visit {
  view: View;
  links: Links;
  /** What stands behind the `?`. */
  parameters: URLSearchParams;
  /** Where clients connect to see what this page shows. */
  door: Door;
  downloads: Downloads;
}

/** @throws Unauthorized */
export function visitOf(request: FastifyRequest, snapshot: Snapshot, downloads: Downloads): Visit {
  const view = viewOf(request, snapshot);
  const { gateway, auth } = snapshot.index;
  const parameters = queryOf(request);
  const links = new Links(view, scopeParameters(requestScope(request.headers, parameters)));
  const inCluster = `${gateway.name}.${gateway.namespace}.svc.cluster.local:8000`;
  const url = `${originOf(request, inCluster)}/mcp${queryText(links.scope)}`;
  return { view, links, parameters, door: { gateway: gateway.name, url, closed: auth !== undefined }, downloads };
}

const hostPattern = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** Where the request found this server; what ends TLS before it says so. @param otherwise where that cannot be a host */
function originOf({ headers, protocol }: FastifyRequest, otherwise: string): string {
  const forwarded = headers['x-forwarded-proto'];
  const scheme = forwarded === 'http' || forwarded === 'https' ? forwarded : protocol;
  const { host = '' } = headers;
  return `${scheme}://${hostPattern.test(host) ? host : otherwise}`;
}
