// One WebDAV server: folders listed by Depth-1 PROPFINDs, single files looked at and read, all through the guard.
import { createHash } from 'node:crypto';
import { UpstreamFault } from '../fault.ts';
import type { GuardedClient, GuardedRequest, GuardedResponse } from '../guard/client.ts';
import { newPace } from '../pace.ts';
import { fileUrl, folderUrl } from './address.ts';
import type { Authentication, RequestCredential } from './authentication.ts';
import { partsOf } from './href.ts';
import { type Entry, FolderListing, type Remark } from './listing.ts';
import { NoMultistatus, propfindBody, readMultistatus } from './multistatus.ts';

export interface WebDavServerOptions {
  /** From `webDavAddress`. */
  url: URL;
  client: GuardedClient;
  authentication: Authentication;
  /** Told bytes on the wire as they arrive. */
  received(bytes: number): void;
}

/** Bytes of one listing. */
export const mostListed = 16 * 2 ** 20;
/** Bytes of what is said of one thing: servers of skills ask about many at once. */
const mostLooked = 2 ** 20;

export interface FolderAnswer {
  /** SHA-256 of the listing, hex. */
  hash: string;
  /** The server's own time when it answered, in milliseconds since 1970. */
  at: number;
  /** Undefined where the hash is the one that was known: nothing was parsed. */
  listing: { entries: Entry[]; remarks: Remark[] } | undefined;
}

export class WebDavServer {
  readonly #options: WebDavServerOptions;
  /** The first request, which finds out how the server wants to be shown a password. */
  #deciding: Promise<void> | undefined;
  /** The server takes each nonce once, so each request waits for the answer to the one before. */
  #isInTurn = false;
  #last: Promise<void> = Promise.resolve();

  constructor(options: WebDavServerOptions) {
    this.#options = options;
  }

  /** What messages call the server. */
  get name(): string {
    return this.#options.url.host;
  }

  /**
   * @param path below the source's folder, `` for itself
   * @param known the hash of the listing that is known
   * @param counted told of each thing that is listed, as it is read; what it throws ends the reading
   * @throws UpstreamFault; the signal's reason
   */
  async list(path: string, known: string | undefined, signal: AbortSignal, counted: () => void): Promise<FolderAnswer> {
    const { response, chunks, hash } = await this.#propfind(folderUrl(this.#options.url, path), 1, signal);
    const at = timeOf(response);
    if (hash === known) return { hash, at, listing: undefined };
    const listing = new FolderListing({
      hrefPath: partsOf(response.url.pathname) ?? [],
      host: response.url.host,
      server: this.name,
      folder: called(path),
      counted,
    });
    await this.#parse(chunks, signal, path, (answer) => listing.add(answer));
    listing.end();
    return { hash, at, listing: { entries: [...listing.entries.values()], remarks: listing.remarks } };
  }

  /**
   * What one file is at present, by one request.
   * @throws UpstreamFault, NotFound where there is no such file; the signal's reason
   */
  async look(path: string, signal: AbortSignal): Promise<{ entry: Entry; at: number }> {
    const url = fileUrl(this.#options.url, path);
    const { response, chunks } = await this.#propfind(url, 0, signal);
    const parts = partsOf(response.url.pathname) ?? [];
    const listing = new FolderListing({
      hrefPath: parts.slice(0, -1),
      host: response.url.host,
      server: this.name,
      folder: called(path),
      counted: () => {},
    });
    await this.#parse(chunks, signal, path, (answer) => listing.add(answer));
    const entry = listing.entries.get(parts.at(-1) ?? '');
    if (entry === undefined || entry.folder) {
      throw new UpstreamFault('NotFound', `${this.name} has no file ${called(path)}`);
    }
    return { entry, at: timeOf(response) };
  }

  /** Whether there is still something at a path. @throws UpstreamFault; the signal's reason */
  async isThere(path: string, signal: AbortSignal): Promise<boolean> {
    try {
      const { response } = await this.#propfind(fileUrl(this.#options.url, path), 0, signal);
      return response.status === 207;
    } catch (error) {
      if (error instanceof UpstreamFault && error.reason === 'NotFound') return false;
      throw error;
    }
  }

  /**
   * The bytes of a file.
   * @param listed what the listing said of it: what arrives must be as long, or have been changed since
   * @param most bytes; undefined is given for a longer file
   * @throws UpstreamFault; the signal's reason
   */
  async read(
    path: string,
    listed: Pick<Entry, 'size' | 'etag'>,
    most: number,
    signal: AbortSignal,
  ): Promise<Buffer | undefined> {
    // Uncompressed, since only then the length is the file's.
    const headers = { accept: '*/*', 'accept-encoding': 'identity' };
    try {
      const request = { method: 'GET', url: fileUrl(this.#options.url, path), headers, maxBytes: most } as const;
      const response = await this.#request({ ...request, signal });
      if (response.status !== 200) {
        response.discard();
        throw new UpstreamFault(
          'UpstreamInvalid',
          `${this.name} does not send ${called(path)} whole (HTTP ${response.status})`,
        );
      }
      const bytes = Buffer.concat(await gathered(response.body));
      if (isAnother(path, listed, bytes, response)) {
        throw new UpstreamFault(
          'UpstreamInvalid',
          `${this.name} sends something else for ${called(path)} than it lists: it may be changing just now, or be hidden behind a sign-in page`,
        );
      }
      return bytes;
    } catch (error) {
      if (error instanceof UpstreamFault && error.reason === 'LimitExceeded') return undefined;
      throw error;
    }
  }

  async #propfind(
    url: URL,
    depth: 0 | 1,
    signal: AbortSignal,
  ): Promise<{ response: GuardedResponse; chunks: Buffer[]; hash: string }> {
    const headers = {
      depth: String(depth),
      accept: 'application/xml, text/xml',
      'content-type': 'application/xml; charset=utf-8',
    };
    const response = await this.#request({
      method: 'PROPFIND',
      url,
      headers,
      body: propfindBody,
      maxBytes: depth === 0 ? mostLooked : mostListed,
      signal,
    });
    if (response.status !== 207) {
      response.discard();
      throw new UpstreamFault(
        'UpstreamInvalid',
        `${this.name} does not answer as a WebDAV server at this address (HTTP ${response.status}); check spec.url, and whether a sign-in page stands in front of it`,
      );
    }
    const chunks = await gathered(response.body);
    const hash = createHash('sha256');
    const pace = newPace(signal);
    for (const chunk of chunks) {
      hash.update(chunk);
      await pace();
    }
    return { response, chunks, hash: hash.digest('hex') };
  }

