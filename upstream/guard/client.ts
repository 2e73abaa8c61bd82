// The one client for other people's servers: addresses, redirects, credentials, time and bytes are guarded here.
import { lookup } from 'node:dns/promises';
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { UpstreamFault } from '../fault.ts';
import { type AddressCheck, type AddressPolicy, addressCheck } from './addresses.ts';
import { readBody } from './body.ts';
import { trusting } from './certificates.ts';
import { connectTo, type GuardedDispatcher, guardedDispatcher, type ProxySettings } from './dispatcher.ts';
import { closedBeforeAnswer, refusal, requestFault, statusFault } from './faults.ts';

export interface GuardOptions extends AddressPolicy {
  proxy?: ProxySettings | undefined;
  /** PEM certificates of the installation's own authorities. */
  extraCa?: Buffer | undefined;
  /** Milliseconds until a connection stands; 10 s when left out. */
  connectTimeout?: number | undefined;
  /** Milliseconds of silence that end a request; 30 s when left out. */
  idleTimeout?: number | undefined;
}

export type GuardedMethod = 'GET' | 'HEAD' | 'POST' | 'PROPFIND';

/** What is shown to one origin alone; dropped for good once a redirect leaves it. */
export interface Credential {
  origin: string;
  /** The Authorization header, or what makes one for each request; undefined for none. */
  header: string | ((method: GuardedMethod, url: URL) => string | undefined);
  /**
   * Told the challenges of each 401 of that origin (WWW-Authenticate, one a header line).
   * @param shown the header that the request had; undefined for none
   * @returns true when `header` has something else to show now: the request is then made once more, and once behind each redirect
   */
  challenged?(challenges: readonly string[], shown: string | undefined): boolean;
}

/** What signs each request to one origin, made once more for each redirect there; dropped for good once a redirect leaves it. */
export interface SigningCredential {
  origin: string;
  /** @returns headers to send, Authorization among them */
  sign(method: GuardedMethod, url: URL): Promise<Record<string, string>>;
}

/** An answer that is no success. */
export interface Refusal {
  status: number;
  headers: IncomingHttpHeaders;
  /** The unpacked bytes, as many as came of the first 64 KiB. */
  body: Buffer;
}

export interface GuardedRequest {
  method: GuardedMethod;
  url: URL;
  /** What messages call the server; the URL's host when left out. */
  name?: string;
  headers?: Record<string, string>;
  body?: Buffer;
  credential?: Credential | SigningCredential | undefined;
  /** The cap on the answer's bytes, packed and unpacked alike. */
  maxBytes: number;
  /** The bytes are wanted as they are stored, whatever Content-Encoding says of them. */
  stored?: true;
  /**
   * Told of an answer that is no success, redirects among them, where a protocol says more than the status does.
   * @returns the fault to throw; undefined for what is done with every such answer
   */
  explain?: (refusal: Refusal) => UpstreamFault | undefined;
  signal: AbortSignal;
  /** Told bytes on the wire as they arrive. */
  received?: (bytes: number) => void;
}

export interface GuardedResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** Where the answer came from, after redirects. */
  url: URL;
  /** The unpacked bytes. Read it to its end or call `discard`. */
  body: AsyncIterable<Buffer>;
  discard(): void;
}

const redirectCap = 5;
/** Bytes of an answer that is no success. */
const mostExplained = 65_536;
const redirects = new Set([301, 302, 303, 307, 308]);

export class GuardedClient {
  readonly #options: GuardOptions;
  readonly #check: AddressCheck;
  readonly #connections: GuardedDispatcher;
  readonly #connectTimeout: number;
  /** Milliseconds of silence that end a request. */
  readonly idleTimeout: number;

