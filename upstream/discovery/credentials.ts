// From the keys of a Secret to what a publisher of skills is shown.
import { secretText } from '../secret-text.ts';

export type IndexCredentials =
  | { ok: true; authorization: string | undefined; ca: Buffer | undefined }
  | { ok: false; missing: string };

/**
 * `bearerToken` and `ca.crt`, either alone or both. One line end after the token is dropped, which
 * `kubectl create secret --from-file` brings along.
 * @param secret the Secret's keys and values; none at all where no Secret is named
 * @returns `missing`: the keys that have to be added or mended
 */
export function indexCredentials(secret: ReadonlyMap<string, Buffer>): IndexCredentials {
  const ca = secret.get('ca.crt');
  const token = secretText(secret, 'bearerToken');
  if (token === '') {
    return secret.size > 0 && ca === undefined
      ? { ok: false, missing: 'bearerToken' }
      : { ok: true, authorization: undefined, ca };
  }
  if (!/^[\x21-\x7e]+$/.test(token)) return { ok: false, missing: 'bearerToken (in one line, without spaces)' };
  return { ok: true, authorization: `Bearer ${token}`, ca };
}
