// The front and the ordinary way: the same bytes go to two servers over one catalogue, one of which has no front, and both must
// answer with the same bytes, and tell the same of it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { before, describe, it } from 'node:test';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { noDownloads } from '../../server/downloads/downloads.ts';
import { accessRules } from '../../server/http/access.ts';
import { createApp } from '../../server/http/app.ts';
import { createEndpoint } from '../../server/mcp/endpoint.ts';
import { methods } from '../../server/mcp/methods.ts';
import { createServerMetrics, type ServerMetrics } from '../../server/metrics.ts';
import {
  type CatalogueFixture,
  GatewayFixture,
  gatewayName,
  lifetime,
  namespace,
  type Owner,
  schoolTree,
  silent,
  until,
  watchOf,
} from './support/gateway.ts';
import { get } from './support/mcp.ts';
import { connected } from './support/raw.ts';

const modernVersion = '2026-07-28';
const envelope = {
  'io.modelcontextprotocol/protocolVersion': modernVersion,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const right = 'n8n-0123456789abcdef';
const other = 'ops-fedcba9876543210';
const closed: CatalogueFixture = {
  ...schoolTree,
  auth: { tokens: { n8n: right, ops: other }, scopes: [{ client: 'ops', library: 'flatsource' }] },
};

interface Side {
  app: FastifyInstance;
  url: string;
  metrics: ServerMetrics;
  /** What was logged of requests, without times. */
  lines: unknown[];
  /** Requests that came to fastify. */
  ordinary: number;
}

/** The front's and the other one's. @param options whether there is a catalogue; as in ServerOptions */
async function sidesOver(
  owner: Owner,
  fixture: CatalogueFixture,
  { loads = true, lingerMs = 0 } = {},
): Promise<[front: Side, without: Side]> {
  const gateway = await GatewayFixture.create(owner);
  await gateway.publish(fixture);
  const watch = watchOf(gateway);
  if (loads) await watch.start();
  owner.after(() => watch.close());
  const side = async (): Promise<Side> => {
    const lines: unknown[] = [];
    const write = (line: string): void => {
      const { time: _time, seconds, pid: _pid, hostname: _hostname, ...said } = JSON.parse(line);
      if (said.msg === 'request') lines.push({ ...said, seconds: typeof seconds });
    };
    const logger = pino({ level: 'debug' }, { write });
    const endpoint = createEndpoint({ version: '0.0.0-test', logger: silent });
    const metrics = createServerMetrics();
    const access = accessRules(namespace, gatewayName, '127.0.0.1');
    const app = createApp({ catalogue: watch, endpoint, access, metrics, downloads: noDownloads, logger, lingerMs });
    const made: Side = { app, url: '', metrics, lines, ordinary: 0 };
    app.addHook('onResponse', (_request, _reply, done) => {
      made.ordinary += 1;
      done();
    });
    owner.after(async () => {
      await app.close();
      await endpoint.close();
    });
    return made;
  };
  const both: [Side, Side] = [await side(), await side()];
  const without = both[1].app;
  without.server.removeAllListeners('request').on('request', without.routing);
  for (const one of both) one.url = await one.app.listen({ host: '127.0.0.1', port: 0 });
  return both;
}

/** What is sent, in pieces that come one after the other. The last request asks to close the connection. */
type Sent = readonly (string | Buffer)[];

/** All that comes back, but for the dates in it. */
async function answerOf({ url }: Side, sent: Sent): Promise<string> {
  const socket = await connected(url);
  const answer = heard(socket);
  for (const [at, piece] of sent.entries()) {
    // Answered when the server has read what was written before.
    if (at > 0) await get(`${url}/livez`);
    socket.write(piece);
  }
  return await answer;
}

async function heard(socket: Socket): Promise<string> {
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  await once(socket, 'close');
  return Buffer.concat(pieces)
    .toString('latin1')
    .replaceAll(/Date: .*\r\n/g, '');
}

interface Request {
  /** The first line, in the place of a POST to /mcp with this query. */
  first?: string;
  query?: string;
  /** Without the first one and Content-Length. */
  lines?: readonly string[];
  body?: string | Buffer;
  keepAlive?: boolean;
}

const usual = ['Host: localhost', 'Content-Type: application/json'];

/** With the length of its body, unless it says it itself. */
function bytesOf({ first, query = '', lines = usual, body = '', keepAlive = false }: Request): Buffer {
  const said = lines.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const head = [
    first ?? `POST /mcp${query} HTTP/1.1`,
    ...lines,
    ...(said ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    ...(keepAlive ? [] : ['Connection: close']),
    '\r\n',
  ].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body as string)]);
}

