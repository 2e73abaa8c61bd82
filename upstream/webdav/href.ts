// What an href of a listing names: the folder itself, one thing in it, something further down, or nothing that may be.

export type Place =
  | { at: 'self' }
  | { at: 'child'; name: string /** Written with a slash at its end. */; slash: boolean }
  | { at: 'below' }
  | { at: 'nowhere' /** In words that follow "the server lists a name here that …". */; why: string };

const nowhere = (why: string): Place => ({ at: 'nowhere', why });

/** The parts of a URL's path, decoded; undefined where they cannot be. */
export function partsOf(path: string): string[] | undefined {
  const parts = path.split('/').filter((part) => part !== '');
  const decoded = parts.map(decode);
  return decoded.includes(undefined) ? undefined : (decoded as string[]);
}

/**
 * An href is a path from the server's root, or a whole URL of the same host (RFC 4918, 8.3). It is taken apart by hand,
 * since a URL parser resolves `..` and `%2e%2e` before anybody has seen them.
 * @param folder the parts of the listed folder's own path
 * @param host of the listed folder, with its port where that is not the scheme's own
 */
export function placeOf(href: string, folder: readonly string[], host: string): Place {
  const [, , authority, path] = /^([a-z][a-z0-9+.-]*:)?\/\/([^/?#]*)(.*)$/is.exec(href) ?? [];
  if (authority !== undefined && !isHost(href, authority, host)) return nowhere('belongs to another server');
  const written = path ?? href;
  if (!written.startsWith('/')) return nowhere('is no path from the root of the server');
  const parts: string[] = [];
  for (const part of written.split('/')) {
    if (part === '') continue;
    const name = decode(part);
    if (name === undefined) return nowhere('is escaped in a way that cannot be read');
    if (name === '.' || name === '..') return nowhere(`has the part ${name}`);
    if (/[/\0]/.test(name)) return nowhere('holds a slash or a NUL');
    if (/[\n\\]/.test(name)) return nowhere('holds a line break or a backslash');
    if (name.includes('\ufffd') && !/%ef%bf%bd/i.test(part)) return nowhere('is not UTF-8');
    parts.push(name);
  }
  if (!folder.every((part, at) => part === parts[at])) return nowhere('lies outside the folder');
  const [name, ...further] = parts.slice(folder.length);
  if (name === undefined) return { at: 'self' };
  return further.length > 0 ? { at: 'below' } : { at: 'child', name, slash: written.endsWith('/') };
}

function isHost(href: string, authority: string, host: string): boolean {
  const scheme = /^(https?):/i.exec(href)?.[1]?.toLowerCase();
  if (scheme === undefined || authority.includes('@')) return false;
  return URL.parse(`${scheme}://${authority}/`)?.host === host;
}

/** @returns undefined for what is no escape, or escapes what is not UTF-8 */
function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
