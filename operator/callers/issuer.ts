// Who signs the tokens of ServiceAccounts: the API server's name as an issuer and its published keys, kept and fetched anew.
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import type { Clock } from '../clock.ts';
import type { Connection } from '../kubernetes/connection.ts';

/** The keys cannot be had now, so that nobody can be known. */
export class KeysUnavailable extends Error {}

/** What the API server publishes, as it was fetched. */
interface Published {
  issuer: string;
  keys: JWTVerifyGetKey;
  /** In milliseconds of the clock. */
  at: number;
}

const discoverySchema = z.object({ issuer: z.string().min(1) });
const keySetSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** A key that is taken out of use is trusted no longer than this, in milliseconds. */
const freshForMilliseconds = 10 * 60_000;
/** Unknown key ids, which anybody can make up, cause no more than one fetch in so many milliseconds. */
const restMilliseconds = 3_000;
const mostBytes = 256 * 1024;

export class Issuer {
  readonly #connection: Pick<Connection, 'getJson'>;
  readonly #clock: Pick<Clock, 'now'>;
  #published: Published | undefined;
  #fetching: Promise<Published> | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;

  constructor(connection: Pick<Connection, 'getJson'>, clock: Pick<Clock, 'now'>) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** The `iss` of its tokens. @throws KeysUnavailable */
  async name(): Promise<string> {
    return (await this.#fresh()).issuer;
  }

  /**
   * The public key of a token's header.
   * @throws KeysUnavailable; errors.JWKSNoMatchingKey when it is none of the published ones
   */
  readonly key: JWTVerifyGetKey = async (header, token) => {
    const published = await this.#fresh();
    try {
      return await published.keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.#isResting()) throw error;
      return await (await this.#fetch()).keys(header, token);
    }
  };

  async #fresh(): Promise<Published> {
    const published = this.#published;
    if (published !== undefined && this.#clock.now() - published.at < freshForMilliseconds) return published;
    return this.#fetch();
  }

  #isResting(): boolean {
    return this.#fetching === undefined && this.#clock.now() - this.#triedAt < restMilliseconds;
  }

  #fetch(): Promise<Published> {
    if (this.#isResting()) throw new KeysUnavailable('the keys of the API server could not be fetched a moment ago');
    this.#fetching ??= this.#ask().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  /** Both over the operator's own connection: where the discovery document says that the keys are is not asked. */
  async #ask(): Promise<Published> {
    const at = this.#clock.now();
    this.#triedAt = at;
    try {
      const get = (path: string): Promise<unknown> =>
        this.#connection.getJson(path, {}, { accept: 'application/json, application/jwk-set+json', mostBytes });
      const [discovery, keys] = await Promise.all([get('/.well-known/openid-configuration'), get('/openid/v1/jwks')]);
      const { issuer } = discoverySchema.parse(discovery);
      const set = keySetSchema.parse(keys) as JSONWebKeySet;
      this.#published = { issuer, keys: createLocalJWKSet(set), at };
      return this.#published;
    } catch (cause) {
      throw new KeysUnavailable('the keys of the API server cannot be fetched', { cause });
    }
  }
}
