// One WebDAV folder as a server looks at it when a file is read: seldom, briefly, and not at all while it is failing.
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { digestOf } from '../../catalogue/digest.ts';
import type { LiveSetting } from '../../catalogue/index-file.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import type { GuardedClient } from '../../upstream/guard/client.ts';
import { webDavAddress } from '../../upstream/webdav/address.ts';
import { Authentication } from '../../upstream/webdav/authentication.ts';
import { webDavCredentials } from '../../upstream/webdav/credentials.ts';
import type { Entry } from '../../upstream/webdav/listing.ts';
import { WebDavServer } from '../../upstream/webdav/server.ts';
import { isRacy, sameValidator } from '../../upstream/webdav/validator.ts';

/** Keys and values of a source's Secret, as they are now; empty where there is none. */
export type SecretOf = (source: string) => Promise<ReadonlyMap<string, Buffer>>;

export interface LiveSourceOptions {
  name: string;
  setting: LiveSetting;
  /** The server's client; it stays open. */
  client: GuardedClient;
  secretOf: SecretOf;
  /** Told of each look that was answered, and of each file that was transferred. */
  looked(): void;
  fetched(): void;
  failed(reason: string): void;
  logger: Logger;
}

/** What GET /health says of a Live source. */
export interface LiveState {
  live: true;
  /** Looks at a file that were answered. */
  revalidated: number;
  /** Files that were transferred. */
  fetched: number;
  /** It failed lately: what is known is served, and nothing is asked until a pause is over. */
  cooling: boolean;
}

/** What a file is now; without `bytes`, the bytes that have this digest are known to who asks. */
export interface Current {
  digest: string;
  bytes?: Buffer;
}

/** Milliseconds. A look that was answered counts for so long, from its answer on. */
const freshFor = 2000;
/** A silent server costs its reader this and no more: under a second, with what stands around it. */
const lookWithin = 750;
const fetchWithin = 2000;
const coolFor = 30_000;
/** Files are looked at side by side, in each source. */
const together = 8;
const mostKnown = 10_000;

interface Known {
  entry: Entry;
  racy: boolean;
  digest: string;
}

interface FileState {
  /** When it was last answered, on the clock of `performance`. */
  at: number;
  /** Undefined where the server has no such file, or one that is too large. */
  known: Known | undefined;
}

interface Found {
  known: Known | undefined;
  /** Where they were transferred. */
  bytes?: Buffer;
}

interface Connection {
  server: WebDavServer;
  close(): Promise<void>;
}

export class LiveSource {
  readonly setting: LiveSetting;
  readonly #options: LiveSourceOptions;
  readonly #files = new Map<string, FileState>();
  readonly #checking = new Map<string, Promise<Found | undefined>>();
  #connection: Promise<Connection> | undefined;
  /** The Secret of the connection that was made last. */
  #shown: ReadonlyMap<string, Buffer> | undefined;
  #coolUntil = 0;
  /** What failed was the Secret, so that another one ends the pause. */
  #isRefused = false;
  /** It is failing, and that has been said. */
  #complained = false;
  /** Ends what is under way once one of them has found that the server fails. */
  #stop = new AbortController();
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  #revalidated = 0;
  #fetched = 0;
  #closed = false;

  constructor(options: LiveSourceOptions) {
    this.#options = options;
    this.setting = options.setting;
  }

