// Requests for a bucket, signed as AWS's Signature Version 4 asks: host and time, and nothing that a proxy may change.
import { AwsV4Signer } from 'aws4fetch';
import type { SigningCredential } from '../guard/client.ts';
import type { BucketAddress } from './address.ts';
import type { SigningKeys } from './credentials.ts';

/** What signs requests to the bucket's origin. */
export function signatureOf(
  { url, region }: Pick<BucketAddress, 'url' | 'region'>,
  keys: SigningKeys,
): SigningCredential {
  const cache = new Map<string, ArrayBuffer>();
  return {
    origin: url.origin,
    async sign(method, to) {
      const signer = new AwsV4Signer({ ...keys, method, url: to.href, service: 's3', region, cache });
      return Object.fromEntries((await signer.sign()).headers);
    },
  };
}
