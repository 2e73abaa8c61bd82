// From `spec.url` and `spec.region` to the address of a folder of a bucket, and from a key to a URL.

export interface BucketAddress {
  /** Where the bucket is, with a slash at its end: keys stand behind it. */
  url: URL;
  bucket: string;
  region: string;
  /** What every key begins with, raw: `` for all, else with a slash at its end. */
  prefix: string;
}

export type S3Address = ({ ok: true } & BucketAddress) | { ok: false; message: string };

const refuse = (message: string): S3Address => ({ ok: false, message });

/** Where nothing else is said: AWS's first, and what most other servers sign for. */
export const defaultRegion = 'us-east-1';

/**
 * `s3://BUCKET/PREFIX` on AWS, `s3+https://HOST/BUCKET/PREFIX` and `s3+http://…` elsewhere. A message never repeats the URL,
 * which may hold a credential.
 * @param region that of the bucket
 */
export function s3Address(text: string, region: string = defaultRegion): S3Address {
  const [, scheme, rest] = /^s3(|\+https|\+http):\/\/(.*)$/s.exec(text) ?? [];
  if (scheme === undefined || rest === undefined) {
    return refuse('the URL of a bucket begins with s3://, s3+https:// or s3+http://');
  }
  if (rest.split(/[/?#]/, 1)[0]?.includes('@')) {
    return refuse('spec.url holds keys; put them into a Secret and name it in spec.secretRef');
  }
  if (/[?#\\]/.test(rest)) return refuse('the URL of a bucket has no query, no fragment and no backslash');
  const segments = rest.replace(/\/$/, '').split('/');
  const host = scheme === '' ? undefined : segments.shift();
  const bucket = segments.shift() ?? '';
  const prefix = segments.map(decoded);
  if (!prefix.every((part) => part !== undefined)) {
    return refuse('the prefix in spec.url is no path: write its parts as in a URL, without empty ones, . and ..');
  }
  const url = host === undefined ? awsUrl(bucket, region) : URL.parse(`http${scheme.slice(5)}://${host}/${bucket}/`);
  if (url === null || host === '' || !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(bucket)) {
    return refuse('the URL of a bucket is s3://BUCKET/PREFIX, or s3+https://HOST/BUCKET/PREFIX');
  }
  return { ok: true, url, bucket, region, prefix: prefix.map((part) => `${part}/`).join('') };
}

/** Undefined for what is no part of a path. */
function decoded(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
    return text === '' || text === '.' || text === '..' || /[/\\\x00-\x1f\x7f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** The bucket is part of the host, but for one with dots: no certificate is good for that. */
function awsUrl(bucket: string, region: string): URL | null {
  const host = `s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  return URL.parse(bucket.includes('.') ? `https://${host}/${bucket}/` : `https://${bucket}.${host}/`);
}

/** What messages call the server: its host, without the bucket where that is a part of it. */
export const serverOf = ({ url, bucket }: Pick<BucketAddress, 'url' | 'bucket'>): string =>
  url.pathname === '/' ? url.host.slice(bucket.length + 1) : url.host;

/** Everything but what S3 leaves as it is when it signs. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/** @param key raw, without empty parts, `.` and `..` */
export const objectUrl = (bucket: URL, key: string): URL =>
  new URL(bucket.href + key.split('/').map(encoded).join('/'));

/** One page of a listing. @param query names and values, raw */
export const listingUrl = (bucket: URL, query: Readonly<Record<string, string>>): URL => {
  const url = new URL(bucket.href);
  url.pathname = url.pathname.replace(/(?<=.)\/$/, '');
  url.search = Object.entries(query)
    .map(([name, value]) => `${name}=${encoded(value)}`)
    .join('&');
  return url;
};
