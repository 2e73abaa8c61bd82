// The one connection to the API server: every call and watch goes through the same dispatcher, counted and with typed errors.
import {
  type Configuration,
  createConfiguration,
  HttpMethod,
  type KubeConfig,
  RequestContext,
  ResponseContext,
  type SecurityAuthentication,
  ServerConfiguration,
  wrapHttpLibrary,
} from '@kubernetes/client-node';
import { Agent, type Dispatcher, request } from 'undici';
import { type Clock, systemClock } from '../clock.ts';
import { Credentials } from './credentials.ts';
import {
  AnswerTooLarge,
  connectionCode,
  errorOfAnswer,
  errorOfConnection,
  KubernetesError,
} from './kubernetes-error.ts';

export interface ConnectionOptions {
  /** Reads the configuration; called again when tokens and certificates may have moved. */
  load: () => KubeConfig;
  /** Connections at most. Over HTTP/1.1 a watch keeps one for itself, so this must exceed the number of watches. */
  connections: number;
  /** Told of every request that ended with a status or without one (`<error>`), as client-go names it. */
  requested(method: string, code: string, host: string): void;
  clock?: Clock;
  /** What a call may take in all, in milliseconds; watches are not calls. */
  callMilliseconds?: number;
}

/** What one answer to a call may weigh, in bytes. An object is at most some 2 MB in the API server's store. */
const mostAnswerBytes = 8 * 1024 * 1024;
const mostErrorBytes = 64 * 1024;
/** A dead peer is noticed after two of these, in milliseconds. */
const pingMilliseconds = 12_000;

export class Connection implements SecurityAuthentication {
  /** For the API classes of client-node: `new CoreV1Api(connection.configuration)`. */
  readonly configuration: Configuration;
  /** The API server's `host:port`. */
  readonly host: string;
  /** The namespace that the configuration names: in a pod, the pod's own. */
  readonly namespace: string | undefined;
  readonly #server: string;
  readonly #credentials: Credentials;
  readonly #connections: number;
  readonly #requested: ConnectionOptions['requested'];
  readonly #callMilliseconds: number;
  #agent: { dispatcher: Agent; tlsFingerprint: string } | undefined;
  readonly #retired = new Set<Agent>();
  #closed = false;

