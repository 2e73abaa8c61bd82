// One artifact of a registry: what its tag stands for now, its manifest, and its blobs, each held against its digest.
import { createHash } from 'node:crypto';
import { UpstreamFault } from '../fault.ts';
import type { GuardedRequest, GuardedResponse, Refusal } from '../guard/client.ts';
import { retryAfterSeconds } from '../guard/faults.ts';
import { revisionOf } from './address.ts';
import { type AuthenticationOptions, RegistryAuthentication } from './authentication.ts';
import { type Descriptor, type Layer, largestManifest, manifestTypes, readManifest } from './manifest.ts';

export interface Artifact {
  /** `TAG@sha256:<hex>`, or the digest alone. */
  revision: string;
  layers: Layer[];
}

type Asked = Pick<GuardedRequest, 'url' | 'maxBytes' | 'headers' | 'stored' | 'explain'> & { method: 'GET' | 'HEAD' };

const digestPattern = /^sha256:[0-9a-f]{64}$/;

export class Registry {
  readonly #options: AuthenticationOptions;
  readonly #authentication: RegistryAuthentication;

  /** @param options the look's; the client stays open */
  constructor(options: AuthenticationOptions) {
    this.#options = options;
    this.#authentication = new RegistryAuthentication(options);
  }

  /** What messages call the registry. */
  get name(): string {
    return this.#options.address.registry;
  }

  /**
   * What the artifact's state is called now. A digest means the same for ever, so nobody is asked for it; a tag costs one HEAD.
   * @throws UpstreamFault; the signal's reason
   */
  async revision(): Promise<string> {
    const { address } = this.#options;
    if (address.digest !== undefined) return revisionOf(address, address.digest);
    try {
      const { headers, discard } = await this.#askForManifest('HEAD', this.#reference);
      discard();
      const digest = headers['docker-content-digest'];
      if (typeof digest === 'string' && digestPattern.test(digest)) return revisionOf(address, digest);
    } catch (error) {
      if (!(error instanceof NoHead)) throw error;
    }
    return revisionOf(address, (await this.#manifest(this.#reference)).digest);
  }

  /**
   * The artifact as it is now; of several for different platforms the one for linux on amd64, else the first.
   * @throws UpstreamFault; the signal's reason
   */
  async artifact(): Promise<Artifact> {
    const { address } = this.#options;
    const first = await this.#manifest(this.#reference);
    const revision = revisionOf(address, first.digest);
    const found = readManifest(first.bytes, this.#called);
    if (found.kind === 'layers') return { revision, layers: found.layers };
    const inner = readManifest((await this.#manifest(found.chosen.digest)).bytes, this.#called);
    if (inner.kind === 'layers') return { revision, layers: inner.layers };
    throw this.#invalid(`names an index in an index for ${address.repository}, which is not read`);
  }

  /**
   * The bytes of a blob as they come; they are good once this has ended.
   * @throws UpstreamFault UpstreamInvalid for other bytes than the descriptor says, however many; the signal's reason
   */
  async blob(
    { digest, size }: Pick<Descriptor, 'digest' | 'size'>,
    signal: AbortSignal,
    take: (chunk: Buffer) => unknown,
  ): Promise<void> {
    const response = await this.#ask(
      {
        method: 'GET',
        url: this.#url('blobs', digest),
        headers: { accept: '*/*', 'accept-encoding': 'identity' },
        maxBytes: size,
        stored: true,
        explain: (refusal) =>
          refusal.status === 404
            ? this.#invalid('does not have a layer that its manifest names: push the artifact again')
            : slowDown(this.name, refusal),
      },
      signal,
    );
    const hash = createHash('sha256');
    let arrived = 0;
    try {
      if (response.status !== 200) throw this.#invalid(`does not send a layer whole (HTTP ${response.status})`);
      for await (const chunk of response.body) {
        arrived += chunk.length;
        hash.update(chunk);
        await take(chunk);
      }
    } catch (error) {
      if (!(error instanceof UpstreamFault && error.reason === 'LimitExceeded')) throw error;
      arrived = size + 1;
    } finally {
      response.discard();
    }
    if (arrived !== size || `sha256:${hash.digest('hex')}` !== digest) {
      throw this.#invalid(
        'sends other bytes for a layer than its manifest says, by their digest or their number: push the artifact again',
      );
    }
  }

  get #reference(): string {
    const { digest, tag } = this.#options.address;
    return digest ?? tag!;
  }

  get #called(): string {
    return `${this.name}/${this.#options.address.repository}`;
  }

  #url(kind: 'manifests' | 'blobs', reference: string): URL {
    const { api, repository } = this.#options.address;
    return new URL(`${repository}/${kind}/${reference}`, api);
  }

  async #manifest(reference: string): Promise<{ digest: string; bytes: Buffer }> {
    const response = await this.#askForManifest('GET', reference);
    const chunks: Buffer[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    const told = response.headers['docker-content-digest'];
    const isPinned = digestPattern.test(reference);
    const other = isPinned ? reference : typeof told === 'string' && digestPattern.test(told) ? told : digest;
    if (other !== digest) throw this.#invalid('sends another manifest than its digest says');
    return { digest, bytes };
  }

  #askForManifest(method: 'GET' | 'HEAD', reference: string): Promise<GuardedResponse> {
    return this.#ask({
      method,
      url: this.#url('manifests', reference),
      headers: { accept: manifestTypes },
      maxBytes: largestManifest,
      explain: (refusal) => {
        if (method === 'HEAD' && [405, 501].includes(refusal.status)) return new NoHead('UpstreamInvalid', '');
        return refusal.status === 404 ? this.#notFound() : slowDown(this.name, refusal);
      },
    });
  }

  #notFound(): UpstreamFault {
    const { tag, digest, repository } = this.#options.address;
    const what = digest === undefined ? `tag "${tag}"` : 'manifest of this digest';
    return new UpstreamFault(
      'NotFound',
      `${this.name} has no ${what} of ${repository}, or shows it only with credentials; check spec.url and spec.secretRef`,
    );
  }

  /** Asks once more with what the registry has said that it wants to be shown. */
  async #ask(asked: Asked, signal = this.#options.signal): Promise<GuardedResponse> {
    const { address, client, received } = this.#options;
    const request = { ...asked, name: this.name, signal, received };
    const { origin } = address.api;
    const shown = this.#authentication.header;
    let challenges: readonly string[] | undefined;
    const challenged = (lines: readonly string[]): boolean => {
      challenges = lines;
      return false;
    };
    try {
      return await client.request({ ...request, credential: { origin, header: () => shown, challenged } });
    } catch (error) {
      const header = challenges && (await this.#authentication.after(challenges, shown));
      if (header === undefined) throw error;
      return await client.request({ ...request, credential: { origin, header } });
    }
  }

  #invalid(words: string): UpstreamFault {
    return new UpstreamFault('UpstreamInvalid', `${this.name} ${words}`);
  }
}

/** The registry does not know HEAD. */
class NoHead extends UpstreamFault {}

function slowDown(name: string, { status, headers }: Refusal): UpstreamFault | undefined {
  if (status !== 429) return undefined;
  const seconds = retryAfterSeconds(headers['retry-after'], Date.now());
  return new UpstreamFault(
    'RateLimited',
    `${name} asks to slow down (HTTP 429); who shows credentials, in spec.secretRef, may often pull more`,
    seconds === undefined ? {} : { retryAfterSeconds: seconds },
  );
}