const eras = ['modern', 'legacy'] as const;
type Era = (typeof eras)[number];

const linesOf = (era: Era, method: string, params: Record<string, unknown>): string[] =>
  era === 'legacy'
    ? [...usual, 'MCP-Protocol-Version: 2025-11-25']
    : [
        ...usual,
        `MCP-Protocol-Version: ${modernVersion}`,
        `Mcp-Method: ${method}`,
        ...(['resources/read', 'tools/call'].includes(method) ? [`Mcp-Name: ${params.uri ?? params.name}`] : []),
      ];

const bodyOf = (era: Era, method: string, params: Record<string, unknown>, id: unknown = 7): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method,
    params: era === 'modern' ? { _meta: envelope, ...params } : params,
  });

const ask = (era: Era, method: string, params: Record<string, unknown> = {}): Request & { body: string } => ({
  lines: linesOf(era, method, params),
  body: bodyOf(era, method, params),
});

const read = ask('modern', 'resources/read', { uri: 'skill://flatsource/alpha' });
const list = ask('legacy', 'resources/list');
const handshake = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };

/** Every method whose answer is kept. */
const hot = (era: Era): Request[] => [
  ...methods
    .filter(({ cacheable }) => cacheable)
    .map(({ name }) => {
      const uri = {
        'skills/get': 'skill://flatsource/alpha/SKILL.md',
        'resources/directory/read': 'skill://flatsource',
      };
      const of = name === 'resources/read' ? 'skill://flatsource/alpha' : uri[name as keyof typeof uri];
      return ask(era, name, of === undefined ? {} : { uri: of });
    }),
  era === 'modern' ? ask(era, 'server/discover') : ask(era, 'initialize', handshake),
  ...(era === 'modern' ? [] : [ask(era, 'ping')]),
];

const chunked = (body: string): string =>
  `5\r\n${body.slice(0, 5)}\r\n${(body.length - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\n\r\n`;
const without = (lines: readonly string[], name: string): string[] => lines.filter((line) => !line.startsWith(name));
const ofType = (...types: string[]): Request => ({
  ...read,
  lines: [...without(read.lines!, 'Content-Type'), ...types.map((type) => `Content-Type: ${type}`)],
});
const toHost = (...hosts: string[]): Request => ({
  ...read,
  lines: [...without(read.lines!, 'Host'), ...hosts.map((host) => `Host: ${host}`)],
});
const saying = (...more: string[]): Request => ({ ...read, lines: [...read.lines!, ...more] });
const ofBody = (body: string | Buffer): Request => ({ ...read, body });
const at = (target: string): Request => ({ ...read, first: `POST ${target} HTTP/1.1` });
const with_ = (method: string): Request => ({ ...read, first: `${method} /mcp HTTP/1.1` });

/** Requests that the front answers once their answers are kept. */
const answeredAtOnce: Request[] = [
  ...eras.flatMap(hot),
  ...['?', '?library=flatsource', '?tags=deepsource&x=%zz', '?resources=off&prompts=off', '?x#y'].map((query) => ({
    ...ask('modern', 'resources/list'),
    query,
  })),
  saying('X-Skill-Library: flatsource'),
  saying('X-MCP-Resources: off', 'X-Other: 1'),
  saying('Accept: text/html', 'Accept-Version: 2.x', 'Content-Encoding: gzip', 'X-HTTP-Method-Override: DELETE'),
  saying('Expect: 100-continue'),
  saying('Mcp-Session-Id: x', 'Last-Event-Id: 7', 'Cookie: a=b', 'Connection: Upgrade', 'Upgrade: h2c'),
  ofBody(` ${read.body}\n`),
  ofBody(`\uFEFF${read.body}`),
  ofBody(`${read.body}${' '.repeat(8000)}`),
  ofBody(read.body.replace('7', '"é🎉"')),
  { ...saying('Transfer-Encoding: chunked'), body: chunked(read.body) },
  { ...read, first: 'POST /mcp HTTP/1.0' },
  toHost('127.0.0.1:8000'),
];

