// What operates a server: health, probes, metrics, logs, and an end that loses no request.
import assert from 'node:assert/strict';
import { type EventEmitter, once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { before, describe, it } from 'node:test';
import pino from 'pino';
import { noDownloads } from '../../server/downloads/downloads.ts';
import { accessRules } from '../../server/http/access.ts';
import { createApp } from '../../server/http/app.ts';
import { clientErrorHandler } from '../../server/http/client-errors.ts';
import { createEndpoint } from '../../server/mcp/endpoint.ts';
import { createServerMetrics } from '../../server/metrics.ts';
import { startServer } from '../../server/server.ts';
import {
  GatewayFixture,
  gatewayName,
  lifetime,
  namespace,
  schoolTree,
  serve,
  serveCatalogue,
  silent,
  until,
  watchOf,
} from './support/gateway.ts';
import { call, callTool, get, readText } from './support/mcp.ts';
import { connected, heard, postHead, spoken } from './support/raw.ts';

describe('health', () => {
  const suite = lifetime();
  let url: string;
  before(async () => {
    ({ url } = await serveCatalogue(suite, {
      sources: [
        ...schoolTree.sources,
        {
          name: 'old',
          state: 'stale',
          reason: 'Unreachable',
          skills: [{ address: 'x' }],
          revision: 'main@sha1:abc',
        },
        {
          name: 'broken',
          state: 'failed',
          reason: 'NotFound',
        },
        { name: 'new', state: 'pending' },
      ],
      scope: { library: 'flatsource' },
    }));
  });

  it('tells the catalogue, its counts and the state of every source, whatever the scope', async () => {
    const { status, body } = await get(`${url}/health?library=nowhere`, { 'X-Skill-Library': 'nowhere' });
    assert.equal(status, 200);
    assert.equal(body.status, 'ok');
    assert.equal(body.generation, 1);
    assert.ok(!Number.isNaN(Date.parse(body.built)));
    assert.deepEqual(body.libraries, ['deepsource', 'flatsource', 'old']);
    assert.deepEqual([body.skills, body.prompts, body.rules, body.profiles], [5, 2, 0, 0]);
    assert.deepEqual(Object.keys(body.sources).sort(), ['broken', 'deepsource', 'flatsource', 'new', 'old']);
    const { fingerprint, ...deepsource } = body.sources.deepsource;
    assert.match(fingerprint, /^main@sha1:[0-9a-f]{40}$/);
    assert.deepEqual(deepsource, {
      status: 'ok',
      library: 'deepsource',
      skills: 2,
      prompts: 1,
      rules: 0,
      profiles: 0,
      files: 3,
      built: '2026-11-30T12:00:00Z',
    });
    assert.equal(body.sources.old.status, 'stale');
    assert.equal(body.sources.old.error, 'Unreachable');
    assert.equal(body.sources.old.fingerprint, 'main@sha1:abc');
    assert.equal(body.sources.broken.status, 'failed');
    assert.equal(body.sources.broken.error, 'NotFound');
    assert.equal(body.sources.new.status, 'pending');
  });

  it('never tells where a source comes from', async () => {
    assert.doesNotMatch(JSON.stringify((await get(`${url}/health`)).body), /internal\.example|https?:/);
  });

  it('has probes beside it', async () => {
    assert.equal((await get(`${url}/livez`)).status, 200);
    assert.deepEqual((await get(`${url}/readyz`)).body, { ready: true });
  });
});

describe('metrics', () => {
  it('repeat nothing of what is asked for beside them', async (test) => {
    const { metricsUrl } = await serveCatalogue(test, schoolTree, { metricsPort: 0 });
    for (const [path, status] of [
      ['/canary?token=canary', 404],
      ['/%canary', 400],
    ] as const) {
      const answer = await fetch(metricsUrl + path);
      assert.equal(answer.status, status);
      assert.doesNotMatch(await answer.text(), /canary/);
    }
  });

  it('stand on a listener of their own and count requests, reads and loads', async (test) => {
    const { url, metricsUrl } = await serveCatalogue(test, schoolTree, { metricsPort: 0 });
    await call(url, 'prompts/get', { name: 'flatsource_hello', arguments: { who: 'Ada' } });
    await call(url, 'prompts/get', { name: 'flatsource_nothing' });
    await call(url, 'resources/list');
    await call(url, 'resources/list', {}, { era: 'legacy' });
    await readText(url, 'skill://flatsource/alpha');
    await readText(url, 'skill://flatsource');
    await callTool(url, 'read_resource', { uri: 'skill://deepsource/README.md' });
    await readText(url, 'skill://nowhere');
    for (let at = 0; at < 50; at++) await call(url, `made/up/${at}`);
    const text = await (await fetch(`${metricsUrl}/metrics`)).text();
    for (const line of [
      'lyceum_catalogue_generation 1',
      'lyceum_catalogue_artifacts{kind="skills"} 4',
      'lyceum_catalogue_artifacts{kind="prompts"} 2',
      'lyceum_catalogue_artifacts{kind="rules"} 0',
      'lyceum_request_seconds_count{method="prompts/get",era="modern"} 2',
      'lyceum_reads_total{kind="prompt",library="flatsource"} 1',
      'lyceum_catalogue_load_seconds_count 1',
      'lyceum_request_seconds_count{method="resources/list",era="modern"} 1',
      'lyceum_request_seconds_count{method="resources/list",era="legacy"} 1',
      'lyceum_request_seconds_count{method="other",era="modern"} 50',
      'lyceum_reads_total{kind="skill",library="flatsource"} 1',
      'lyceum_reads_total{kind="index",library="flatsource"} 1',
      'lyceum_reads_total{kind="file",library="deepsource"} 1',
    ]) {
      assert.ok(text.split('\n').includes(line), line);
    }
    assert.match(text, /^process_resident_memory_bytes \d/m);
    assert.doesNotMatch(text, /nowhere|made\/up/);
    assert.equal((await get(`${url}/metrics`)).status, 404);
  });
});

describe('logs', () => {
  it('have one line a request at debug, and none of what was asked or answered', async (test) => {
    const lines: string[] = [];
    const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
    const { url } = await serveCatalogue(test, schoolTree, { logger });
    lines.length = 0;
    await readText(url, 'skill://flatsource/alpha', { query: '?library=flatsource&token=hunter2' });
    await callTool(
      url,
      'read_resource',
      { uri: 'skill://secret-address' },
      { headers: { authorization: 'Bearer hunter2' } },
    );
    await call(url, 'secret/method');
    const entries = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    assert.equal(entries.length, 3);
    assert.deepEqual(
      entries.map(({ level, http, route, status, method, era }) => [level, http, route, status, method, era]),
      [
        [20, 'POST', '/mcp', 200, 'resources/read', 'modern'],
        [20, 'POST', '/mcp', 200, 'tools/call', 'modern'],
        [20, 'POST', '/mcp', 404, 'other', 'modern'],
      ],
    );
    assert.doesNotMatch(lines.join(''), /hunter2|secret|alpha|Instructions/);
  });

  it('have nothing of what a client sends that is no HTTP, at any level', async (test) => {
    const lines: string[] = [];
    const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    const { url } = await serveCatalogue(test, schoolTree, { logger });
    const bad = 'GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer hunter2\r\nno header\r\n\r\n';
    const answer = await spoken(url, bad);
    assert.equal(answer.status, 400);
    assert.equal(JSON.parse(answer.body).error.code, -32000);
    assert.equal((await spoken(url, `GET /mcp HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)).status, 431);
    assert.equal(lines.filter((line) => JSON.parse(line).msg === 'client error').length, 2);
    assert.doesNotMatch(lines.join(''), /hunter2|rawPacket/);
  });

  it('tell once of a connection that goes on with what is no HTTP', async (test) => {
    const lines: string[] = [];
    const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
    const handler = clientErrorHandler(logger);
    const server = createServer();
    server.on('clientError', (error, socket) => handler(error, socket as Socket));
    server.listen(0, '127.0.0.1');
    test.after(() => server.close());
    await once(server, 'listening');
    const asked = once(server, 'request');
    const errors = countOf(server, 'clientError', 3);
    const socket = await connected(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const answered = heard(socket);
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [, response] = (await asked) as [IncomingMessage, ServerResponse];
    const noise = setInterval(() => socket.write('no HTTP\r\n'), 1);
    await errors;
    clearInterval(noise);
    response.end('late');
    assert.equal((await answered).status, 200);
    assert.equal(lines.length, 1);
  });

  it('have no line of a request at info', async (test) => {
    const lines: string[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const { url } = await serveCatalogue(test, schoolTree, { logger });
    const before = lines.length;
    await call(url, 'resources/list');
    await call(url, 'resources/read', { uri: 'skill://nowhere' });
    await get(`${url}/elsewhere`);
    assert.equal(lines.length, before);
  });
});

async function countOf(emitter: EventEmitter, event: string, times: number): Promise<void> {
  for (let time = 0; time < times; time++) await once(emitter, event);
}

describe('a client that does not read its answer', () => {
  it('is cut off, though not before any answer has had its time', async (test) => {
    const text = 'x'.repeat(4_000_000);
    const gateway = await GatewayFixture.create(test);
    await gateway.publish({ sources: [{ name: 'big', skills: [{ address: 'a', files: { 'big.md': text } }] }] });
    const watch = watchOf(gateway);
    await watch.start();
    test.after(() => watch.close());
    const app = createApp({
      catalogue: watch,
      endpoint: createEndpoint({ version: '0', logger: silent }),
      access: accessRules(namespace, gatewayName, '127.0.0.1'),
      metrics: createServerMetrics(),
      downloads: noDownloads,
      logger: silent,
    });
    test.after(() => app.close());
    assert.ok(app.server.timeout > 60_000 && app.server.timeout <= 120_000, `${app.server.timeout} ms`);
    const { headersTimeout, requestTimeout } = app.server;
    assert.deepEqual({ headersTimeout, requestTimeout }, { headersTimeout: 30_000, requestTimeout: 30_000 });
    assert.equal(app.initialConfig.pluginTimeout, 0, 'a server that stops may wait longer than ten seconds for one');
    // The real time is too long to wait for.
    app.server.timeout = 200;
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const accepted = once(app.server, 'connection');
    const socket = connect(port, '127.0.0.1');
    test.after(() => socket.destroy());
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'resources/read',
      params: { uri: 'skill://big/a/big.md' },
    });
    const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
    // More than the buffers of any system between the two take.
    const answers = 16;
    socket.pause().write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`.repeat(answers));
    const [served] = (await accepted) as [Socket];
    await until('the connection is cut', () => served.destroyed);
    assert.ok(served.bytesWritten > 0, 'its answer had begun');
  });
});

describe('stopping', () => {
  it('answers what was begun, takes nothing new, and keeps nobody waiting', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(schoolTree);
    const server = await startServer({
      volume: gateway.root,
      namespace,
      gateway: gatewayName,
      host: '127.0.0.1',
      port: 0,
      metricsPort: 0,
      logger: silent,
      version: '0.0.0-test',
    });
    await call(server.url, 'resources/list');
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/list', params: {} });
    const begun = connect(Number(new URL(server.url).port), '127.0.0.1');
    let answer = '';
    begun.setEncoding('utf8').on('data', (piece: string) => {
      answer += piece;
    });
    const ended = new Promise((resolve) => begun.on('close', resolve));
    await new Promise<void>((resolve) =>
      begun.write(
        `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
        () => resolve(),
      ),
    );
    // Answered only when the server has read the line before it, on the same event loop.
    await get(`${server.url}/livez`);
    const stopped = Date.now();
    const closed = server.close();
    begun.write(body.slice(10));
    await closed;
    await ended;
    assert.ok(Date.now() - stopped < 5000, 'no connection that is done is waited for');
    assert.match(answer, /^HTTP\/1\.1 200 /);
    assert.match(answer, /skill:\/\/deepsource/);
    await assert.rejects(fetch(`${server.url}/livez`));
    await assert.rejects(fetch(`${server.metricsUrl}/metrics`));
  });

  it('cuts no answer that its client is slow to take', async (test) => {
    const gateway = await GatewayFixture.create(test);
    const text = 'x'.repeat(400_000);
    await gateway.publish({ sources: [{ name: 'big', skills: [{ address: 'alpha', files: { 'kept.txt': text } }] }] });
    const server = await serve(test, gateway);
    const uri = 'skill://big/alpha/kept.txt';
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } });
    for (let time = 0; time < 2; time++) await spoken(server.url, `${postHead(body)}${body}`);
    const socket = await connected(server.url);
    const head = postHead(body).replace('Connection: close\r\n', '');
    const ended = new Promise((end) => socket.on('error', () => {}).once('close', end));
    socket.pause();
    // More than the system takes into its own memory for one connection.
    socket.write(`${head}${body}`.repeat(40));
    await get(`${server.url}/livez`);
    const stopped = server.close();
    await until(
      'it is not ready',
      async () => (await fetch(`${server.url}/readyz`).catch(() => undefined))?.status !== 200,
    );
    let answers = '';
    socket.setEncoding('latin1').on('data', (piece: string) => {
      answers += piece;
    });
    socket.resume();
    await ended;
    await stopped;
    assert.equal(answers.split(text).length - 1, 40);
  });

  it('does not wait for connections on which nothing was asked, which clients keep ready', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(schoolTree);
    const server = await serve(test, gateway);
    const port = Number(new URL(server.url).port);
    const ready = Array.from({ length: 3 }, () => connect(port, '127.0.0.1'));
    await Promise.all(ready.map((socket) => once(socket, 'connect')));
    const ended = Promise.all(ready.map((socket) => once(socket, 'close')));
    for (const socket of ready) socket.on('error', () => {}).resume();
    // Answered when the server has taken the connections before this one.
    await get(`${server.url}/livez`);
    const stopped = Date.now();
    await server.close();
    await ended;
    assert.ok(Date.now() - stopped < 5000);
  });

  it('cuts nobody who keeps a connection busy: each is told by an answer that it was the last', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(schoolTree);
    const server = await startServer({
      volume: gateway.root,
      namespace,
      gateway: gatewayName,
      host: '127.0.0.1',
      port: 0,
      lingerMs: 1000,
      logger: silent,
      version: '0.0.0-test',
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    test.after(() => agent.destroy());
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/list', params: {} });
    const ask = async (): Promise<IncomingMessage> => {
      const asked = request(`${server.url}/mcp`, {
        method: 'POST',
        agent,
        headers: { 'content-type': 'application/json' },
      });
      asked.end(body);
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      answer.resume();
      await once(answer, 'end');
      return answer;
    };
    let answered = 0;
    const clients = Array.from({ length: 16 }, async () => {
      let answer: IncomingMessage;
      do {
        answer = await ask();
        answered++;
        assert.equal(answer.statusCode, 200);
      } while (answer.headers.connection !== 'close');
    });
    await until('they are at it', () => answered > 50);
    const closed = server.close();
    await until('it is not ready', async () => (await get(`${server.url}/readyz`)).status === 503);
    await Promise.all(clients);
    await closed;
  });

  it('is possible for a server that found its port taken', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(schoolTree);
    const { url } = await serve(test, gateway);
    const port = Number(new URL(url).port);
    await assert.rejects(serve(test, gateway, { port }), { code: 'EADDRINUSE' });
    assert.equal((await call(url, 'resources/list')).status, 200);
  });
});
