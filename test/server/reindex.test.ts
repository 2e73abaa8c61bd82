// POST /reindex: who may ask, what the answer waits for, and what is said when nothing comes of it.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { type OperatorAddress, operatorClient } from '../../server/operator/client.ts';
import { reindexByOperator } from '../../server/reindex/ask-operator.ts';
import type { Reindex } from '../../server/reindex/reindex.ts';
import { eventually } from '../fixtures/eventually.ts';
import { certificate } from '../kubernetes/certificates.ts';
import { type CatalogueFixture, GatewayFixture, lifetime, schoolTree, serve } from './support/gateway.ts';
import { get } from './support/mcp.ts';
import { connected, heard, postHead } from './support/raw.ts';

const token = 'a-token-of-sixteen-characters';
const bearer = { Authorization: `Bearer ${token}` };
const closed = { ...schoolTree, auth: { tokens: { n8n: token } } } satisfies CatalogueFixture;
const nothingNew: Reindex = async () => ({ rebuilt: ['flatsource'], unfinished: [], generation: 1 });

const logged: string[] = [];
const logger = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) });

interface Reply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is looked at as its caller does
  body: any;
}

async function post(url: string, headers: Record<string, string> = {}, sent?: string): Promise<Reply> {
  const answer = await fetch(`${url}/reindex`, {
    method: 'POST',
    headers,
    ...(sent === undefined ? {} : { body: sent }),
  });
  return { status: answer.status, body: await answer.json() };
}

describe('who may ask', () => {
  const suite = lifetime();
  const served = async (catalogue: CatalogueFixture, reindexForAnyone = false): Promise<string> => {
    const fixture = await GatewayFixture.create(suite);
    await fixture.publish(catalogue);
    return (await serve(suite, fixture, { reindex: nothingNew, reindexForAnyone })).url;
  };

  it('nobody, where the gateway has no tokens and says nothing of reindex', async () => {
    for (const catalogue of [schoolTree, { ...schoolTree, reindex: 'Token' as const }]) {
      const { status, body } = await post(await served(catalogue), bearer);
      assert.equal(status, 403);
      assert.equal(body.status, 'error');
      assert.match(body.error, /bearer token.*spec\.auth.*spec\.reindex to Anyone/);
    }
  });

  it('whoever shows a token, where there are some', async () => {
    const url = await served(closed);
    assert.equal((await post(url, bearer)).status, 200);
    assert.equal((await post(url)).status, 401);
    assert.equal((await post(url, { Authorization: 'Bearer another-token-altogether' })).status, 401);
  });

  it('everybody, with Anyone; where there are tokens that is everybody who has one', async () => {
    const open = await served({ ...schoolTree, reindex: 'Anyone' });
    assert.equal((await post(open)).status, 200);
    const tokens = await served({ ...closed, reindex: 'Anyone' });
    assert.equal((await post(tokens)).status, 401);
    assert.equal((await post(tokens, bearer)).status, 200);
  });

  it('everybody on a laptop, whatever the spec says', async () => {
    assert.equal((await post(await served({ ...schoolTree, reindex: 'Token' }, true))).status, 200);
  });

  it('whatever body comes along, none too', async () => {
    const url = await served({ ...schoolTree, reindex: 'Anyone' });
    for (const [type, sent] of [
      ['application/json', undefined],
      ['application/json', ''],
      ['application/json', '{}'],
      ['application/x-www-form-urlencoded', ''],
      ['application/x-www-form-urlencoded', 'now=yes'],
    ] as const)
      assert.equal((await post(url, { 'Content-Type': type }, sent)).status, 200, `${type} ${sent}`);
    assert.equal((await post(url, { 'Content-Type': 'text/plain' }, 'x'.repeat(300_000))).status, 413);
  });

  it('nobody whose token is taken away, or who has none when there are some, before the body is there', async () => {
    for (const [before, line] of [
      [{ ...schoolTree, reindex: 'Anyone' as const }, 'X-Nothing: shown'],
      [closed, `Authorization: ${bearer.Authorization}`],
    ] as const) {
      let asked = 0;
      const fixture = await GatewayFixture.create(suite);
      await fixture.publish(before);
      const reindex: Reindex = (signal) => {
        asked += 1;
        return nothingNew(signal);
      };
      const { url } = await serve(suite, fixture, { reindex });
      const socket = await connected(url);
      socket.write(postHead('{}', line).replace('/mcp', '/reindex'));
      assert.equal((await get(`${url}/livez`)).status, 200);
      const other = 'another-token-altogether';
      await fixture.publish({ ...schoolTree, reindex: 'Anyone', auth: { tokens: { n8n: other } } });
      const withOther = { Authorization: `Bearer ${other}` };
      await eventually(
        'the other token',
        () => get(`${url}/health`, withOther),
        ({ status, body }) => status === 200 && body.generation === 2,
      );
      socket.write('{}');
      const { status, body } = await heard(socket);
      assert.equal(status, 401);
      assert.doesNotMatch(body, /flatsource/);
      assert.equal(asked, 0);
    }
  });

  it('no page of another site', async () => {
    const url = await served({ ...schoolTree, reindex: 'Anyone' });
    assert.equal((await post(url, { Origin: 'https://elsewhere.example' })).status, 403);
  });

  it('and by POST alone', async () => {
    const url = await served({ ...schoolTree, reindex: 'Anyone' });
    assert.equal((await fetch(`${url}/reindex`)).status, 404);
  });
});