  async #parse(
    chunks: Iterable<Buffer>,
    signal: AbortSignal,
    path: string,
    take: Parameters<typeof readMultistatus>[2],
  ): Promise<void> {
    try {
      await readMultistatus(chunks, newPace(signal), take);
    } catch (cause) {
      if (!(cause instanceof NoMultistatus)) throw cause;
      throw new UpstreamFault(
        'UpstreamInvalid',
        `the listing of ${called(path)} by ${this.name} cannot be read: ${cause.message}`,
        { cause },
      );
    }
  }

  /** Shows the password as the server asked, and to a server that did not ask as well: it may show more then. */
  async #request(request: Asked): Promise<GuardedResponse> {
    const { authentication } = this.#options;
    if (authentication.undecided && this.#deciding !== undefined) await this.#deciding;
    if (!authentication.undecided) return this.#send(request);
    const first = this.#send(request);
    this.#deciding = first.then(
      () => undefined,
      () => undefined,
    );
    const response = await first.catch((error: unknown) => {
      if (!authentication.undecided || !(error instanceof UpstreamFault) || !refusals.has(error.reason)) throw error;
      return undefined;
    });
    if (response !== undefined && !authentication.undecided) return response;
    response?.discard();
    authentication.useBasic();
    return this.#send(request);
  }

  /** Where others have used up this request's nonce, requests go one after the other from then on, this one again among them. */
  async #send(request: Asked): Promise<GuardedResponse> {
    for (let times = 1; ; times++) {
      const credential = this.#options.authentication.forRequest();
      try {
        return await this.#inTurn(() => this.#sendOnce(request, credential));
      } catch (error) {
        if (!credential.outrun || times === mostTimes) throw error;
        this.#isInTurn = true;
      }
    }
  }

  async #sendOnce(request: Asked, credential: RequestCredential): Promise<GuardedResponse> {
    const { client, received } = this.#options;
    const response = await client.request({ ...request, name: this.name, credential, received });
    const info = response.headers['authentication-info'];
    credential.accepted(typeof info === 'string' ? info : undefined);
    return response;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#isInTurn) return work();
    const turn = this.#last.then(work);
    this.#last = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }
}

type Asked = Omit<GuardedRequest, 'credential' | 'received' | 'name'>;

/** A server that takes each nonce once is asked so often, until what was under way beside is over. */
const mostTimes = 4;

/** What servers answer to somebody whom they have not asked who he is. */
const refusals: ReadonlySet<string> = new Set(['AccessDenied', 'NotFound', 'UpstreamInvalid']);

const called = (path: string): string => (path === '' ? 'the folder' : `"${path}"`);

/** HTML that nobody listed: a page that somebody put before the file. */
function isAnother(
  path: string,
  listed: Pick<Entry, 'size' | 'etag'>,
  bytes: Buffer,
  { headers }: GuardedResponse,
): boolean {
  if (listed.size !== undefined) return bytes.length !== listed.size;
  const isPage = /^\s*text\/html\b/i.test(headers['content-type'] ?? '');
  return isPage && !/\.x?html?$/i.test(path);
}

function timeOf({ headers }: GuardedResponse): number {
  const time = Date.parse(headers.date ?? '');
  return Number.isNaN(time) ? Date.now() : time;
}

async function gathered(body: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks;
}
