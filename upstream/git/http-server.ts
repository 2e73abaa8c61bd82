// One repository's server over HTTP: where it is after redirects, and requests to it through the guard.
import { UpstreamFault } from '../fault.ts';
import { type GuardedClient, type GuardedResponse, redirected } from '../guard/client.ts';
import { newPace } from '../pace.ts';
import { type Advertisement, readAdvertisement } from './advertisement.ts';
import { ByteStream } from './byte-stream.ts';
import { type GitServer, mostAdvertised } from './server.ts';

export interface HttpGitServerOptions {
  /** From `gitAddress`. */
  url: URL;
  client: GuardedClient;
  /** An Authorization header, for the origin of `url` alone. */
  authorization: string | undefined;
  signal: AbortSignal;
  /** Told bytes on the wire as they arrive. */
  received(bytes: number): void;
}

export class HttpGitServer implements GitServer {
  readonly #options: HttpGitServerOptions;
  /** The repository's place where an advertisement was redirected, or not. */
  #base: URL | undefined;

  constructor(options: HttpGitServerOptions) {
    this.#options = options;
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  get name(): string {
    const { host } = this.#options.url;
    return this.#base === undefined || this.#base.host === host ? host : redirected(host);
  }

  /** @throws UpstreamFault UpstreamInvalid for what is no git server of the smart protocol, and whatever the guard finds */
  async advertisement(version: 0 | 2, wanted: ReadonlySet<string>): Promise<Advertisement> {
    const path = 'info/refs?service=git-upload-pack';
    const response = await this.#send('GET', path, version, { maxBytes: mostAdvertised });
    const stream = new ByteStream(response.body);
    try {
      if (response.status === 203) {
        throw new UpstreamFault(
          'AuthenticationFailed',
          `${this.name} answers with a sign-in page; check spec.secretRef`,
        );
      }
      if (response.headers['content-type'] !== 'application/x-git-upload-pack-advertisement') {
        throw new UpstreamFault(
          'UpstreamInvalid',
          `${this.name} does not answer as a git server (smart HTTP) at this address; check spec.url`,
        );
      }
      const advertisement = await readAdvertisement(stream, this.name, wanted, newPace(this.signal));
      await stream.fill(1);
      this.#base = baseOf(response.url, this.name);
      return advertisement;
    } finally {
      await stream.cancel();
    }
  }

  /** @throws UpstreamFault UpstreamInvalid for an answer of another kind, and whatever the guard finds */
  async request(body: Buffer, version: 0 | 2, maxBytes: number): Promise<AsyncIterable<Buffer>> {
    const response = await this.#send('POST', 'git-upload-pack', version, { body, maxBytes });
    if (response.headers['content-type'] !== 'application/x-git-upload-pack-result') {
      response.discard();
      throw new UpstreamFault('UpstreamInvalid', `${this.name} answered a git request with something else`);
    }
    return response.body;
  }

  /** Connections belong to the client. */
  close(): void {}

  #send(
    method: 'GET' | 'POST',
    path: string,
    version: 0 | 2,
    more: { body?: Buffer; maxBytes: number },
  ): Promise<GuardedResponse> {
    const { client, url, authorization, signal, received } = this.#options;
    return client.request({
      method,
      url: new URL(`${(this.#base ?? this.#options.url).href}/${path}`),
      name: this.name,
      headers: {
        ...(version === 2 ? { 'git-protocol': 'version=2' } : {}),
        ...(method === 'POST' ? { 'content-type': 'application/x-git-upload-pack-request' } : {}),
      },
      credential: authorization === undefined ? undefined : { header: authorization, origin: url.origin },
      signal,
      received,
      ...more,
    });
  }
}

function baseOf(answered: URL, name: string): URL {
  const suffix = '/info/refs';
  if (!answered.pathname.endsWith(suffix)) {
    throw new UpstreamFault('UpstreamInvalid', `${name} redirects to what is no git repository`);
  }
  return new URL(answered.pathname.slice(0, -suffix.length), answered.origin);
}