describe('the answer', () => {
  const open = { ...schoolTree, reindex: 'Anyone' } satisfies CatalogueFixture;

  it('is what /health says, with the sources that were rebuilt', async (t) => {
    const fixture = await GatewayFixture.create(t);
    await fixture.publish(open);
    const { url } = await serve(t, fixture, { reindex: nothingNew });
    const { status, body } = await post(url);
    assert.equal(status, 200);
    const { rebuilt, ...health } = body;
    assert.deepEqual(rebuilt, ['flatsource']);
    assert.deepEqual(health, (await get(`${url}/health`)).body);
  });

  it('comes when this server itself serves what the look found', async (t) => {
    const fixture = await GatewayFixture.create(t);
    await fixture.publish(open);
    const reindex: Reindex = async () => {
      const more = { name: 'new', skills: [{ address: 'fresh', description: 'Fresh.' }] };
      const generation = await fixture.publish({ ...open, sources: [...open.sources, more] });
      return { rebuilt: ['new'], unfinished: ['slow'], generation };
    };
    const { url } = await serve(t, fixture, { reindex });
    const { body } = await post(url);
    assert.deepEqual([body.generation, body.rebuilt, body.unfinished], [2, ['new'], ['slow']]);
    assert.ok(body.libraries.includes('new'));
  });

  it('is not for whoever has lost his token by then', async (t) => {
    const fixture = await GatewayFixture.create(t);
    await fixture.publish(closed);
    const reindex: Reindex = async () => ({
      rebuilt: ['flatsource'],
      unfinished: [],
      generation: await fixture.publish({ ...schoolTree, auth: { tokens: { n8n: 'another-token-altogether' } } }),
    });
    const { url } = await serve(t, fixture, { reindex });
    const { status, body } = await post(url, bearer);
    assert.equal(status, 401);
    assert.doesNotMatch(JSON.stringify(body), /flatsource/);
  });

  it('of one who asks while a look runs is that of the next look, which all share who wait for it', async (t) => {
    const fixture = await GatewayFixture.create(t);
    await fixture.publish(open);
    const runs: PromiseWithResolvers<void>[] = [];
    const reindex: Reindex = async () => {
      const run = Promise.withResolvers<void>();
      const number = runs.push(run);
      await run.promise;
      return { rebuilt: [`look ${number}`], unfinished: [] };
    };
    const { url } = await serve(t, fixture, { reindex });
    const first = post(url);
    await eventually('the first look', () => runs.length === 1);
    const others = [post(url), post(url)];
    await get(`${url}/health`);
    assert.equal(runs.length, 1, 'one at a time');
    runs[0]!.resolve();
    await eventually('the next look', () => runs.length === 2);
    runs[1]!.resolve();
    assert.deepEqual((await first).body.rebuilt, ['look 1']);
    for (const other of others) assert.deepEqual((await other).body.rebuilt, ['look 2']);
    assert.equal(runs.length, 2);
    const again = post(url);
    await eventually('a look of its own', () => runs.length === 3);
    runs[2]!.resolve();
    assert.deepEqual((await again).body.rebuilt, ['look 3']);
  });

  it('to a surprise is a 500 in JSON that tells nothing of it, and the next one who asks is served', async (t) => {
    const fixture = await GatewayFixture.create(t);
    await fixture.publish(open);
    let surprises = 1;
    const reindex: Reindex = async (signal) => {
      if (surprises-- > 0) throw new TypeError('a secret word');
      return nothingNew(signal);
    };
    const { url } = await serve(t, fixture, { reindex, logger });
    const { status, body } = await post(url);
    assert.equal(status, 500);
    assert.equal(body.status, 'error');
    assert.ok(!JSON.stringify(body).includes('secret'));
    assert.ok(logged.some((line) => line.includes('a secret word')));
    assert.equal((await post(url)).status, 200);
  });

  it('says what is missing where there is no catalogue, or nobody to ask', async (t) => {
    const fixture = await GatewayFixture.create(t);
    const { url } = await serve(t, fixture);
    const none = await post(url);
    assert.deepEqual([none.status, none.body.status], [503, 'error']);
    assert.match(none.body.error, /No catalogue is loaded yet/);
    await fixture.publish(open);
    await eventually('the catalogue', async () => (await get(`${url}/readyz`)).status === 200);
    const { status, body } = await post(url);
    assert.equal(status, 501);
    assert.match(body.error, /--operator-url, --operator-ca and --operator-token/);
  });

  it('does not keep a server that stops', async (t) => {
    const fixture = await GatewayFixture.create(t);
    await fixture.publish(open);
    let asked = false;
    const reindex: Reindex = async (signal) => {
      asked = true;
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      throw new Error('never');
    };
    const server = await serve(t, fixture, { reindex });
    const waiting = post(server.url);
    await eventually('the look', () => asked);
    await server.close();
    const { status, body } = await waiting;
    assert.equal(status, 503);
    assert.match(body.error, /stopping/);
  });
});

