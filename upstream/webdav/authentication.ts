// How a WebDAV server wants to be shown a password: asked first, then Digest (RFC 7616, MD5) or Basic (RFC 7617, UTF-8).
import { randomBytes } from 'node:crypto';
import { createDigestContext, generateDigestAuthHeader } from 'webdav/dist/node/auth/digest.js';
import { challengesOf } from '../challenges.ts';
import { UpstreamFault } from '../fault.ts';
import type { Credential, GuardedMethod } from '../guard/client.ts';

type Scheme = 'undecided' | 'basic' | 'digest';

type Digest = ReturnType<typeof createDigestContext>;

/** What one request shows. */
export interface RequestCredential extends Credential {
  header(method: GuardedMethod, url: URL): string | undefined;
  /** @throws UpstreamFault AuthenticationFailed where the server wants what Lyceum does not have */
  challenged(challenges: readonly string[], shown: string | undefined): boolean;
  /** The nonce that this request was given, and it alone, was used up all the same: others moved the server on meanwhile. */
  readonly outrun: boolean;
  /** @param info the header Authentication-Info of an answer that is no 401 */
  accepted(info: string | undefined): void;
}

/**
 * How one server is shown the password. Nothing is shown before the server has said what it wants, so that a password never
 * goes in the clear to a server that asks for Digest.
 */
export class Authentication {
  readonly #origin: string;
  readonly #host: string;
  readonly #username: string;
  readonly #password: string;
  #scheme: Scheme = 'undecided';
  /** What the next request begins with. */
  #digest: Digest | undefined;
  /** The server has taken what it was shown: a further 401 is about an old nonce. */
  #accepted = false;

  constructor(url: URL, username: string, password: string) {
    this.#origin = url.origin;
    this.#host = url.host;
    this.#username = username;
    this.#password = password;
  }

  /** Whether the server has been shown nothing yet. */
  get undecided(): boolean {
    return this.#scheme === 'undecided';
  }

  /** For a server that answers without asking: it is shown the password all the same, since it may show more then. */
  useBasic(): void {
    this.#scheme = 'basic';
  }

  /** Each request answers with the nonce of its own challenge, since a server may take a nonce once. */
  forRequest(): RequestCredential {
    let own: Digest | undefined;
    let outrun = false;
    return {
      origin: this.#origin,
      get outrun() {
        return outrun;
      },
      header: (method, url) => this.#header(own ?? this.#digest, method, url),
      challenged: (lines, shown) => {
        const { digest, isStale } = this.#read(lines);
        outrun = own !== undefined && isStale;
        const isOutdated = this.#isOutdated(shown);
        if (digest === undefined || (this.#scheme === 'basic' && isOutdated)) {
          if (this.#scheme !== 'undecided') return isOutdated;
          this.#scheme = 'basic';
          return true;
        }
        if (this.#scheme !== 'undecided' && !(isStale || isOutdated || this.#accepted)) return false;
        this.#scheme = 'digest';
        own = this.#contextOf(digest);
        this.#digest ??= own;
        return true;
      },
      accepted: (info) => {
        if (this.#scheme === 'undecided') return;
        this.#accepted = true;
        const used = own ?? this.#digest;
        if (used !== undefined) this.#digest = followed(used, info);
      },
    };
  }

  #header(digest: Digest | undefined, method: GuardedMethod, url: URL): string | undefined {
    if (this.#scheme === 'undecided') return undefined;
    if (digest === undefined) {
      return `Basic ${Buffer.from(`${this.#username}:${this.#password}`).toString('base64')}`;
    }
    digest.nc += 1;
    const header = generateDigestAuthHeader({ method, url: url.href }, digest);
    // A header's characters are bytes: those of the user's name in UTF-8.
    return Buffer.from(header).toString('latin1');
  }

  /** @throws UpstreamFault AuthenticationFailed where the server wants what Lyceum does not have */
  #read(lines: readonly string[]): { digest: ReadonlyMap<string, string> | undefined; isStale: boolean } {
    const challenges = challengesOf(lines);
    const digests = challenges.filter(({ scheme }) => scheme === 'digest').map(({ parameters }) => parameters);
    const digest = digests.find((parameters) => /^md5(-sess)?$/i.test(parameters.get('algorithm') ?? 'MD5'));
    const hasBasic = challenges.some(({ scheme }) => scheme === 'basic');
    if (digests.length > 0 && digest === undefined && !hasBasic) {
      throw new UpstreamFault(
        'AuthenticationFailed',
        `${this.#host} wants Digest authentication with an algorithm other than MD5, which Lyceum does not have; let it offer Basic over https`,
      );
    }
    return { digest, isStale: digest?.get('stale')?.toLowerCase() === 'true' };
  }

  /** What was shown is not what would be shown now: another request has learned something meanwhile. */
  #isOutdated(shown: string | undefined): boolean {
    if (this.#scheme === 'undecided') return false;
    if (shown === undefined) return true;
    return this.#digest !== undefined && !shown.includes(` nonce="${this.#digest.nonce}"`);
  }

  #contextOf(parameters: ReadonlyMap<string, string>): Digest {
    const unfit = /["\\]/;
    if (unfit.test(this.#username) || unfit.test(parameters.get('realm') ?? '')) {
      throw new UpstreamFault(
        'AuthenticationFailed',
        `${this.#host} wants Digest authentication, which takes no quotation mark and no backslash in a user name or realm`,
      );
    }
    const context = createDigestContext(this.#username, this.#password, '');
    context.cnonce = randomBytes(16).toString('hex');
    for (const name of ['realm', 'nonce', 'qop', 'algorithm', 'opaque'] as const) {
      const value = parameters.get(name);
      if (value !== undefined) context[name] = value;
    }
    return context;
  }
}

/** What is shown after an answer: the nonce that the server wants next, where it names one (RFC 7616, 3.5). */
function followed(used: Digest, info: string | undefined): Digest {
  const [named] = info === undefined ? [] : challengesOf([`Digest ${info}`]);
  const nonce = named?.parameters.get('nextnonce');
  // A session's key is made with the first nonce, and computing one from another is not what the package does.
  if (nonce === undefined || /-sess$/i.test(used.algorithm)) return used;
  return { ...used, nonce, nc: 0 };
}
