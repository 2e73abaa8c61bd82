// A Live source from end to end: a real WebDAV server, a whole operator, a real server on its volume.
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { type RunningServer, startServer } from '../../server/server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { OperatorFixture } from '../fixtures/operator.ts';
import { secret, type WebDavServerFixture } from '../fixtures/webdav-server.ts';
import { call, get, readText } from '../server/support/mcp.ts';

export interface LiveGateway extends AsyncDisposable {
  operator: OperatorFixture;
  server: RunningServer;
  /** Every line of the server's log. */
  log(): Record<string, unknown>[];
  read(uri: string): Promise<string | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: the body is looked at as a user does, by any path
  health(): Promise<any>;
  /** Time of a read in milliseconds, and what it gave. */
  timed(uri: string): Promise<[number, string | undefined]>;
}

export interface LiveOptions {
  /** Of the Live source, besides its address. */
  spec?: object;
  /** Sources beside it. */
  others?: Record<string, object>;
  /** What the server shows; the right Secret by default. */
  secretOf?: (source: string) => Promise<ReadonlyMap<string, Buffer>>;
}

/** The source `notes` is Live, and does not refresh by itself. */
export async function liveGateway(dav: WebDavServerFixture, options: LiveOptions = {}): Promise<LiveGateway> {
  const operator = await OperatorFixture.start();
  try {
    return await gatewayOf(operator, dav, options);
  } catch (error) {
    await operator[Symbol.asyncDispose]();
    throw error;
  }
}

async function gatewayOf(
  operator: OperatorFixture,
  dav: WebDavServerFixture,
  options: LiveOptions,
): Promise<LiveGateway> {
  operator.cluster.secrets.set('cloud', secret);
  operator.cluster.gateway('agents');
  const specs = {
    notes: { url: dav.sourceUrl(), cache: 'Live', secretRef: { name: 'cloud' }, ...options.spec },
    ...options.others,
  };
  for (const [name, spec] of Object.entries(specs)) operator.cluster.source(name, { spec });
  for (const name of Object.keys(specs)) {
    await eventually(
      `${name} is ready`,
      () => operator.cluster.condition('sources', name, 'Ready'),
      (condition) => condition === 'True/Succeeded',
    );
  }
  await eventually(
    'everything is published',
    async () => (await operator.index()).sources.filter(({ catalogue }) => catalogue !== undefined).length,
    (count) => count === Object.keys(specs).length,
  );
  const lines: string[] = [];
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(...String(chunk).trim().split('\n'));
      done();
    },
  });
  const keys = new Map(Object.entries(secret).map(([key, value]) => [key, Buffer.from(value)]));
  const server = await startServer({
    volume: operator.volume,
    namespace: 'default',
    gateway: 'agents',
    host: '127.0.0.1',
    port: 0,
    metricsPort: 0,
    live: {
      guard: { allowLoopback: true, deniedCidrs: [] },
      secretOf: options.secretOf ?? (async () => keys),
    },
    logger: pino({ level: 'info' }, sink),
    version: '0.0.0',
  });
  dav.exchanges.length = 0;
  return {
    operator,
    server,
    log: () => lines.map((line) => JSON.parse(line)),
    read: (uri) => readText(server.url, uri),
    health: async () => (await get(`${server.url}/health`)).body,
    async timed(uri) {
      const began = performance.now();
      const { body } = await call(server.url, 'resources/read', { uri });
      return [performance.now() - began, body.result?.contents[0].text];
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await operator[Symbol.asyncDispose]();
    },
  };
}
