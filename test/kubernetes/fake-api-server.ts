// A fake API server for what no real one does on demand: frozen watches, 410, 429, half lines, answers that never come.
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { KubeConfig } from '@kubernetes/client-node';
import { until } from './until.ts';

export interface Recorded {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: string;
}

export type Answer = (response: ServerResponse, request: Recorded) => void;

/** A watch that a client has opened, in the hands of the test. */
export class OpenWatch {
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly #response: ServerResponse;

  constructor(response: ServerResponse, request: Recorded) {
    this.query = request.query;
    this.headers = request.headers;
    this.#response = response;
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
  }

  get isOpen(): boolean {
    return !this.#response.closed && !this.#response.writableEnded;
  }

  send(type: string, object: unknown): void {
    this.raw(`${JSON.stringify({ type, object })}\n`);
  }

  bookmark(resourceVersion: string): void {
    this.send('BOOKMARK', { kind: 'SkillSource', apiVersion: 'lyceum.dev/v1alpha1', metadata: { resourceVersion } });
  }

  raw(bytes: string | Uint8Array): void {
    this.#response.write(bytes);
  }

  end(): void {
    this.#response.end();
  }

  cut(): void {
    this.#response.destroy();
  }
}

export class FakeApiServer implements AsyncDisposable {
  readonly requests: Recorded[] = [];
  readonly watches: OpenWatch[] = [];
  /** Answers to come, one a request; when they are used up, a list is empty and a watch stays open. */
  readonly lists: Answer[] = [];
  readonly watchAnswers: Answer[] = [];
  /** Everything that is no list and no watch. */
  other: Answer = failing(404);
  connections = 0;
  #open = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.on('connection', (_: Socket) => this.connections++);
  }

  static async start(): Promise<FakeApiServer> {
    const fake = new FakeApiServer();
    fake.#server.listen(0, '127.0.0.1');
    await once(fake.#server, 'listening');
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Requests that have no whole answer yet. */
  get open(): number {
    return this.#open;
  }

  get listRequests(): Recorded[] {
    return this.requests.filter(({ method, query, path }) => method === 'GET' && !query.has('watch') && isList(path));
  }

  get watchRequests(): Recorded[] {
    return this.requests.filter(({ query }) => query.has('watch'));
  }

  /** The watch of that number (from 0), as soon as it is open. */
  async watch(number: number): Promise<OpenWatch> {
    await until(() => this.watches.length > number, `watch ${number}`);
    return this.watches[number]!;
  }

  kubeConfig(user: Record<string, unknown> = { token: 'secret-token' }): KubeConfig {
    const config = new KubeConfig();
    config.loadFromClusterAndUser({ name: 'fake', server: this.url, skipTLSVerify: true }, {
      name: 'operator',
      ...user,
    } as Parameters<KubeConfig['loadFromClusterAndUser']>[1]);
    return config;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, this.url);
    this.#open++;
    response.on('close', () => this.#open--);
    response.on('error', () => {});
    const recorded: Recorded = {
      method: request.method!,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: await text(request),
    };
    this.requests.push(recorded);
    this.#answerFor(recorded)(response, recorded);
  }

  #answerFor({ method, query, path }: Recorded): Answer {
    if (query.has('watch')) return this.watchAnswers.shift() ?? this.holding;
    if (method === 'GET' && isList(path)) return this.lists.shift() ?? listing([], '1');
    return this.other;
  }

  /** Opens the watch and leaves it to the test. */
  readonly holding: Answer = (response, request) => void this.watches.push(new OpenWatch(response, request));
}

const isList = (path: string): boolean => /\/(skillsources|skillgateways|configmaps|httproutes)$/.test(path);

export const listing =
  (items: unknown[], resourceVersion: string, token = ''): Answer =>
  (response) =>
    json(200, { kind: 'List', metadata: { resourceVersion, continue: token }, items })(response);

/** An error status, as the API server words it. */
export const failing =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    json(code, { kind: 'Status', status: 'Failure', code, reason: 'Because', message: 'spelled-out-secret' })(response);
  };

/** Takes the request and never answers. */
export const silent: Answer = () => {};

/** Answers with a watch that is over at once. */
export const endingAtOnce: Answer = (response) => void response.writeHead(200).end();

export const json =
  (code: number, body: unknown) =>
  (response: ServerResponse): void =>
    void response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));

/** A SkillSource as the API server sends it, with what nobody needs. */
export function skillSource(
  name: string,
  resourceVersion: string,
  more: { url?: string; status?: unknown } = {},
): unknown {
  return {
    apiVersion: 'lyceum.dev/v1alpha1',
    kind: 'SkillSource',
    metadata: {
      name,
      namespace: 'flow',
      uid: `uid-${name}`,
      generation: 1,
      resourceVersion,
      creationTimestamp: '2026-11-01T00:00:00Z',
      labels: { team: 'platform' },
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', note: 'kept' },
      managedFields: [{ manager: 'kubectl', operation: 'Apply' }],
    },
    spec: { url: more.url ?? 'github://obra/superpowers' },
    ...(more.status === undefined ? {} : { status: more.status }),
  };
}
