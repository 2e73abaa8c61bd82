// From the keys of a Secret to what a WebDAV server is shown.
import { secretText } from '../secret-text.ts';

export type WebDavCredentials =
  | { ok: true; username: string; password: string; ca: Buffer | undefined }
  | { ok: false; missing: string };

/**
 * `username` and `password`, both needed; `ca.crt` beside them. One line end after a value is dropped.
 * @param secret the Secret's keys and values; none at all where no Secret is named
 * @returns `missing`: the keys that have to be added or mended
 */
export function webDavCredentials(secret: ReadonlyMap<string, Buffer>): WebDavCredentials {
  const [username, password] = [secretText(secret, 'username'), secretText(secret, 'password')];
  const missing = [username === '' && 'username', password === '' && 'password'].filter((key) => key !== false);
  if (missing.length > 0) return { ok: false, missing: missing.join(' and ') };
  // RFC 7617, 2: what stands before the first colon is the user.
  if (username.includes(':')) return { ok: false, missing: 'a username without a colon' };
  return { ok: true, username, password, ca: secret.get('ca.crt') };
}
