// From the keys of a Secret to what a git server is shown.
import { secretText } from '../secret-text.ts';

export type GitCredentials =
  | { ok: true; authorization: string | undefined; ca: Buffer | undefined }
  | { ok: false; missing: string };

/**
 * `username` and `password`, or `password` alone, or `bearerToken`; `ca.crt` beside them or alone. One line end after a
 * value is dropped, which `kubectl create secret --from-file` brings along.
 * @param secret the Secret's keys and values; none at all where no Secret is named
 * @param host decides the user name that goes with a password alone
 * @returns `missing`: the keys that have to be added or mended
 */
export function credentialsFrom(secret: ReadonlyMap<string, Buffer>, host: string): GitCredentials {
  if (secret.size === 0) return { ok: true, authorization: undefined, ca: undefined };
  const username = secretText(secret, 'username');
  const password = secretText(secret, 'password');
  const token = secretText(secret, 'bearerToken');
  const ca = secret.get('ca.crt');
  if (password !== '') {
    const pair = `${username || defaultUser(host)}:${password}`;
    return { ok: true, authorization: `Basic ${Buffer.from(pair).toString('base64')}`, ca };
  }
  if (token !== '') {
    if (!/^[\x21-\x7e]+$/.test(token)) return { ok: false, missing: 'bearerToken (in one line, without spaces)' };
    return { ok: true, authorization: `Bearer ${token}`, ca };
  }
  if (username !== '') return { ok: false, missing: 'password' };
  if (ca === undefined) return { ok: false, missing: 'username and password, or password, or bearerToken' };
  return { ok: true, authorization: undefined, ca };
}

function defaultUser(host: string): string {
  const name = host.toLowerCase();
  if (name === 'github.com') return 'x-access-token';
  return name === 'gitlab.com' || name.startsWith('gitlab.') ? 'oauth2' : 'git';
}
