// The known_hosts file of OpenSSH (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"): which keys a host may show.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** The host keys that Lyceum checks, as known_hosts names them, the preferred one first. */
export const hostKeyTypes = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
] as const;
export type HostKeyType = (typeof hostKeyTypes)[number];

/** One line. */
export interface KnownHost {
  marker: 'revoked' | 'cert-authority' | undefined;
  /** Comma-separated patterns, or one hashed name. */
  hosts: string;
  type: string;
  /** Base64, as SSH writes a key on the wire. */
  key: string;
}

/** What is known of one host. */
export interface HostKeys {
  /** The types of its keys, in the order of preference; empty where none is known. */
  types: HostKeyType[];
  /** It is known by a certificate authority, which Lyceum does not check. */
  certified: boolean;
  /** @param key as SSH writes it on the wire */
  verdict(key: Buffer): 'known' | 'revoked' | 'other';
}

const longestPattern = 1024;

/** @returns the lines that say something of a host; comments and what is no such line are left out, as OpenSSH does */
export function parseKnownHosts(text: string): KnownHost[] {
  return text.split('\n').flatMap((line) => {
    const [, marker, hosts, type, key] =
      /^[ \t]*(?:@(revoked|cert-authority)[ \t]+)?([^#@ \t\r][^ \t\r]*)[ \t]+([a-z0-9@.-]+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t\r]|$)/.exec(
        line,
      ) ?? [];
    if (hosts === undefined || type === undefined || key === undefined || hosts.length > longestPattern) return [];
    return [{ marker: marker as KnownHost['marker'], hosts, type, key }];
  });
}

/**
 * The host under its port, `[HOST]:PORT`; where no line names that, the host whatever its port, as OpenSSH does.
 * @param host a name or an address, without brackets
 */
export function hostKeys(known: readonly KnownHost[], host: string, port: number): HostKeys {
  const lower = host.toLowerCase();
  const named = (name: string) => known.filter(({ hosts }) => matches(hosts, name));
  const exact = port === 22 ? [] : named(`[${lower}]:${port}`);
  const lines = exact.length > 0 ? exact : named(lower);
  const keysOf = (marker: KnownHost['marker']) => lines.filter((line) => line.marker === marker);
  const bytes = (lines: KnownHost[]) => new Set(lines.map(({ key }) => Buffer.from(key, 'base64').toString('base64')));
  const [good, revoked] = [keysOf(undefined), bytes(keysOf('revoked'))];
  const goodBytes = bytes(good);
  return {
    types: hostKeyTypes.filter((type) => good.some((line) => line.type === type)),
    certified: keysOf('cert-authority').length > 0,
    verdict: (key) => {
      const shown = key.toString('base64');
      if (revoked.has(shown)) return 'revoked';
      return goodBytes.has(shown) ? 'known' : 'other';
    },
  };
}

function matches(hosts: string, name: string): boolean {
  if (hosts.startsWith('|')) return isHashOf(hosts, name);
  let found = false;
  for (const pattern of hosts.toLowerCase().split(',')) {
    const isNegated = pattern.startsWith('!');
    if (!fits(isNegated ? pattern.slice(1) : pattern, name)) continue;
    if (isNegated) return false;
    found = true;
  }
  return found;
}

/** `|1|SALT|HASH`: HMAC-SHA1 of the name with the salt. */
function isHashOf(hashed: string, name: string): boolean {
  const [, salt, hash] = /^\|1\|([A-Za-z0-9+/=]+)\|([A-Za-z0-9+/=]+)$/.exec(hashed) ?? [];
  if (salt === undefined || hash === undefined) return false;
  const wanted = Buffer.from(hash, 'base64');
  const given = createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest();
  return wanted.length === given.length && timingSafeEqual(wanted, given);
}

/** `*` stands for any text, `?` for one character. In time that grows with the product of both lengths, never more. */
function fits(pattern: string, text: string): boolean {
  let [at, from, star, resume] = [0, 0, -1, 0];
  while (at < text.length) {
    if (pattern[from] === '*') {
      star = from++;
      resume = at;
    } else if (from < pattern.length && (pattern[from] === '?' || pattern[from] === text[at])) {
      from++;
      at++;
    } else if (star >= 0) {
      from = star + 1;
      at = ++resume;
    } else return false;
  }
  while (pattern[from] === '*') from++;
  return from === pattern.length;
}
