// Requests for a bucket, signed as AWS's Signature Version 4 asks: host and time, and nothing that a proxy may change.
import { AwsV4Signer } from 'aws4fetch';
import type { SigningCredential } from '../guard/client.ts';
import type { BucketAddress } from './address.ts';
import type { SigningKeys } from './credentials.ts';

/** SHA-256 of a body with nothing in it. */
const noBody = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** What signs requests to the bucket's origin. */
export function signatureOf(
  { url, region }: Pick<BucketAddress, 'url' | 'region'>,
  keys: SigningKeys,
): SigningCredential {
  const cache = new Map<string, ArrayBuffer>();
  return {
    origin: url.origin,
    async sign(method, to) {
      const signer = new AwsV4Signer({
        ...keys,
        method,
        url: to.href,
        headers: { 'x-amz-content-sha256': noBody },
        service: 's3',
        region,
        cache,
      });
      return Object.fromEntries((await signer.sign()).headers);
    },
  };
}
