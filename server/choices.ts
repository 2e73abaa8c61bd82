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
  /** The client is shown the tools of openkata's vocabulary: `X-MCP-Artifacts: on`, else `?artifacts=on`. */
  artifactTools: boolean;
}

const onWords = new Set(['on', 'true', '1', 'yes']);
const offWords = new Set(['off', 'false', '0', 'no', 'none']);

export function requestChoices(headers: IncomingHttpHeaders, query: URLSearchParams): Choices {
  const listing = headerValue(headers, 'x-skill-listing') ?? queryValue(query, 'skills');
  const isOneOf = (words: ReadonlySet<string>, what: string): boolean => {
    const word = headerValue(headers, `x-mcp-${what}`) ?? queryValue(query, what);
    return word !== undefined && words.has(word.toLowerCase());
  };
  return {
    fullListing: listing?.toLowerCase() === 'full',
    resourceTools: isOneOf(offWords, 'resources'),
    promptTools: isOneOf(offWords, 'prompts'),
    artifactTools: isOneOf(onWords, 'artifacts'),
  };
}
