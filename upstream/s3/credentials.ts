// From the keys of a Secret to what requests for a bucket are signed with.
import { secretText } from '../secret-text.ts';

export interface SigningKeys {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

export type BucketCredentials =
  | { ok: true; keys: SigningKeys | undefined; ca: Buffer | undefined }
  | { ok: false; missing: string };

/**
 * `accessKeyId` and `secretAccessKey`, with `sessionToken` where they are lent; `ca.crt` beside them, or alone for a bucket that
 * everybody may read. One line end after a value is dropped.
 * @param secret the Secret's keys and values; none at all where no Secret is named
 * @returns `missing`: the keys that have to be added or mended
 */
export function bucketCredentials(secret: ReadonlyMap<string, Buffer>): BucketCredentials {
  const accessKeyId = secretText(secret, 'accessKeyId');
  const secretAccessKey = secretText(secret, 'secretAccessKey');
  const sessionToken = secretText(secret, 'sessionToken');
  const ca = secret.get('ca.crt');
  const onlyCa = ca !== undefined && accessKeyId === '' && secretAccessKey === '' && sessionToken === '';
  if (secret.size === 0 || onlyCa) return { ok: true, keys: undefined, ca };
  const missing = [accessKeyId === '' && 'accessKeyId', secretAccessKey === '' && 'secretAccessKey'];
  const named = missing.filter((key) => key !== false);
  if (named.length > 0) return { ok: false, missing: named.join(' and ') };
  for (const [name, value] of Object.entries({ accessKeyId, sessionToken })) {
    if (!/^[\x21-\x7e]*$/.test(value)) return { ok: false, missing: `${name} (in one line, without spaces)` };
  }
  return { ok: true, keys: { accessKeyId, secretAccessKey, ...(sessionToken === '' ? {} : { sessionToken }) }, ca };
}
