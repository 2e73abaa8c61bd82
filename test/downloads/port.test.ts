// Counts on their way from servers to the operator: over real TLS, with an operator that is away, restarts, or whose answer is lost.
import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import type { Caller } from '../../operator/callers/callers.ts';
import { callersListener, type Route } from '../../operator/callers/listener.ts';
import { routesOf } from '../../operator/callers/routes.ts';
import { systemClock } from '../../operator/clock.ts';
import { DownloadsKeeper } from '../../operator/downloads/keeper.ts';
import type { Listener } from '../../operator/listeners.ts';
import { Volume } from '../../operator/publish/volume.ts';
import { Delivery } from '../../server/downloads/delivery.ts';
import { Outbox } from '../../server/downloads/outbox.ts';
import { downloadsToOperator } from '../../server/downloads/send-to-operator.ts';
import { operatorClient } from '../../server/operator/client.ts';
import { eventually } from '../fixtures/eventually.ts';
import { certificate } from '../kubernetes/certificates.ts';
import { downloadsOn, installsIn, Replica } from './support.ts';

const loki = 'skill grafana/loki';
const gateways: Record<string, Caller> = {
  'Bearer one': { gateway: 'flow/agents' },
  'Bearer two': { gateway: 'flow/others' },
  'Bearer no-gateway': 'stranger',
};
const log = pino({ level: 'silent' });

let folder: string;
let ca: Buffer;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-downloads-'));
  ({ cert: ca } = await certificate(folder, 'operator'));
  await mkdir(join(folder, 'tls'));
  for (const end of ['crt', 'key']) await copyFile(join(folder, `operator.${end}`), join(folder, `tls/tls.${end}`));
  for (const name of ['one', 'two']) await writeFile(join(folder, name), name);
});
after(() => rm(folder, { recursive: true, force: true }));

/** An operator's port, and what stands behind it, on a volume that outlives it. */
class Operator implements AsyncDisposable {
  readonly #keeper: DownloadsKeeper;
  readonly #listener: Listener;

  private constructor(keeper: DownloadsKeeper, listener: Listener) {
    this.#keeper = keeper;
    this.#listener = listener;
  }

  static async start(
    volume: string,
    { port = 0, through = (route: Route): Route => route }: { port?: number; through?: (route: Route) => Route } = {},
  ): Promise<Operator> {
    const has: Record<string, Set<string>> = {
      'flow/agents': new Set([loki, 'rule grafana/style']),
      'flow/others': new Set(['skill theirs/secret']),
    };
    const keeper = new DownloadsKeeper({
      volume: Volume.at(volume),
      artifacts: (gateway) => has[gateway],
      metrics: { batch: () => undefined, unknown: () => undefined },
      clock: systemClock,
      log,
    });
    const operator = {
      synced: () => true,
      reindex: async () => 'NotFound' as const,
      countDownloads: (gateway: string, sent: unknown) => keeper.keep(gateway, sent),
    };
    const routes = routesOf(operator, log);
    const listener = await callersListener({
      host: '127.0.0.1',
      port,
      tlsFolder: join(folder, 'tls'),
      identify: async (authorization) => gateways[authorization ?? ''] ?? 'unknown',
      routes: { ...routes, 'POST /counts': through(routes['POST /counts']!) },
      clock: systemClock,
      log,
    });
    return new Operator(keeper, listener);
  }

  get port(): number {
    return this.#listener.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listener.close();
    await this.#keeper.close();
  }
}

const newVolume = (): Promise<string> => mkdtemp(join(folder, 'volume-'));
const installs = async (volume: string, gateway = 'flow/agents'): Promise<Record<string, number>> =>
  installsIn(await downloadsOn(volume, gateway));

describe('the port', () => {
  interface Call {
    token?: string;
    headers?: Record<string, string | number>;
    /** Pieces of the body; the request is not ended where `endless`. */
    body?: (string | Buffer)[];
    endless?: boolean;
  }
  const call = (port: number, { token = 'one', headers = {}, body = [], endless = false }: Call) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: unknown }>();
    const all = { authorization: `Bearer ${token}`, ...headers };
    const sending = request(
      { host: '127.0.0.1', port, path: '/counts', method: 'POST', headers: all, ca, agent: false },
      (response) => {
        text(response)
          .then((body) => resolve({ status: response.statusCode!, body: JSON.parse(body) }), reject)
          .finally(() => sending.destroy());
      },
    ).on('error', reject);
    for (const piece of body) sending.write(piece);
    if (!endless) sending.end();
    return promise;
  };
  const json = (value: unknown): string[] => [JSON.stringify(value)];

  it('keeps what the servers of a gateway count, for that gateway alone', async () => {
    const volume = await newVolume();
    await using operator = await Operator.start(volume);
    const batch = new Replica().batch({ [loki]: 2, 'skill theirs/secret': 5, 'skill made/up': 1 });
    assert.deepEqual(await call(operator.port, { body: json(batch) }), { status: 200, body: { result: 'kept' } });
    assert.deepEqual(await call(operator.port, { body: json(batch) }), { status: 200, body: { result: 'repeated' } });
    assert.deepEqual(await call(operator.port, { token: 'two', body: json(batch) }), {
      status: 200,
      body: { result: 'kept' },
    });
    assert.deepEqual(await installs(volume), { [loki]: 2 });
    assert.deepEqual(await installs(volume, 'flow/others'), { 'skill theirs/secret': 5 });
  });

  it('takes no count from whoever is no server of a gateway, and reads nothing of his', async () => {
    const volume = await newVolume();
    await using operator = await Operator.start(volume);
    const body = json(new Replica().batch({ [loki]: 2 }));
    assert.equal((await call(operator.port, { token: 'nobody', body })).status, 401);
    assert.equal((await call(operator.port, { token: 'no-gateway', body })).status, 403);
    await assert.rejects(installs(volume), { code: 'ENOENT' });
  });

  it('refuses what is too long before it is there, with a length or without one, and what is no batch', async () => {
    const volume = await newVolume();
    await using operator = await Operator.start(volume);
    const { port } = operator;
    const tooLong = { status: 413, body: { error: 'TooLong' } };
    const length = { 'content-length': 10 * 1024 * 1024 };
    assert.deepEqual(await call(port, { headers: length, body: ['{'], endless: true }), tooLong);
    const body = [Buffer.alloc(200_000, 32), Buffer.alloc(200_000, 32)];
    assert.deepEqual(await call(port, { body, endless: true }), tooLong);
    const refused = { status: 400, body: { result: 'refused' } };
    for (const wrong of [[], ['not JSON'], ['null'], [Buffer.from([0xff, 0xfe])], json({ replica: 'x' })]) {
      assert.deepEqual(await call(port, { body: wrong }), refused);
    }
    const huge = new Replica().batch({ [loki]: 1e12 });
    assert.deepEqual(await call(port, { body: json(huge) }), refused);
    await assert.rejects(installs(volume), { code: 'ENOENT' });
  });
});

