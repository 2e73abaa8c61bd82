// What a request chooses of the form of an answer: which listing, and whether the mirror tools are shown.
import type { IncomingHttpHeaders } from 'node:http';
import { headerValue, queryValue } from './scope.ts';

export interface Choices {
  /** Every skill in the listing: `X-Skill-Listing: full`, else `?skills=full`. */
  fullListing: boolean;
  /** The client has no resources, so it is shown the tools: `X-MCP-Resources: off`, else `?resources=off`. */
  mirrorTools: boolean;
}

const offWords = new Set(['off', 'false', '0', 'no', 'none']);

export function requestChoices(headers: IncomingHttpHeaders, query: URLSearchParams): Choices {
  const listing = headerValue(headers, 'x-skill-listing') ?? queryValue(query, 'skills');
  const resources = headerValue(headers, 'x-mcp-resources') ?? queryValue(query, 'resources');
  return {
    fullListing: listing?.toLowerCase() === 'full',
    mirrorTools: resources !== undefined && offWords.has(resources.toLowerCase()),
  };
}