  /**
   * @param options the installation's; made once, the environment is read by the caller
   * @param ca PEM authorities of one look, beside the installation's and the system's
   * @throws Error when a denied range is no CIDR; UpstreamFault TLSFailed when `ca` holds no certificate
   */
  constructor(options: GuardOptions, ca?: Buffer) {
    this.#options = options;
    this.#check = addressCheck(options);
    this.#connectTimeout = options.connectTimeout ?? 10_000;
    this.idleTimeout = options.idleTimeout ?? 30_000;
    const installation = options.extraCa === undefined ? [] : [options.extraCa];
    this.#connections = guardedDispatcher({
      check: this.#check,
      proxy: options.proxy,
      trust: trusting(ca === undefined ? installation : [...installation, ca]),
      proxyTrust: trusting(installation),
      connectTimeout: this.#connectTimeout,
      idleTimeout: this.idleTimeout,
    });
  }

  /** A client for one look that trusts these authorities as well; the caller closes it. */
  withCa(ca: Buffer): GuardedClient {
    return new GuardedClient(this.#options, ca);
  }

  /**
   * One request with its redirects; only a success (2xx) comes back, and a 304 to a request that has something to compare.
   * @throws UpstreamFault, never quoting what a server sent; the signal's own reason when it aborts
   */
  async request(request: GuardedRequest): Promise<GuardedResponse> {
    const asked = request.name ?? request.url.host;
    const { method, body } = request;
    let { url, credential } = request;
    let askedAgain = false;
    for (let hop = 0; ; ) {
      const name = url.host === request.url.host ? asked : redirected(asked);
      await this.#checkHost(url.hostname, portOf(url), name);
      if (credential !== undefined && credential.origin !== url.origin) credential = undefined;
      const headers: Record<string, string> = { 'user-agent': 'lyceum', 'accept-encoding': 'gzip', ...request.headers };
      const shown = credential === undefined || 'sign' in credential ? undefined : credential;
      const authorization = typeof shown?.header === 'function' ? shown.header(method, url) : shown?.header;
      if (authorization !== undefined) headers.authorization = authorization;
      if (credential !== undefined && 'sign' in credential) Object.assign(headers, await credential.sign(method, url));
      const answer = await this.#send(name, url, method, headers, body, request.signal);
      const status = answer.statusCode;
      const discard = () => answer.body.on('error', () => {}).destroy();
      if ((status >= 200 && status <= 299) || (status === 304 && isConditional(headers))) {
        return {
          status,
          headers: answer.headers,
          url,
          discard,
          body: readBody(answer.body, {
            host: name,
            encoding: request.stored ? undefined : single(answer.headers['content-encoding']),
            maxBytes: request.maxBytes,
            signal: request.signal,
            received: request.received ?? (() => {}),
          }),
        };
      }
      const explained = request.explain?.({
        status,
        headers: answer.headers,
        body: await beginningOf(answer, request.signal),
      });
      discard();
      if (explained !== undefined) throw explained;
      if (status === 401) {
        const challenges = lines(answer.headers['www-authenticate']);
        const hasMore = shown?.challenged?.(challenges, authorization) === true;
        if (hasMore && !askedAgain) {
          askedAgain = true;
          continue;
        }
      }
      if (!redirects.has(status)) throw statusFault(name, status, single(answer.headers['retry-after']));
      if (hop === redirectCap) {
        throw new UpstreamFault('UpstreamInvalid', `${asked} redirects more than ${redirectCap} times`);
      }
      if ((method === 'POST' && status < 307) || (method === 'PROPFIND' && status === 303)) {
        throw new UpstreamFault(
          'UpstreamInvalid',
          `${name} redirects a ${method} (HTTP ${status}), which loses what was asked`,
        );
      }
      url = target(url, answer.headers.location, name);
      askedAgain = false;
      hop++;
    }
  }

  /**
   * A bare connection for a protocol that is not HTTP, its addresses checked as those of requests are. No proxy is used.
   * @param name what messages call the server
   * @throws UpstreamFault; the signal's own reason when it aborts
   */
  async connect(host: string, port: number, name: string, signal: AbortSignal): Promise<Socket> {
    await this.#checkHost(host, port, name);
    try {
      return await connectTo(host, port, { check: this.#check, timeout: this.#connectTimeout, signal });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw requestFault(name, error);
    }
  }

  async close(): Promise<void> {
    await this.#connections.destroy();
  }

  /** @throws UpstreamFault AddressNotAllowed */
  async #checkHost(host: string, port: number, name: string): Promise<void> {
    const names = this.#check.apiServerNames(port);
    if (names.length > 0) {
      const found = await Promise.all(names.map((name) => lookup(name, { all: true }).catch(() => [])));
      this.#check.apiServerIs(found.flat().map(({ address }) => address));
    }
    const closed = this.#check.host(host, port);
    if (closed !== undefined) throw refusal(name, `is ${closed}`);
  }

  async #send(
    name: string,
    url: URL,
    method: GuardedMethod,
    headers: Record<string, string>,
    body: Buffer | undefined,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const send = () =>
      abortable(
        this.#connections.dispatcher.request({
          origin: url.origin,
          path: url.pathname + url.search,
          method,
          headers,
          body: body ?? null,
          signal,
        }),
        signal,
      );
    try {
      return await send().catch((error: unknown) => {
        if (signal.aborted || !closedBeforeAnswer(error)) throw error;
        return send();
      });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw requestFault(name, error);
    }
  }
}

/** Ends with the signal at once, also while a connection is still being made, which undici waits for. */
async function abortable(
  answer: Promise<Dispatcher.ResponseData>,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  // First of all, since it rejects by itself where the signal has aborted already.
  answer.then(
    ({ body }) => {
      if (signal.aborted) body.on('error', () => {}).destroy();
    },
    () => {},
  );
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([answer, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** As much as came of the first bytes: what broke off, or cannot be unpacked, is explained by the status alone. */
async function beginningOf(answer: Dispatcher.ResponseData, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    const encoding = single(answer.headers['content-encoding']);
    const bounds = { host: '', encoding, maxBytes: mostExplained, signal, received: () => {} };
    for await (const chunk of readBody(answer.body, bounds)) chunks.push(chunk);
  } catch {
    signal.throwIfAborted();
  }
  return Buffer.concat(chunks);
}

function target(from: URL, location: string | string[] | undefined, name: string): URL {
  const text = single(location);
  const to = text === undefined ? null : URL.parse(text, from.href);
  if (to === null || (to.protocol !== 'https:' && to.protocol !== 'http:')) {
    throw new UpstreamFault('UpstreamInvalid', `${name} redirects to something that is no web address`);
  }
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw new UpstreamFault('UpstreamInvalid', `${name} redirects from https to http, which is not followed`);
  }
  to.username = '';
  to.password = '';
  to.hash = '';
  return to;
}

/** What messages call a server whose name only a redirect has told. */
export const redirected = (name: string): string => `the server that ${name} redirects to`;

const isConditional = (headers: Record<string, string>): boolean =>
  'if-none-match' in headers || 'if-modified-since' in headers;

const portOf = (url: URL): number => Number(url.port) || (url.protocol === 'https:' ? 443 : 80);

const lines = (header: string | string[] | undefined): string[] =>
  header === undefined ? [] : Array.isArray(header) ? header : [header];

const single = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;
