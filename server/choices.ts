// What a request chooses of the form of an answer: which listing, and which tools are shown.
import type { IncomingHttpHeaders } from 'node:http';
import { headerValue, queryValue } from './scope.ts';

export interface Choices {
  /** Every skill in the listing: `X-Skill-Listing: full`, else `?skills=full`. */
  fullListing: boolean;
  /** The client has no resources, so it is shown tools for them: `X-MCP-Resources: off`, else `?resources=off`. */
  resourceTools: boolean;
  /** The client has no prompts, so it is shown tools for them: `X-MCP-Prompts: off`, else `?prompts=off`. */
  promptTools: boolean;
}

const offWords = new Set(['off', 'false', '0', 'no', 'none']);

export function requestChoices(headers: IncomingHttpHeaders, query: URLSearchParams): Choices {
  const listing = headerValue(headers, 'x-skill-listing') ?? queryValue(query, 'skills');
  const isOff = (what: string): boolean => {
    const word = headerValue(headers, `x-mcp-${what}`) ?? queryValue(query, what);
    return word !== undefined && offWords.has(word.toLowerCase());
  };
  return {
    fullListing: listing?.toLowerCase() === 'full',
    resourceTools: isOff('resources'),
    promptTools: isOff('prompts'),
  };
}
