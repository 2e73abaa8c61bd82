// What a bucket's server means by an error: a reason and words, of its codes and numbers alone.
import { UpstreamFault } from '../fault.ts';
import type { Refusal } from '../guard/client.ts';
import { retryAfterSeconds } from '../guard/faults.ts';
import { type BucketAddress, serverOf } from './address.ts';

export interface AskedBucket extends BucketAddress {
  /** Requests are signed with the keys of a Secret. */
  signed: boolean;
}

/** @param what was asked for, in words */
type Meaning = (asked: AskedBucket, what: string, refusal: Refusal) => UpstreamFault;

const wrongKeys =
  (words: string): Meaning =>
  (asked) =>
    new UpstreamFault('AuthenticationFailed', `${serverOf(asked)} ${words} of the Secret that spec.secretRef names`);

const denied: Meaning = (asked, what) =>
  new UpstreamFault(
    'AccessDenied',
    asked.signed
      ? `${serverOf(asked)} refuses to show ${what}; let the keys of spec.secretRef list the bucket and read its objects`
      : `${serverOf(asked)} shows ${what} to nobody without keys: name a Secret with accessKeyId and secretAccessKey in spec.secretRef`,
  );

const slowDown: Meaning = (asked, _what, { status, headers }) => {
  const seconds = retryAfterSeconds(headers['retry-after'], Date.now());
  const wish = seconds === undefined ? {} : { retryAfterSeconds: seconds };
  return new UpstreamFault('RateLimited', `${serverOf(asked)} asks to slow down (HTTP ${status})`, wish);
};

const otherClock: Meaning = (asked, _what, { headers }) => {
  const ahead = Math.round((Date.now() - Date.parse(headers.date ?? '')) / 1000);
  const words =
    Number.isNaN(ahead) || ahead === 0 ? 'off' : `${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} it`;
  return new UpstreamFault(
    'AuthenticationFailed',
    `${serverOf(asked)} takes no request whose time is far from its own: the clock of the operator's machine is ${words}; set the one that is wrong`,
  );
};

const elsewhere: Meaning = (asked, _what, refusal) => {
  const region = regionOf(refusal);
  if (region === asked.region) {
    return new UpstreamFault(
      'NotFound',
      `${serverOf(asked)} does not keep the bucket "${asked.bucket}" of the region ${region}: write that region's own server in spec.url, or s3://BUCKET for one on AWS`,
    );
  }
  const remedy = region === undefined ? 'write its own region in spec.region' : `write spec.region: ${region}`;
  return new UpstreamFault('NotFound', `the bucket "${asked.bucket}" is not in the region ${asked.region}: ${remedy}`);
};

const otherRegion: Meaning = (asked, _what, refusal) => {
  const region = regionOf(refusal);
  return new UpstreamFault(
    'AuthenticationFailed',
    region === undefined || region === asked.region
      ? `${serverOf(asked)} does not take the form of the signature; check spec.region, and the keys of the Secret that spec.secretRef names`
      : `${serverOf(asked)} takes no signature for the region ${asked.region}: write spec.region: ${region}`,
  );
};

const noBucket: Meaning = (asked) =>
  new UpstreamFault('NotFound', `${serverOf(asked)} has no bucket "${asked.bucket}"; check spec.url`);

/** By the code in the answer. What is not here is told by the answer's status. */
const meanings: ReadonlyMap<string, Meaning> = new Map([
  ['NoSuchBucket', noBucket],
  ['InvalidBucketName', noBucket],
  ['SignatureDoesNotMatch', wrongKeys('does not take the signature: check secretAccessKey')],
  ['InvalidAccessKeyId', wrongKeys('does not know the accessKeyId')],
  // versitygw's word for it.
  ['XAdminUserNotFound', wrongKeys('does not know the accessKeyId')],
  ['ExpiredToken', wrongKeys('does not take the sessionToken any longer: renew the keys')],
  ['InvalidToken', wrongKeys('does not take the sessionToken: renew the keys')],
  ['TokenRefreshRequired', wrongKeys('does not take the sessionToken any longer: renew the keys')],
  ['RequestTimeTooSkewed', otherClock],
  ['RequestExpired', otherClock],
  ['AuthorizationHeaderMalformed', otherRegion],
  ['PermanentRedirect', elsewhere],
  ['TemporaryRedirect', elsewhere],
  ['IllegalLocationConstraintException', elsewhere],
  ['AccessDenied', denied],
  ['AllAccessDisabled', denied],
  ['AccountProblem', denied],
  ['InvalidObjectState', denied],
  ['SlowDown', slowDown],
  ['ServiceUnavailable', slowDown],
  ['RequestLimitExceeded', slowDown],
  ['TooManyRequests', slowDown],
  ['Throttling', slowDown],
  ['ThrottlingException', slowDown],
  ['BandwidthLimitExceeded', slowDown],
]);

/** The code in the body of an error; undefined for a body that is none, a page of a proxy for example. */
export function codeOf({ body }: Refusal): string | undefined {
  const text = body.toString('latin1');
  const start = text.search(/<Error[\s>]/);
  return start === -1 ? undefined : /<Code>([A-Za-z]{1,64})<\/Code>/.exec(text.slice(start))?.[1];
}

/** Where the bucket is, in the server's header or its answer: a region's name and nothing else. */
function regionOf({ headers, body }: Refusal): string | undefined {
  const header = headers['x-amz-bucket-region'];
  const told = typeof header === 'string' ? header : /<Region>([^<]*)<\/Region>/.exec(body.toString('latin1'))?.[1];
  return told !== undefined && /^[a-z]{2,8}(-[a-z0-9]{1,16}){0,4}$/.test(told) ? told : undefined;
}

/** @returns undefined where the status says all that there is, and for redirects that may be followed */
export function bucketFault(asked: AskedBucket, what: string, refusal: Refusal): UpstreamFault | undefined {
  const meaning = meanings.get(codeOf(refusal) ?? '');
  if (meaning !== undefined) return meaning(asked, what, refusal);
  const { status, headers } = refusal;
  if (status < 300 || status > 399) return undefined;
  if (regionOf(refusal) !== undefined) return elsewhere(asked, what, refusal);
  const { location } = headers;
  const target = location === undefined ? null : URL.parse(location, asked.url.href);
  if (!asked.signed || target === null || target.origin === asked.url.origin) return undefined;
  return new UpstreamFault(
    'UpstreamInvalid',
    `${serverOf(asked)} redirects to another server, where requests would need another signature: write that one's address in spec.url`,
  );
}
