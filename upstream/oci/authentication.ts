// What a registry is shown: nothing before it asks, then a token of the server that it names, or the password itself.
import { z } from 'zod';
import { type Challenge, challengesOf } from '../challenges.ts';
import { UpstreamFault } from '../fault.ts';
import type { GuardedClient } from '../guard/client.ts';
import type { ArtifactAddress } from './address.ts';

export interface AuthenticationOptions {
  address: ArtifactAddress;
  client: GuardedClient;
  /** From `registryCredentials`; undefined for anonymous. */
  basic: string | undefined;
  signal: AbortSignal;
  received(bytes: number): void;
}

const largestAnswer = 256 * 1024;
const longestToken = 16_384;
const longestParameter = 4096;

const answerSchema = z.object({ token: z.string().optional(), access_token: z.string().optional() });

export class RegistryAuthentication {
  readonly #options: AuthenticationOptions;
  #header: string | undefined;
  #asking: Promise<string | undefined> | undefined;

  constructor(options: AuthenticationOptions) {
    this.#options = options;
  }

  /** The Authorization header; undefined for none. */
  get header(): string | undefined {
    return this.#header;
  }

  /**
   * @param lines the challenges of a 401
   * @param shown what had been shown
   * @returns what to show instead; undefined where there is nothing else
   * @throws UpstreamFault of the token server
   */
  async after(lines: readonly string[], shown: string | undefined): Promise<string | undefined> {
    if (this.#header !== shown) return this.#header;
    this.#asking ??= this.#ask(challengesOf(lines)).finally(() => {
      this.#asking = undefined;
    });
    const header = await this.#asking;
    if (header === shown) return undefined;
    this.#header = header;
    return header;
  }

  async #ask(challenges: readonly Challenge[]): Promise<string | undefined> {
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
    if (bearer !== undefined) return `Bearer ${await this.#token(bearer)}`;
    return challenges.some(({ scheme }) => scheme === 'basic') ? this.#options.basic : undefined;
  }

  /** No more is asked for than to read this repository, whatever the registry would have. */
  async #token({ parameters }: Challenge): Promise<string> {
    const { address, client, basic, signal, received } = this.#options;
    const url = this.#realm(parameters.get('realm') ?? '');
    const service = parameters.get('service') ?? '';
    if (service !== '' && service.length <= longestParameter) url.searchParams.set('service', service);
    url.searchParams.set('scope', `repository:${address.repository}:pull`);
    const response = await client.request({
      method: 'GET',
      url,
      name: `the token server of ${address.registry}`,
      headers: { accept: 'application/json' },
      credential: basic === undefined ? undefined : { origin: url.origin, header: basic },
      maxBytes: largestAnswer,
      signal,
      received,
    });
    const chunks: Buffer[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const token = tokenIn(Buffer.concat(chunks).toString());
    if (token !== undefined) return token;
    throw new UpstreamFault('UpstreamInvalid', `the token server of ${address.registry} answers with no token`);
  }

  /** Credentials go there, so it must be as safe as the registry itself. */
  #realm(text: string): URL {
    const { api, registry } = this.#options.address;
    const realm = text.length > longestParameter ? null : URL.parse(text);
    const isSafe = realm?.protocol === 'https:';
    const isAsSafe = realm?.protocol === 'http:' && api.protocol === 'http:' && realm.hostname === api.hostname;
    if (realm === null || !(isSafe || isAsSafe)) {
      throw new UpstreamFault(
        'UpstreamInvalid',
        `${registry} sends for a token to something that is no https address, which is not followed`,
      );
    }
    realm.username = '';
    realm.password = '';
    realm.hash = '';
    return realm;
  }
}

function tokenIn(text: string): string | undefined {
  try {
    const parsed = answerSchema.parse(JSON.parse(text));
    const token = parsed.token || parsed.access_token || '';
    return token.length <= longestToken && /^[\x21-\x7e]+$/.test(token) ? token : undefined;
  } catch {
    return undefined;
  }
}
