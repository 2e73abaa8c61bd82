// One bucket: its objects listed page by page, single ones read as they were listed, all through the guard.
import { MovedMeanwhile, UpstreamFault } from '../fault.ts';
import type { GuardedClient, GuardedRequest, GuardedResponse, SigningCredential } from '../guard/client.ts';
import { treeCaps } from '../limits.ts';
import { newPace } from '../pace.ts';
import { type BucketAddress, listingUrl, objectUrl, serverOf } from './address.ts';
import { type AskedBucket, bucketFault, codeOf } from './faults.ts';
import { etagOf, isStrong, type ListedObject, type ListingPage, NoListing, readListing } from './listing.ts';

export interface BucketOptions {
  /** From `s3Address`. */
  address: BucketAddress;
  client: GuardedClient;
  /** Undefined for a bucket that everybody may read. */
  signature: SigningCredential | undefined;
  /** Told bytes on the wire as they arrive. */
  received(bytes: number): void;
}

/** Keys of a page, which is as many as servers give. */
const keysOfPage = 1000;
/** Bytes of one: a thousand of the longest keys, every byte of them escaped. */
const mostListed = 4 * 2 ** 20;
/** So many pages may have no keys; deleted ones make some. */
const mostEmptyPages = 100;

/** Bytes that a key may have, anywhere. */
const longestKey = 1024;
/** Bytes of all keys, so that as many as there may be do not fill the memory; a quarter of the longest on average. */
const mostOfKeys = 128 * 2 ** 20;

export class Bucket {
  readonly #options: BucketOptions;
  readonly #asked: AskedBucket;

  constructor(options: BucketOptions) {
    this.#options = options;
    this.#asked = { ...options.address, signed: options.signature !== undefined };
  }

  /** What messages call the server. */
  get name(): string {
    return serverOf(this.#options.address);
  }

  /**
   * Every object whose key begins with the prefix, each once.
   * @throws UpstreamFault, also for a listing that contradicts itself or never ends; the signal's reason
   */
  async list(prefix: string, signal: AbortSignal): Promise<ListedObject[]> {
    const objects: ListedObject[] = [];
    const keys = new Set<string>();
    const pace = newPace(signal);
    let bytesOfKeys = 0;
    let emptyPages = 0;
    for (let token: string | undefined; ; ) {
      const page = await this.#page(prefix, token, signal);
      for (const object of page.objects) {
        if (isTooLong(object)) throw this.#invalid(`lists a key of more than ${longestKey} bytes`);
        if (!object.garbled && (keys.has(object.key) || !object.key.startsWith(prefix))) {
          throw this.#invalid('lists an object twice, or one that was not asked for');
        }
        bytesOfKeys += Buffer.byteLength(object.key);
        keys.add(object.key);
        objects.push(object);
        await pace();
      }
      if (objects.length > treeCaps.entries) throw tooMany(`${treeCaps.entries} objects`);
      if (bytesOfKeys > mostOfKeys) throw tooMany(`${mostOfKeys / 2 ** 20} MiB of keys`);
      if (!page.truncated) return objects;
      if (page.objects.length === 0) emptyPages += 1;
      if (page.next === undefined || page.next === token || emptyPages > mostEmptyPages) {
        throw this.#invalid('breaks its listing off without a way to go on: it must know ListObjectsV2');
      }
      token = page.next;
    }
  }

  /**
   * The bytes of an object as they are stored.
   * @param listed what arrives must be what was listed
   * @param called what messages call it
   * @param most bytes; undefined is given for a larger object
   * @throws MovedMeanwhile where it is not there any longer, or is another one; UpstreamFault; the signal's reason
   */
  async read(
    { key, etag, size }: ListedObject,
    called: string,
    most: number,
    signal: AbortSignal,
  ): Promise<Buffer | undefined> {
    const moved = () =>
      new MovedMeanwhile(
        `${this.name} does not have ${called} as it lists it: it changed or vanished while the bucket was read`,
      );
    const ifMatch: Record<string, string> = isStrong(etag) ? { 'if-match': `"${etag}"` } : {};
    const response = await this.#request({
      url: objectUrl(this.#options.address.url, key),
      headers: { ...ifMatch, accept: '*/*', 'accept-encoding': 'identity' },
      maxBytes: most,
      stored: true,
      explain: (refusal) => {
        const isMissing = refusal.status === 404 && ['NoSuchKey', undefined].includes(codeOf(refusal));
        return refusal.status === 412 || isMissing ? moved() : bucketFault(this.#asked, called, refusal);
      },
      signal,
    });
    if (response.status !== 200) {
      response.discard();
      throw this.#invalid(`does not send ${called} whole (HTTP ${response.status})`);
    }
    const bytes = await gathered(response, signal);
    if (bytes === undefined) {
      if (size !== undefined && size <= most) throw moved();
      return undefined;
    }
    const arrived = etagOf(response.headers.etag);
    const isAnother = isStrong(etag) && isStrong(arrived) && arrived !== etag;
    if (isAnother || (size !== undefined && bytes.length !== size)) throw moved();
    return bytes;
  }

  async #page(prefix: string, token: string | undefined, signal: AbortSignal): Promise<ListingPage> {
    const query = {
      ...(token === undefined ? {} : { 'continuation-token': token }),
      'encoding-type': 'url',
      'list-type': '2',
      'max-keys': String(keysOfPage),
      prefix,
    };
    const response = await this.#request({
      url: listingUrl(this.#options.address.url, query),
      headers: { accept: 'application/xml' },
      maxBytes: mostListed,
      explain: (refusal) => bucketFault(this.#asked, `the bucket "${this.#asked.bucket}"`, refusal),
      signal,
    });
    const chunks: Buffer[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    try {
      return await readListing(Buffer.concat(chunks).toString(), newPace(signal));
    } catch (cause) {
      if (!(cause instanceof NoListing)) throw cause;
      throw this.#invalid(
        `answers with something that cannot be read as a listing: ${cause.message}; check spec.url, and whether a sign-in page stands in front of it`,
        cause,
      );
    }
  }

  #request(request: Omit<GuardedRequest, 'method' | 'credential' | 'received' | 'name'>): Promise<GuardedResponse> {
    const { client, signature, received } = this.#options;
    return client.request({ ...request, method: 'GET', name: this.name, credential: signature, received });
  }

  #invalid(words: string, cause?: unknown): UpstreamFault {
    return new UpstreamFault('UpstreamInvalid', `${this.name} ${words}`, cause === undefined ? {} : { cause });
  }
}

const tooMany = (what: string): UpstreamFault =>
  new UpstreamFault(
    'LimitExceeded',
    `the bucket has more than ${what} there, which no field raises: narrow spec.url or spec.subdirectory`,
  );

/** A character that is lost stands for a byte at least. */
const isTooLong = ({ key, garbled }: ListedObject): boolean =>
  key.length * 3 > longestKey && (garbled ? key.length : Buffer.byteLength(key)) > longestKey;

/** Undefined for more than may come. */
async function gathered({ body }: GuardedResponse, signal: AbortSignal): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of body) chunks.push(chunk);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UpstreamFault && error.reason === 'LimitExceeded') return undefined;
    throw error;
  }
  return Buffer.concat(chunks);
}