/** Requests that go on to fastify. */
const goOn: Request[] = [
  ask('modern', 'resources/read', { uri: 'skill://nobody' }),
  ask('modern', 'tools/call', { name: 'read_resource', arguments: { uri: 'skill://flatsource' } }),
  ask('legacy', 'prompts/get', { name: 'flatsource_hello', arguments: { who: 'you' } }),
  ask('legacy', 'no/such'),
  { ...list, body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' },
  { ...list, query: '?library=nobody' },
  { ...read, lines: without(read.lines!, 'Mcp-Method') },
  ...['?x=', '?library=flatsource&x='].map((query) => ({ ...read, query: query + 'x'.repeat(1024) })),
  at(`/mcp?x=${'x'.repeat(8192)}`),
  ...['/mcp/', '/mcp;x', '/mcpx', '/MCP', '//mcp', '/%6dcp', '/mcp#x', '/', '/livez', 'http://localhost/mcp'].map(at),
  ...['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].map(with_),
  ...['application/json; charset=utf-8', 'Application/JSON', 'text/plain', 'application/json;', 'x', ''].map((type) =>
    ofType(type),
  ),
  ofType(),
  ofType('text/plain', 'application/json'),
  ...['evil.example', 'localhost.evil.example', ''].map((host) => toHost(host)),
  { ...toHost(), first: 'POST /mcp HTTP/1.0' },
  ...['http://localhost:3000', 'https://evil.example', 'null', ''].map((origin) => saying(`Origin: ${origin}`)),
  ofBody(''),
  ofBody(read.body.slice(1)),
  ofBody('no JSON'),
  ofBody(Buffer.from([0x22, 0xff, 0x22])),
  ofBody(`[${read.body}]`),
  ofBody(`${read.body}${' '.repeat(20_000)}`),
  ofBody(read.body + ' '.repeat(256 * 1024)),
  saying('Content-Length: 999999'),
];

/** Requests that Node refuses before anybody sees them, or whose body it does not take. */
const noRequests: Request[] = [
  toHost('localhost', 'evil.example'),
  toHost(),
  saying('Expect: 200-ok'),
  { ...saying(`Content-Length: ${read.body.length}`, 'Transfer-Encoding: chunked'), body: chunked(read.body) },
  { ...saying('Transfer-Encoding: gzip'), body: read.body },
  { ...saying('Transfer-Encoding: chunked'), body: `${'x'.repeat(10)}\r\n` },
];

/** Everything a server counted of requests and reads, without times. */
async function countedBy({ metrics: { registry } }: Side): Promise<string[]> {
  const text = await registry.metrics();
  return text.split('\n').filter((line) => /^lyceum_(request_seconds_count|reads_total)\{/.test(line));
}

describe('the front', () => {
  const suite = lifetime();
  let open: [Side, Side];
  let locked: [Side, Side];
  before(async () => {
    open = await sidesOver(suite, schoolTree);
    locked = await sidesOver(suite, closed);
  });

  /** Three times, so that what is kept is. @returns the last answer, and how often the front's server asked fastify for it */
  const compare = async ([front, other]: [Side, Side], sent: Sent) => {
    let answer = '';
    let ordinary = 0;
    for (let time = 0; time < 3; time++) {
      const expected = await answerOf(other, sent);
      const before = front.ordinary;
      answer = await answerOf(front, sent);
      ordinary = front.ordinary - before;
      assert.equal(answer, expected, sent.map((piece) => piece.toString('latin1').slice(0, 2000)).join(' | '));
    }
    // Each further piece is waited for by a request of its own.
    return { answer, ordinary: ordinary - (sent.length - 1) };
  };
  const tellTheSame = async ([front, other]: [Side, Side]): Promise<void> => {
    const counts = [await countedBy(front), await countedBy(other)];
    assert.deepEqual(counts[0]!.sort(), counts[1]!.sort());
    await until('all is logged', () => front.lines.length === other.lines.length);
    assert.deepEqual(front.lines, other.lines);
  };

  it('answers what is kept, byte for byte as the ordinary way', async () => {
    for (const request of answeredAtOnce) {
      const { answer, ordinary } = await compare(open, [bytesOf(request)]);
      assert.match(answer, /HTTP\/1\.1 200 OK\r\n/, bytesOf(request).toString());
      assert.equal(ordinary, 0, bytesOf(request).toString());
    }
    await tellTheSame(open);
  });

  it('leaves everything else to the ordinary way, as it came', async () => {
    for (const request of goOn) {
      const { ordinary } = await compare(open, [bytesOf(request)]);
      assert.equal(ordinary, 1, bytesOf(request).toString().slice(0, 2000));
    }
    for (const request of noRequests) await compare(open, [bytesOf(request)]);
    await tellTheSame(open);
  });

  it('lets nobody in whom the ordinary way does not, though the answer is kept, and shows nobody more', async () => {
    const bearer = (token: string): string => `Authorization: Bearer ${token}`;
    const wrong = bearer('wrong-0123456789abcdef');
    const allowed = [[bearer(right)], [bearer(other)], [`authorization: bearer   ${right}`]];
    const refused = [
      [],
      [wrong],
      ['Authorization:'],
      [`Authorization: ${right}`],
      [`Authorization: Basic ${Buffer.from(`n8n:${right}`).toString('base64')}`],
      [bearer(right), bearer(right)],
      [bearer(right), wrong],
      [wrong, bearer(right)],
      [`Cookie: token=${right}`],
    ];
    const bodies = new Set<string>();
    for (const request of [...eras.flatMap(hot), { ...list, query: '?library=deepsource' }]) {
      const asked = (lines: string[]): Request => ({ ...request, lines: [...request.lines!, ...lines] });
      for (const lines of allowed) {
        const { answer, ordinary } = await compare(locked, [bytesOf(asked(lines))]);
        assert.match(answer, /^HTTP\/1\.1 200 /);
        // Where a client sees nothing at all, nothing is kept.
        if (!(request.query && lines[0] === bearer(other))) assert.equal(ordinary, 0, lines.join());
        if (lines[0] === bearer(other)) assert.doesNotMatch(answer, /deepsource/);
        else bodies.add(answer);
      }
      for (const lines of refused) {
        const { answer, ordinary } = await compare(locked, [bytesOf(asked(lines))]);
        assert.match(answer, /^HTTP\/1\.1 401 /, lines.join());
        assert.equal(ordinary, 1);
      }
    }
    assert.ok([...bodies].some((answer) => answer.includes('skill://deepsource')));
    for (const request of goOn) {
      await compare(locked, [bytesOf({ ...request, lines: [...(request.lines ?? usual), bearer(right)] })]);
    }
    await tellTheSame(locked);
  });

  it('refuses a wrong token before the body is there', async () => {
    for (const side of locked) {
      const socket = await connected(side.url);
      const answered = once(socket, 'data');
      socket.write(bytesOf(list).subarray(0, -10));
      assert.match(String((await answered)[0]), /^HTTP\/1\.1 401 /);
      socket.destroy();
    }
    await tellTheSame(locked);
  });

  it('waits for no body: one that comes in pieces goes the ordinary way', async () => {
    for (const request of [read, list, { ...saying('Transfer-Encoding: chunked'), body: chunked(read.body) }]) {
      const bytes = bytesOf(request);
      const head = bytes.indexOf('\r\n\r\n') + 4;
      for (const cuts of [[head], [head + 1], [head - 2], [10, head, head + 20, bytes.length - 1]]) {
        const sent = [0, ...cuts].map((from, at) => bytes.subarray(from, cuts[at] ?? bytes.length));
        const { answer } = await compare(open, sent);
        assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
      }
    }
    await tellTheSame(open);
  });

  it('answers requests that are sent at once in their order', async () => {
    const kept = (id: number): Request => ({ ...read, body: bodyOf('modern', 'resources/read', { uri }, id) });
    const uri = 'skill://flatsource/alpha';
    const slow = ask('modern', 'tools/call', { name: 'read_resource', arguments: { uri } });
    const page: Request = { first: 'GET /livez HTTP/1.1' };
    const nobody: Request = { ...list, query: '?library=nobody' };
    for (const requests of [
      [kept(1), kept(2)],
      [kept(1), slow],
      [slow, kept(2)],
      [kept(1), page, kept(3)],
      [page, kept(2), slow, nobody, kept(5), list],
      Array.from({ length: 40 }, (_, id) => kept(id)),
    ]) {
      const bytes = requests.map((request, at) => bytesOf({ ...request, keepAlive: at < requests.length - 1 }));
      const { answer } = await compare(open, [Buffer.concat(bytes)]);
      assert.equal(answer.match(/HTTP\/1\.1 200 OK\r\n/g)?.length, requests.length);
    }
    await tellTheSame(open);
  });

  it('answers what came whole before something that is no request', async () => {
    const open_ = { ...read, keepAlive: true };
    const slow = {
      ...ask('modern', 'tools/call', { name: 'read_resource', arguments: { uri: 'skill://flatsource/alpha' } }),
      keepAlive: true,
    };
    for (const noise of ['\0', ' x', 'GET / HTTP/9.9\r\n\r\n']) {
      for (const requests of [[open_], [open_, open_], [slow], [open_, slow, open_]]) {
        const { answer } = await compare(open, [Buffer.concat([...requests.map(bytesOf), Buffer.from(noise)])]);
        const statuses = answer.match(/HTTP\/1\.1 \d+/g);
        assert.deepEqual(statuses, [...requests.map(() => 'HTTP/1.1 200'), 'HTTP/1.1 400'], JSON.stringify(noise));
      }
    }
    await tellTheSame(open);
  });

  it('keeps a connection open for the next request', async () => {
    for (const { url } of open) {
      const socket = await connected(url);
      const answers = heard(socket);
      for (let time = 0; time < 3; time++) {
        const came = once(socket, 'data');
        socket.write(bytesOf({ ...read, keepAlive: true }));
        await came;
      }
      socket.write(bytesOf(read));
      assert.equal((await answers).match(/HTTP\/1\.1 200 OK\r\n/g)?.length, 4);
    }
    await tellTheSame(open);
  });

  it('survives clients that are gone before their answer, or in the middle of their request', async () => {
    for (const side of open) {
      for (const bytes of [
        bytesOf(read),
        bytesOf(read).subarray(0, -5),
        Buffer.concat(Array(50).fill(bytesOf(read))),
      ]) {
        const socket = await connected(side.url);
        socket.write(bytes);
        socket.resetAndDestroy();
        assert.match(await answerOf(side, [bytesOf(read)]), /^HTTP\/1\.1 200 OK\r\n/);
      }
      // Gone when the server has seen the request and has not answered it.
      side.app.server.once('request', ({ socket }) => socket.destroy());
      assert.equal(await answerOf(side, [bytesOf(read)]), '');
      assert.match(await answerOf(side, [bytesOf(read)]), /^HTTP\/1\.1 200 OK\r\n/);
    }
  });

  it('tells who holds a connection that this answer is the last, once the server is to stop', async () => {
    const sides = await sidesOver(suite, schoolTree, { lingerMs: 500 });
    for (let time = 0; time < 3; time++) await compare(sides, [bytesOf(read)]);
    const answers = await Promise.all(
      sides.map(async ({ app, url }) => {
        const socket = await connected(url);
        const answer = heard(socket);
        const ended = app.close();
        await until('it is not ready', async () => (await get(`${url}/readyz`)).status === 503);
        socket.write(bytesOf({ ...read, keepAlive: true }));
        await ended;
        return await answer;
      }),
    );
    assert.match(answers[0]!, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(answers[0]!, /\r\nconnection: close\r\n/i);
    assert.equal(answers[0], answers[1]);
  });

  it('answers nothing before there is a catalogue', async () => {
    const sides = await sidesOver(suite, schoolTree, { loads: false });
    for (const request of [...eras.flatMap(hot), read]) {
      const { answer } = await compare(sides, [bytesOf(request)]);
      assert.match(answer, /^HTTP\/1\.1 503 /);
    }
    await tellTheSame(sides);
  });

  it('lets a body that is never finished be cut off', async () => {
    const sides = await sidesOver(suite, schoolTree);
    for (const { app } of sides) {
      // The real time is too long to wait for.
      app.server.requestTimeout = 200;
      app.server.headersTimeout = 200;
    }
    const [front, without] = await Promise.all(sides.map((side) => answerOf(side, [bytesOf(read).subarray(0, -5)])));
    assert.match(front!, /^HTTP\/1\.1 408 /);
    assert.equal(front, without);
  });
});