describe('a server', { concurrency: true }, () => {
  class Server implements AsyncDisposable {
    readonly outbox = new Outbox();
    readonly said: string[] = [];
    lost = 0;
    readonly delivery: Delivery;

    constructor(port: number, token = 'one') {
      const url = `https://127.0.0.1:${port}`;
      const ask = operatorClient({ url, ca: join(folder, 'operator.crt'), token: join(folder, token) });
      this.delivery = new Delivery({
        outbox: this.outbox,
        send: downloadsToOperator(ask),
        logger: pino({}, { write: (line: string) => void this.said.push(line) }),
        lost: (times) => {
          this.lost += times;
        },
      });
      this.delivery.start();
    }

    count(times: number, artifact = loki): void {
      for (let time = 0; time < times; time++) this.outbox.add(artifact, 'install');
    }

    async [Symbol.asyncDispose](): Promise<void> {
      await this.delivery.close();
    }
  }
  const delivered = (server: Server): Promise<unknown> =>
    eventually('everything is delivered', () => server.outbox.unconfirmed === 0, Boolean, 60);

  it('sends every few seconds, two at once, and once more when it stops', async () => {
    const volume = await newVolume();
    await using operator = await Operator.start(volume);
    const servers = [new Server(operator.port), new Server(operator.port)];
    for (const server of servers) server.count(5);
    for (const server of servers) await delivered(server);
    assert.deepEqual(await installs(volume), { [loki]: 10 });
    for (const server of servers) server.count(1);
    await Promise.all(servers.map((server) => server.delivery.close()));
    assert.deepEqual(await installs(volume), { [loki]: 12 });
    for (const { lost, said } of servers) assert.deepEqual([lost, said], [0, []]);
  });

  it('sends again what an operator that went away did not confirm, and another one counts it once', async () => {
    const volume = await newVolume();
    let answers = false;
    const through =
      (route: Route): Route =>
      async (call) => {
        const answer = await route(call);
        if (!answers) throw new Error('the answer is lost');
        return answer;
      };
    const first = await Operator.start(volume, { through });
    const { port } = first;
    await using server = new Server(port);
    server.count(3);
    await eventually('it is kept, and not confirmed', async () => (await installs(volume))[loki] === 3);
    await first[Symbol.asyncDispose]();
    server.count(4);
    await eventually('it is said that it waits', () => server.said.length > 0);
    assert.match(server.said[0]!, /they wait/);
    answers = true;
    await using _ = await Operator.start(volume, { port, through });
    await delivered(server);
    assert.deepEqual(await installs(volume), { [loki]: 7 });
    assert.equal(server.said.length, 2, 'once that it waits, once that it does not');
  });

  it('that must end without an operator does so soon, and says how much is lost', async () => {
    const server = new Server(1);
    server.count(2);
    const began = performance.now();
    await server.delivery.close();
    assert.ok(performance.now() - began < 5_000);
    assert.equal(server.lost, 2);
    assert.match(server.said.join(''), /"downloads":2/);
  });

  it('that is never answered ends soon all the same', async () => {
    const volume = await newVolume();
    const through = (): Route => () => new Promise(() => undefined);
    await using operator = await Operator.start(volume, { through });
    const server = new Server(operator.port);
    server.count(2);
    const began = performance.now();
    await server.delivery.close();
    assert.ok(performance.now() - began < 8_000);
    assert.equal(server.lost, 2);
  });

  it('sends what is refused no more, and goes on', async () => {
    const volume = await newVolume();
    const through =
      (route: Route): Route =>
      async (call) => {
        const answer = await route(call);
        return refuse ? { status: 400, body: {} } : answer;
      };
    let refuse = true;
    await using operator = await Operator.start(volume, { through });
    await using server = new Server(operator.port);
    server.count(2);
    await delivered(server);
    assert.equal(server.lost, 2);
    refuse = false;
    server.count(1, 'rule grafana/style');
    await delivered(server);
    assert.deepEqual((await installs(volume))['rule grafana/style'], 1);
  });
});
