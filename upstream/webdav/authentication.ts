// How a WebDAV server wants to be shown a password: asked first, then Digest (RFC 7616, MD5) or Basic (RFC 7617, UTF-8).
import { randomBytes } from 'node:crypto';
import { createDigestContext, generateDigestAuthHeader } from 'webdav/dist/node/auth/digest.js';
import { UpstreamFault } from '../fault.ts';
import type { Credential, GuardedMethod } from '../guard/client.ts';
import { challengesOf } from './challenges.ts';

type Scheme = 'undecided' | 'basic' | 'digest';

/**
 * The credential of one server. Nothing is shown before the server has said what it wants, so that a password never goes
 * in the clear to a server that asks for Digest.
 */
export class Authentication implements Credential {
  readonly origin: string;
  readonly #host: string;
  readonly #username: string;
  readonly #password: string;
  #scheme: Scheme = 'undecided';
  #digest: ReturnType<typeof createDigestContext> | undefined;
  /** The server has taken what it was shown: a further 401 is about an old nonce. */
  #accepted = false;

  constructor(url: URL, username: string, password: string) {
    this.origin = url.origin;
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

  accepted(): void {
    this.#accepted = true;
  }

  readonly header = (method: GuardedMethod, url: URL): string | undefined => {
    if (this.#scheme === 'undecided') return undefined;
    if (this.#digest === undefined) {
      return `Basic ${Buffer.from(`${this.#username}:${this.#password}`).toString('base64')}`;
    }
    this.#digest.nc += 1;
    const header = generateDigestAuthHeader({ method, url: url.href }, this.#digest);
    // A header's characters are bytes: those of the user's name in UTF-8.
    return Buffer.from(header).toString('latin1');
  };

  /** @throws UpstreamFault AuthenticationFailed where the server wants what Lyceum does not have */
  readonly challenged = (lines: readonly string[], shown: string | undefined): boolean => {
    if (this.#isOutdated(shown)) return true;
    const challenges = challengesOf(lines);
    const digests = challenges.filter(({ scheme }) => scheme === 'digest').map(({ parameters }) => parameters);
    const digest = digests.find((parameters) => /^md5(-sess)?$/i.test(parameters.get('algorithm') ?? 'MD5'));
    const isStale = digest?.get('stale')?.toLowerCase() === 'true';
    if (this.#scheme !== 'undecided' && (digest === undefined || !(isStale || this.#accepted))) return false;
    if (digest !== undefined) {
      this.#scheme = 'digest';
      this.#digest = this.#contextOf(digest);
      return true;
    }
    const hasBasic = challenges.some(({ scheme }) => scheme === 'basic');
    if (digests.length > 0 && !hasBasic) {
      throw new UpstreamFault(
        'AuthenticationFailed',
        `${this.#host} wants Digest authentication with an algorithm other than MD5, which Lyceum does not have; let it offer Basic over https`,
      );
    }
    this.#scheme = 'basic';
    return true;
  };

  /** What was shown is not what would be shown now: another request has learned something meanwhile. */
  #isOutdated(shown: string | undefined): boolean {
    if (this.#scheme === 'undecided') return false;
    if (shown === undefined) return true;
    return this.#digest !== undefined && !shown.includes(` nonce="${this.#digest.nonce}"`);
  }

  #contextOf(parameters: ReadonlyMap<string, string>): ReturnType<typeof createDigestContext> {
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
