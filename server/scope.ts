// The scope: what may be seen. One type for every door; scopes are only ever intersected, so nothing widens one.
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { ScopeSetting } from '../catalogue/index-file.ts';

/** One level. Both given: both must hold; of `tags` one is enough. */
export interface Ceiling {
  library?: string;
  tags?: readonly string[];
}

/** The levels that must all hold: the gateway's, the token's, the request's. None: everything is seen. */
export type Scope = readonly Ceiling[];

/** The scope of a gateway's own setting, word for word: a ceiling is never mended into a wider one. */
export const settingScope = ({ library, tags = [] }: ScopeSetting): Scope => scopeOf(library, tags);

/**
 * What a request asks for: `X-Skill-Library`, else `X-Skill-Pack`, else `?library=`; `X-Skill-Tags`, else `?tags=`.
 * Blank is absent, a repeated parameter keeps its last value, and a list without a tag is no tags.
 */
export function requestScope(headers: IncomingHttpHeaders, query: URLSearchParams): Scope {
  const library =
    headerValue(headers, 'x-skill-library') ?? headerValue(headers, 'x-skill-pack') ?? queryValue(query, 'library');
  const tags = headerValue(headers, 'x-skill-tags') ?? queryValue(query, 'tags');
  const words = tags?.split(',').map((tag) => tag.trim()) ?? [];
  return scopeOf(
    library,
    words.filter((tag) => tag !== ''),
  );
}

/** Everything that all of the scopes let through. */
export function intersect(...scopes: readonly Scope[]): Scope {
  const levels = new Map(scopes.flat().map((level) => [JSON.stringify([level.library, level.tags]), level]));
  return [...levels.values()];
}

/** The parameters by which a URL narrows as a request did. */
export function scopeParameters(scope: Scope): URLSearchParams {
  const query = new URLSearchParams();
  for (const { library, tags } of scope) {
    if (library !== undefined) query.set('library', library);
    if (tags !== undefined) query.set('tags', tags.join(','));
  }
  return query;
}

/** Behind a path: nothing where there are no parameters. */
export const queryText = (query: URLSearchParams): string => (query.size === 0 ? '' : `?${query}`);

/** Equal for scopes of equal levels. */
export const scopeKey = (scope: Scope): string => JSON.stringify(scope.map(({ library, tags }) => [library, tags]));

/**
 * A header's value without the blanks around it; undefined when nothing is left. Some clients send UTF-8 (curl), others
 * Latin-1 (fetch), which Node reads as well: text beyond ASCII in Latin-1 is hardly ever UTF-8 too.
 */
export function headerValue(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  const text = Array.isArray(value) ? value.join(', ') : value;
  if (text === undefined) return undefined;
  const bytes = Buffer.from(text, 'latin1');
  return (isUtf8(bytes) ? bytes.toString('utf8') : text).trim() || undefined;
}

/** The last value of a query parameter, without the blanks around it; undefined when nothing is left. */
export const queryValue = (query: URLSearchParams, name: string): string | undefined =>
  query.getAll(name).at(-1)?.trim() || undefined;

function scopeOf(library: string | undefined, tags: readonly string[]): Scope {
  const wanted = [...new Set(tags)].sort();
  if (library === undefined && wanted.length === 0) return [];
  return [{ ...(library === undefined ? {} : { library }), ...(wanted.length === 0 ? {} : { tags: wanted }) }];
}
