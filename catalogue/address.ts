// The address space: how an address is written in a listing. A request is matched as an exact string, never decoded.

export const addressScheme = 'skill://';

const unreserved = /[A-Za-z0-9\-._~/]/;

/** Percent-encodes every byte but `A-Za-z0-9-._~/`, upper-case hex: the form that listings carry. */
export function encodePath(path: string): string {
  if (/^[A-Za-z0-9\-._~/]*$/.test(path)) return path;
  let encoded = '';
  for (const byte of new TextEncoder().encode(path)) {
    const character = String.fromCharCode(byte);
    encoded +=
      byte < 128 && unreserved.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}

/** The path whose listed form this is; undefined where it is no path's. */
export function pathOfListed(listed: string): string | undefined {
  let path: string;
  try {
    path = decodeURIComponent(listed);
  } catch {
    return undefined;
  }
  return encodePath(path) === listed ? path : undefined;
}

/** The listed URI of an address, `grafana/loki/a b.md` to `skill://grafana/loki/a%20b.md`. */
export const listedUri = (address: string): string => addressScheme + encodePath(address);

/** What may not be a file's path below a skill or library, since these addresses are answered otherwise. */
export const reservedSegments: ReadonlySet<string> = new Set(['_manifest', '_files', '_rules', '_profiles']);