describe('the operator', () => {
  let folder: string;
  let operator: Server;
  let url: string;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const authorizations: (string | undefined)[] = [];
  const ca = (): string => join(folder, 'operator.crt');
  const tokenFile = (): string => join(folder, 'token');
  const ask = (more: Partial<OperatorAddress> = {}, signal = AbortSignal.timeout(10_000)) =>
    reindexByOperator(operatorClient({ url, ca: ca(), token: tokenFile(), ...more }))(signal);
  const answers = (status: number, body: string): void => {
    answer = (_request, response) => void response.writeHead(status).end(body);
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lyceum-reindex-'));
    operator = createServer(await certificate(folder, 'operator'), (request, response) => {
      authorizations.push(request.headers.authorization);
      answer(request, response);
    });
    await new Promise<void>((done) => operator.listen(0, '127.0.0.1', done));
    url = `https://127.0.0.1:${(operator.address() as AddressInfo).port}`;
    await writeFile(tokenFile(), 'one\n');
  });
  after(async () => {
    operator.closeAllConnections();
    await new Promise((done) => operator.close(done));
    await rm(folder, { recursive: true, force: true });
  });

  it('is asked with the token that stands in the file now', async () => {
    answer = (request, response) => {
      assert.deepEqual([request.method, request.url], ['POST', '/reindex']);
      response.end(JSON.stringify({ rebuilt: ['a'], unfinished: [], generation: 7 }));
    };
    authorizations.length = 0;
    assert.deepEqual(await ask(), { rebuilt: ['a'], unfinished: [], generation: 7 });
    await writeFile(tokenFile(), 'two');
    await ask();
    assert.deepEqual(authorizations, ['Bearer one', 'Bearer two']);
  });

  it('is known by its authority alone', async () => {
    await certificate(folder, 'stranger');
    authorizations.length = 0;
    await assert.rejects(ask({ ca: join(folder, 'stranger.crt') }), { status: 503, message: /cannot be reached/ });
    assert.deepEqual(authorizations, [], 'no token goes to a stranger');
  });

  it('that refuses, is away or says something else is told in words of this server alone', async () => {
    for (const [status, words] of [
      [401, /does not know this pod/],
      [403, /does not know this pod/],
      [409, /spec is not valid/],
      [503, /cannot look now \(HTTP 503\)/],
      [302, /HTTP 302/],
    ] as const) {
      answers(status, 'upstream says hello');
      await assert.rejects(ask(), (error: Error & { status: number }) => {
        assert.match(error.message, words);
        assert.ok(!error.message.includes('hello'));
        return error.status === 503;
      });
    }
    for (const body of ['hello', '{"rebuilt":"hello"}', '[]']) {
      answers(200, body);
      await assert.rejects(ask(), (error: Error) => !error.message.includes('hello'));
    }
    answer = (request) => void request.socket.destroy();
    await assert.rejects(ask(), { status: 503, message: /cannot be reached at 127\.0\.0\.1:\d+/ });
    await assert.rejects(ask({ url: 'https://127.0.0.1:1' }), { status: 503, message: /cannot be reached/ });
  });

  it('that sends without end is cut off', async () => {
    answer = (_request, response) => {
      const more = (): void => {
        if (!response.destroyed && response.write(Buffer.alloc(65_536, 32))) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    };
    await assert.rejects(ask(), /broke off/);
  });

  it('that says nothing is not waited for longer than whoever asked does', async () => {
    answer = () => undefined;
    await assert.rejects(ask({}, AbortSignal.timeout(200)), { name: 'TimeoutError' });
  });

  it('whose files are not mounted is told by the name of the file', async () => {
    await assert.rejects(ask({ token: join(folder, 'missing') }), { status: 503, message: /missing cannot be read/ });
  });
});