  get state(): LiveState {
    return { live: true, revalidated: this.#revalidated, fetched: this.#fetched, cooling: this.#isCooling() };
  }

  /**
   * What a file is now. Never rejects.
   * @param paths where it may stand below the source's folder, the likeliest first
   * @param has whether who asks has the bytes of a digest
   * @returns undefined where nothing can be told: the server fails, or has no such file
   */
  async current(paths: readonly string[], has: (digest: string) => boolean): Promise<Current | undefined> {
    for (const path of paths) {
      const found = await this.#checked(path, has);
      if (found === undefined) return undefined;
      const { known, bytes } = found;
      if (known !== undefined) return { digest: known.digest, ...(bytes === undefined ? {} : { bytes }) };
    }
    return undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stop.abort(new UpstreamFault('Unreachable', 'the server is stopping'));
    await Promise.allSettled(this.#checking.values());
    await this.#disconnect();
  }

  #isCooling(): boolean {
    return performance.now() < this.#coolUntil;
  }

  #checked(path: string, has: (digest: string) => boolean): Promise<Found | undefined> | Found | undefined {
    const state = this.#files.get(path);
    const isFresh = state !== undefined && performance.now() - state.at < freshFor;
    if (isFresh && (state.known === undefined || has(state.known.digest))) return state;
    if (this.#closed || (this.#isCooling() && !this.#isRefused)) return undefined;
    const running = this.#checking.get(path);
    if (running !== undefined) return running;
    const check = this.#check(path, state?.known, has).finally(() => this.#checking.delete(path));
    this.#checking.set(path, check);
    return check;
  }

  async #check(path: string, known: Known | undefined, has: (digest: string) => boolean): Promise<Found | undefined> {
    await this.#turn();
    try {
      if (this.#closed || (this.#isCooling() && !(await this.#isMended()))) return undefined;
      const found = await this.#look(path, known, has);
      this.#recovered();
      this.#files.delete(path);
      this.#files.set(path, { at: performance.now(), known: found.known });
      if (this.#files.size > mostKnown) this.#files.delete(this.#files.keys().next().value!);
      return found;
    } catch (error) {
      this.#fail(path, error);
      return undefined;
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #turn(): Promise<void> {
    while (this.#running >= together) await new Promise<void>((go) => this.#waiting.push(go));
    this.#running += 1;
  }

  /** One look; a file that changes between it and the transfer is looked at once more, and so is one with a Secret that was changed. */
  async #look(path: string, known: Known | undefined, has: (digest: string) => boolean): Promise<Found> {
    for (let again = false; ; again = true) {
      this.#connection ??= this.#connect();
      const connection = this.#connection;
      try {
        const { server } = await this.#bounded(lookWithin, (signal) => connected(connection, signal));
        const { entry, at } = await this.#bounded(lookWithin, (signal) => server.look(path, signal));
        this.#revalidated += 1;
        this.#options.looked();
        const racy = isRacy(entry, at);
        if (known !== undefined && !known.racy && !racy && sameValidator(known.entry, entry) && has(known.digest)) {
          return { known: { ...known, entry } };
        }
        const { fileSize } = this.setting;
        if (entry.size !== undefined && entry.size > fileSize) return { known: undefined };
        const bytes = await this.#bounded(fetchWithin, (signal) => server.read(path, entry, fileSize, signal));
        if (bytes === undefined) return { known: undefined };
        this.#fetched += 1;
        this.#options.fetched();
        return { known: { entry, racy, digest: digestOf(bytes) }, bytes };
      } catch (error) {
        if (!(error instanceof UpstreamFault)) throw error;
        if (error.reason === 'NotFound') return { known: undefined };
        if (again || !(error.reason === 'UpstreamInvalid' || (await this.#hasBetter(connection, error)))) throw error;
      }
    }
  }

  async #bounded<T>(milliseconds: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new UpstreamFault('TimedOut', 'no answer in time')), milliseconds);
    try {
      return await work(AbortSignal.any([deadline.signal, this.#stop.signal]));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whether there is another connection than one that failed, or is to be made, since the Secret has been changed. */
  async #hasBetter(connection: Promise<Connection>, { reason }: UpstreamFault): Promise<boolean> {
    const { name, secretOf } = this.#options;
    const isChanged = reason === 'AuthenticationFailed' && !isDeepStrictEqual(await secretOf(name), this.#shown);
    if (this.#isCooling()) return false;
    if (this.#connection !== connection) return true;
    if (isChanged) void this.#disconnect();
    return isChanged;
  }

  /** Whether there is another Secret than the one that was refused: then the pause is over. */
  async #isMended(): Promise<boolean> {
    const secret = await this.#options.secretOf(this.#options.name);
    if (!this.#isRefused || isDeepStrictEqual(secret, this.#shown)) return false;
    this.#isRefused = false;
    this.#coolUntil = 0;
    return true;
  }

  /** Made when it is first needed and after each failure: the Secret may be another one by then. */
  async #connect(): Promise<Connection> {
    const { name, setting, client, secretOf } = this.#options;
    const address = webDavAddress(setting.url);
    if (!address.ok) throw new UpstreamFault('NotFound', address.message);
    const secret = await secretOf(name);
    this.#shown = secret;
    const credentials = webDavCredentials(secret);
    if (!credentials.ok) throw new UpstreamFault('AuthenticationFailed', `the Secret lacks ${credentials.missing}`);
    const own = credentials.ca === undefined ? undefined : client.withCa(credentials.ca);
    const authentication = new Authentication(address.url, credentials.username, credentials.password);
    const options = { url: address.url, client: own ?? client, authentication, received: () => {} };
    return { server: new WebDavServer(options), close: async () => own?.close() };
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.then(({ close }) => close()).catch(() => undefined);
  }

  #recovered(): void {
    if (!this.#complained) return;
    this.#complained = false;
    this.#options.logger.info({ source: this.#options.name }, 'live reads work again');
  }

  /** The first that fails speaks for all: the others end, and nothing is asked until the pause is over. */
  #fail(path: string, error: unknown): void {
    if (this.#closed || this.#isCooling()) return;
    this.#coolUntil = performance.now() + coolFor;
    const reason = error instanceof UpstreamFault ? error.reason : 'UpstreamInvalid';
    this.#isRefused = reason === 'AuthenticationFailed';
    this.#stop.abort(error);
    this.#stop = new AbortController();
    void this.#disconnect();
    const { name, logger, failed } = this.#options;
    failed(reason);
    if (this.#complained) return;
    this.#complained = true;
    logger.warn({ source: name, file: path, reason }, 'live reads fail: what is known is served');
  }
}

async function connected(connection: Promise<Connection>, signal: AbortSignal): Promise<Connection> {
  const made = await connection;
  signal.throwIfAborted();
  return made;
}