  /** @throws KubernetesError unauthorized when there is no usable configuration */
  constructor(options: ConnectionOptions) {
    this.#credentials = new Credentials(options.load, options.clock ?? systemClock);
    this.#connections = options.connections;
    this.#requested = options.requested;
    this.#callMilliseconds = options.callMilliseconds ?? 30_000;
    this.#server = this.#credentials.server.href.replace(/\/+$/, '');
    this.host = this.#credentials.server.host;
    this.namespace = this.#credentials.namespace;
    this.configuration = createConfiguration({
      baseServer: new ServerConfiguration(this.#server, {}),
      authMethods: { default: this },
      httpApi: wrapHttpLibrary({ send: (context) => this.#call(context) }),
    });
  }

  getName(): string {
    return 'lyceum';
  }

  /** Gives a request the credential and the shared dispatcher. Called by client-node for each call. */
  async applySecurityAuthentication(context: RequestContext): Promise<void> {
    const credential = await this.#credentials.current();
    for (const [name, value] of Object.entries(credential.headers)) context.setHeaderParam(name, value);
    context.setDispatcher(this.#dispatcherFor(credential.tls, credential.tlsFingerprint));
  }

  /**
   * A GET whose JSON answer is wanted whole.
   * @param path from the server's root, already encoded
   * @throws KubernetesError; AnswerTooLarge when it has more than `mostBytes`
   */
  async getJson(
    path: string,
    query: Readonly<Record<string, string>>,
    options: { accept: string; mostBytes: number; signal?: AbortSignal },
  ): Promise<unknown> {
    const context = this.#request(HttpMethod.GET, path, query, options.accept);
    const limit = AbortSignal.timeout(this.#callMilliseconds);
    context.setSignal(options.signal === undefined ? limit : AbortSignal.any([options.signal, limit]));
    await this.applySecurityAuthentication(context);
    return this.#json(await this.#exchange(context), whatOf(context), options.mostBytes);
  }

  /**
   * A PATCH, with the object that it leaves as the answer.
   * @param path from the server's root, already encoded
   * @throws KubernetesError
   */
  async patchJson(
    path: string,
    query: Readonly<Record<string, string>>,
    options: { contentType: string; body: unknown },
  ): Promise<unknown> {
    return this.#sendJson(this.#request(HttpMethod.PATCH, path, query, 'application/json'), options);
  }

  /**
   * A DELETE with its options.
   * @param path from the server's root, already encoded
   * @throws KubernetesError
   */
  async deleteJson(path: string, body: unknown): Promise<void> {
    const context = this.#request(HttpMethod.DELETE, path, {}, 'application/json');
    await this.#sendJson(context, { contentType: 'application/json', body });
  }

  /**
   * A GET whose answer comes for as long as the signal lets it: no time limit is set here, silence is the caller's to judge.
   * @throws KubernetesError; reading the stream throws it too when the connection breaks
   */
  async *getStream(
    path: string,
    query: Readonly<Record<string, string>>,
    options: { accept: string; signal: AbortSignal; opened(): void },
  ): AsyncGenerator<Buffer> {
    const context = this.#request(HttpMethod.GET, path, query, options.accept);
    context.setSignal(options.signal);
    await this.applySecurityAuthentication(context);
    const answer = await this.#exchange(context);
    options.opened();
    try {
      for await (const chunk of answer.body) yield chunk as Buffer;
    } catch (error) {
      throw this.#broken(whatOf(context), error);
    }
  }

  /** Ends everything that is under way. Nothing can be asked afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    const agents = [...this.#retired, ...(this.#agent === undefined ? [] : [this.#agent.dispatcher])];
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  async #sendJson(
    context: RequestContext,
    { contentType, body }: { contentType: string; body: unknown },
  ): Promise<unknown> {
    context.setHeaderParam('Content-Type', contentType);
    context.setBody(JSON.stringify(body));
    context.setSignal(AbortSignal.timeout(this.#callMilliseconds));
    await this.applySecurityAuthentication(context);
    return this.#json(await this.#exchange(context), whatOf(context), mostAnswerBytes);
  }

  #request(method: HttpMethod, path: string, query: Readonly<Record<string, string>>, accept: string): RequestContext {
    const context = new RequestContext(`${this.#server}${path}`, method);
    for (const [name, value] of Object.entries(query)) context.setQueryParam(name, value);
    context.setHeaderParam('Accept', accept);
    return context;
  }

  async #call(context: RequestContext): Promise<ResponseContext> {
    const limit = AbortSignal.timeout(this.#callMilliseconds);
    const given = context.getSignal();
    context.setSignal(given === undefined ? limit : AbortSignal.any([given, limit]));
    const answer = await this.#exchange(context);
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(answer.headers)) if (value !== undefined) headers[name] = String(value);
    const text = await this.#text(answer, whatOf(context), mostAnswerBytes);
    return new ResponseContext(answer.statusCode, headers, {
      text: async () => text,
      binary: async () => Buffer.from(text),
      stream: () => null,
    });
  }

  async #exchange(context: RequestContext): Promise<Dispatcher.ResponseData> {
    const method = context.getHttpMethod();
    const what = whatOf(context);
    let answer: Dispatcher.ResponseData;
    try {
      const body = context.getBody();
      const signal = context.getSignal();
      const dispatcher = context.getDispatcher();
      answer = await request(context.getUrl(), {
        method,
        headers: { 'User-Agent': 'lyceum', ...context.getHeaders() },
        ...(typeof body === 'string' ? { body } : {}),
        ...(signal === undefined ? {} : { signal }),
        ...(dispatcher === undefined ? {} : { dispatcher }),
        headersTimeout: 0,
        bodyTimeout: 0,
      });
    } catch (error) {
      this.#requested(method, '<error>', this.host);
      throw this.#broken(what, error);
    }
    this.#requested(method, String(answer.statusCode), this.host);
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer;
    if (answer.statusCode === 401) this.#credentials.forget();
    const retryAfter = answer.headers['retry-after'];
    const body = await this.#errorBody(answer, what);
    throw errorOfAnswer(what, answer.statusCode, Array.isArray(retryAfter) ? retryAfter[0] : retryAfter, body);
  }

  async #errorBody(answer: Dispatcher.ResponseData, what: string): Promise<unknown> {
    try {
      return JSON.parse(await this.#text(answer, what, mostErrorBytes));
    } catch {
      return undefined;
    }
  }

  async #json(answer: Dispatcher.ResponseData, what: string, mostBytes: number): Promise<unknown> {
    const text = await this.#text(answer, what, mostBytes);
    try {
      return JSON.parse(text);
    } catch {
      throw new KubernetesError('server', `${what}: the API server's answer is not JSON`);
    }
  }

  async #text(answer: Dispatcher.ResponseData, what: string, mostBytes: number): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > mostBytes) throw new AnswerTooLarge(what, mostBytes);
        chunks.push(chunk);
      }
    } catch (error) {
      throw error instanceof KubernetesError ? error : this.#broken(what, error);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  #broken(what: string, error: unknown): KubernetesError {
    if (/CERT|TLS|SSL|SIGNATURE/.test(connectionCode(error))) this.#credentials.forget();
    return errorOfConnection(what, this.host, error);
  }

  #dispatcherFor(tls: object, tlsFingerprint: string): Agent {
    if (this.#closed) throw new KubernetesError('network', 'the connection to the API server is closed');
    if (this.#agent?.tlsFingerprint === tlsFingerprint) return this.#agent.dispatcher;
    if (this.#agent !== undefined) this.#retire(this.#agent.dispatcher);
    const dispatcher = new Agent({
      connections: this.#connections,
      connect: { ...tls, keepAlive: true, keepAliveInitialDelay: 30_000, timeout: 10_000 },
      h2Options: { pingInterval: pingMilliseconds },
    });
    this.#agent = { dispatcher, tlsFingerprint };
    return dispatcher;
  }

  #retire(agent: Agent): void {
    this.#retired.add(agent);
    const forget = (): void => void this.#retired.delete(agent);
    agent.close().then(forget, forget);
  }
}

const whatOf = (context: RequestContext): string =>
  `${context.getHttpMethod()} ${new URL(context.getUrl()).pathname.slice(0, 512)}`;
