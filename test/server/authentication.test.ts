// Bearer tokens: who gets in, what those hear who do not, and that a token is worth nothing from the moment it is gone.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import pino from 'pino';
import { digestOf } from '../../catalogue/digest.ts';
import { noDownloads } from '../../server/downloads/downloads.ts';
import { accessRules } from '../../server/http/access.ts';
import { createApp } from '../../server/http/app.ts';
import { viewOf } from '../../server/http/request-view.ts';
import { createEndpoint } from '../../server/mcp/endpoint.ts';
import { createServerMetrics } from '../../server/metrics.ts';
import type { RunningServer } from '../../server/server.ts';
import { clientOfToken } from '../../server/tokens.ts';
import {
  type CatalogueFixture,
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
import { call, get, listUris, post, readText } from './support/mcp.ts';
import { connected, heard, postHead, type RawReply, spoken } from './support/raw.ts';

const token = 'n8n-0123456789abcdef';
const other = 'ops-fedcba9876543210';
const closed: CatalogueFixture = {
  ...schoolTree,
  auth: { tokens: { n8n: token, ops: other }, scopes: [{ client: 'ops', library: 'flatsource' }] },
};
const bearer = (value: string) => ({ authorization: `Bearer ${value}` });
const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/list' });

describe('a gateway with tokens', () => {
  const suite = lifetime();
  let server: RunningServer;
  before(async () => {
    server = await serveCatalogue(suite, closed);
  });

  it('answers whoever shows one of them, whichever', async () => {
    for (const value of [token, other]) {
      const { status } = await call(server.url, 'resources/list', {}, { headers: bearer(value), twice: true });
      assert.equal(status, 200);
    }
    for (const authorization of [`bearer ${token}`, `BEARER   ${token}`]) {
      assert.equal((await post(`${server.url}/mcp`, ping, { authorization })).status, 200, authorization);
    }
  });

  it('answers everybody else with one and the same 401, which does not say what was wrong', async () => {
    const answers: RawReply[] = [];
    const shown = postHead(list, `Authorization: Bearer ${token}`) + list;
    // From then on the answer is a kept one.
    for (const _ of [1, 2]) assert.equal((await spoken(server.url, shown)).status, 200);
    for (const lines of [
      [],
      ['Authorization:'],
      ['Authorization: Bearer'],
      ['Authorization: Bearer '],
      ['Authorization: Bearer wrong-0123456789abcdef'],
      [`Authorization: Bearer ${token}x`],
      [`Authorization: Bearer ${token.slice(1)}`],
      [`Authorization: Bearer ${token.toUpperCase()}`],
      [`Authorization: Bearer ${token} ${token}`],
      [`Authorization: Bearer ${token}, Bearer ${token}`],
      [`Authorization: Bearer "${token}"`],
      [`Authorization: ${token}`],
      [`Authorization: Token ${token}`],
      [`Authorization: Basic ${Buffer.from(`n8n:${token}`).toString('base64')}`],
      [`Authorization: Bearer ${token}`, `Authorization: Bearer ${token}`],
      [`Authorization: Bearer ${token}`, `authorization: Bearer wrong-0123456789abcdef`],
      ['Authorization: Bearer wrong-0123456789abcdef', `AUTHORIZATION: Bearer ${token}`],
      [`Authorization: Bearer ${'x'.repeat(5000)}`],
      [`Authorization: Bearer ${digestOf(Buffer.from(token))}`],
      [`Cookie: token=${token}`],
      [`X-Api-Key: ${token}`],
      [`Proxy-Authorization: Bearer ${token}`],
    ]) {
      const answer = await spoken(server.url, postHead(list, ...lines) + list);
      assert.equal(answer.status, 401, lines.join(' | '));
      answers.push(answer);
    }
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
    const { headers, body } = answers[0]!;
    assert.ok(headers.includes('www-authenticate: Bearer'), headers.join('\n'));
    const { jsonrpc, error, id } = JSON.parse(body);
    assert.deepEqual([jsonrpc, typeof error.code, typeof error.message, id], ['2.0', 'number', 'string', null]);
    assert.match(error.message, /Authorization: Bearer/);
  });

  it('takes no token from the URL', async () => {
    for (const query of [`?access_token=${token}`, `?token=${token}`, `?authorization=Bearer%20${token}`]) {
      assert.equal((await call(server.url, 'resources/list', {}, { query })).status, 401);
    }
  });

  it('asks on every method of HTTP and of the protocol, before it looks at the request', async () => {
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS', 'POST']) {
      const body = method === 'GET' ? {} : { body: 'no JSON', headers: { 'content-type': 'text/plain' } };
      assert.equal((await fetch(`${server.url}/mcp`, { method, ...body })).status, 401, method);
    }
    assert.equal((await fetch(`${server.url}/mcp`, { method: 'HEAD' })).status, 401);
    assert.equal((await fetch(`${server.url}/mcp`, { headers: bearer(token) })).status, 405);
    for (const era of ['modern', 'legacy'] as const) {
      for (const method of ['initialize', 'server/discover', 'tools/list', 'no/such']) {
        assert.equal((await call(server.url, method, {}, { era })).status, 401, method);
      }
    }
  });

  it('leaves probes open, and says its status alone to who shows no token', async () => {
    assert.equal((await get(`${server.url}/livez`)).status, 200);
    assert.deepEqual((await get(`${server.url}/readyz`)).body, { ready: true });
    assert.equal((await fetch(`${server.url}/openapi.yaml`)).status, 401);
    assert.equal((await fetch(`${server.url}/openapi.yaml`, { headers: bearer(token) })).status, 200);
    assert.deepEqual((await get(`${server.url}/health`)).body, { status: 'ok' });
    assert.equal((await get(`${server.url}/health`, bearer(other))).body.generation, 1);
    const wrong = await get(`${server.url}/health`, bearer('wrong-0123456789abcdef'));
    assert.equal(wrong.status, 401);
    assert.equal(wrong.headers.get('www-authenticate'), 'Bearer');
    assert.deepEqual(Object.keys(wrong.body), ['error']);
    for (const path of ['/livez', '/readyz']) {
      assert.equal((await get(`${server.url}${path}`, bearer('wrong-0123456789abcdef'))).status, 200);
    }
  });

  it('says plainly that there is no OAuth: its metadata is not there', async () => {
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
    ]) {
      assert.equal((await get(`${server.url}${path}`)).status, 404, path);
    }
    assert.equal((await post(`${server.url}/register`, '{}')).status, 404);
  });

  it('holds a client below its own ceiling, and no other', async () => {
    const [wide, narrow] = [token, other].map((value) => ({ headers: bearer(value), twice: true }));
    assert.notEqual(await readText(server.url, 'skill://deepsource/gamma', wide), undefined);
    assert.deepEqual(await listUris(server.url, narrow), ['skill://flatsource']);
    assert.equal(await readText(server.url, 'skill://deepsource/gamma', narrow), undefined);
    assert.notEqual(await readText(server.url, 'skill://deepsource/gamma', wide), undefined);
  });
});

describe('both lines of the SDK', () => {
  it('get in with a token among their headers, and say 401 without one', async (test) => {
    const { url } = await serveCatalogue(test, closed);
    const connect = async (requestInit: RequestInit): Promise<string[]> => {
      const read: string[] = [];
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
      const old = new OldClient({ name: 'test', version: '1' });
      const mcp = new URL(`${url}/mcp`);
      try {
        await client.connect(new StreamableHTTPClientTransport(mcp, { requestInit }));
        read.push(...(await client.listResources()).resources.map(({ uri }) => uri));
      } finally {
        await client.close();
      }
      try {
        await old.connect(new OldTransport(mcp, { requestInit }));
        read.push(...(await old.listResources()).resources.map(({ uri }) => uri));
      } finally {
        await old.close();
      }
      return read;
    };
    assert.deepEqual(await connect({ headers: bearer(other) }), ['skill://flatsource', 'skill://flatsource']);
    await assert.rejects(connect({}), /401|[Uu]nauthorized/);
  });
});

describe('a gateway of whose tokens none is left', () => {
  it('lets nobody in', async (test) => {
    const { url } = await serveCatalogue(test, { ...schoolTree, auth: { tokens: {} } });
    assert.equal((await call(url, 'resources/list')).status, 401);
    assert.equal((await call(url, 'resources/list', {}, { headers: bearer(token) })).status, 401);
    assert.equal((await get(`${url}/readyz`)).status, 200);
  });
});

describe('a new index.json', () => {
  const wait = (url: string, headers: Record<string, string>, status: number) =>
    until(`${status}`, async () => (await post(`${url}/mcp`, ping, headers)).status === status);

  it('takes a token out of force and puts another in, for the next request', async (test) => {
    const fixture = await GatewayFixture.create(test);
    await fixture.publish({ ...schoolTree, auth: { tokens: { n8n: token } } });
    const { url } = await serve(test, fixture);
    await wait(url, bearer(token), 200);
    assert.equal((await call(url, 'resources/list', {}, { headers: bearer(token), twice: true })).status, 200);
    await fixture.publish({ ...schoolTree, auth: { tokens: { n8n: other } } });
    await wait(url, bearer(other), 200);
    assert.equal((await call(url, 'resources/list', {}, { headers: bearer(token), twice: true })).status, 401);
  });

  it('moves the ceiling of a token', async (test) => {
    const fixture = await GatewayFixture.create(test);
    const auth = (library: string) => ({ tokens: { n8n: token }, scopes: [{ client: 'n8n', library }] });
    await fixture.publish({ ...schoolTree, auth: auth('flatsource') });
    const { url } = await serve(test, fixture);
    assert.deepEqual(await listUris(url, { headers: bearer(token) }), ['skill://flatsource']);
    await fixture.publish({ ...schoolTree, auth: auth('plugin-a') });
    await until('the other ceiling', async () =>
      (await listUris(url, { headers: bearer(token) })).includes('skill://plugin-a'),
    );
    assert.equal(await readText(url, 'skill://flatsource/alpha', { headers: bearer(token) }), undefined);
  });

  it('that closes the gateway, or takes the token away, holds for requests that are under way too', async (test) => {
    for (const [before, line] of [
      [undefined, 'X-Nothing: shown'],
      [{ tokens: { n8n: token } }, `Authorization: Bearer ${token}`],
    ] as const) {
      const fixture = await GatewayFixture.create(test);
      await fixture.publish({ ...schoolTree, ...(before === undefined ? {} : { auth: before }) });
      const { url } = await serve(test, fixture);
      const socket = await connected(url);
      socket.write(postHead(list, line) + list.slice(0, 10));
      // The head has been judged once a later request on another connection is answered.
      assert.equal((await get(`${url}/livez`)).status, 200);
      await fixture.publish({ ...schoolTree, auth: { tokens: { n8n: other } } });
      await wait(url, {}, 401);
      await wait(url, bearer(other), 200);
      socket.write(list.slice(10));
      const { status, body } = await heard(socket);
      assert.equal(status, 401);
      assert.doesNotMatch(body, /skill:/);
    }
  });

  it('that is broken, or of a newer format, leaves the last good one in force with its tokens', async (test) => {
    const fixture = await GatewayFixture.create(test);
    await fixture.publish(closed);
    const server = await serve(test, fixture);
    for (const text of ['{', '{}', JSON.stringify({ format: 99, auth: null })]) {
      await fixture.writeIndex(text);
      await until(
        'the fault is seen',
        async () => 'catalogue' in (await get(`${server.url}/health`, bearer(token))).body,
      );
      assert.equal((await call(server.url, 'resources/list')).status, 401);
      assert.deepEqual((await get(`${server.url}/health`)).body, { status: 'ok' });
      assert.equal((await call(server.url, 'resources/list', {}, { headers: bearer(token) })).status, 200);
    }
  });
});

describe('a token', () => {
  it('is told apart by its digest alone', () => {
    const auth = { tokens: [{ client: 'a', digest: digestOf(Buffer.from(token)) }], scopes: [] };
    for (const _ of [1, 2]) {
      assert.equal(clientOfToken(auth, token), 'a');
      assert.equal(clientOfToken(auth, other), undefined);
      assert.equal(clientOfToken(auth, ''), undefined);
      assert.equal(clientOfToken(auth, auth.tokens[0]!.digest), undefined);
    }
  });

  it('stands in no log line, metric or answer, right or wrong, at any level', async (test) => {
    const lines: string[] = [];
    const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    const fixture = await GatewayFixture.create(test);
    await fixture.publish(closed);
    const { url, metricsUrl } = await serve(test, fixture, { logger, metricsPort: 0 });
    const wrong = 'canary-0123456789abcdef';
    let said = '';
    for (const value of [token, other, wrong]) {
      for (const path of ['/mcp', '/health', '/livez', '/elsewhere', `/${value}`]) {
        said += await (await fetch(`${url}${path}`, { headers: bearer(value) })).text();
      }
      for (const body of [list, 'no JSON', 'x'.repeat(300_000)]) {
        const headers = { 'content-type': 'application/json', ...bearer(value) };
        said += await (await fetch(`${url}/mcp`, { method: 'POST', body, headers })).text();
      }
      for (const bytes of [
        `GET /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${value}\r\nno header\r\n\r\n`,
        `GET /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${value}${'x'.repeat(20_000)}\r\n\r\n`,
        `GET /%zz?${value} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${value}\r\n\r\n`,
        `GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nOrigin: https://${value}\r\n\r\n`,
      ]) {
        const { headers, body } = await spoken(url, bytes);
        said += headers.join('\n') + body;
      }
    }
    await fixture.writeIndex('{');
    await until('the fault is logged', () => lines.some((line) => line.includes('catalogue not loaded')));
    said += await (await fetch(`${metricsUrl}/metrics`)).text();
    assert.ok(lines.some((line) => JSON.parse(line).client === 'n8n'));
    for (const value of [token, other, wrong]) {
      assert.ok(!lines.join('').includes(value), 'the log');
      assert.ok(!said.includes(value), 'an answer');
    }
  });
});

describe('a page', () => {
  it('takes a token as the password of HTTP Basic too, and asks for that first', async (test) => {
    const fixture = await GatewayFixture.create(test);
    await fixture.publish(closed);
    const watch = watchOf(fixture);
    const endpoint = createEndpoint({ version: '0', logger: silent });
    const app = createApp({
      catalogue: watch,
      endpoint,
      access: accessRules(namespace, gatewayName, '127.0.0.1'),
      metrics: createServerMetrics(),
      downloads: noDownloads,
      logger: silent,
    });
    app.get('/page', { config: { access: 'page' } }, async (asked) => viewOf(asked, watch.snapshot!).skills.length);
    test.after(() => Promise.all([app.close(), endpoint.close(), watch.close()]));
    await watch.start();
    await app.listen({ host: '127.0.0.1', port: 0 });
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/page`;
    const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });

    assert.equal((await get(url, basic(`anybody:${token}`))).body, 4);
    assert.equal((await get(url, basic(`:${other}`))).body, 2);
    assert.equal((await get(url, bearer(token))).body, 4);
    const challenges = async (headers: Record<string, string>) => {
      const { promise, resolve } = Promise.withResolvers<unknown>();
      request(url, { headers }, (response) =>
        resolve(response.resume() && response.headersDistinct['www-authenticate']),
      ).end();
      return await promise;
    };
    for (const headers of [{}, basic(token), basic(`${token}:`), basic(`x:${token}x`), { authorization: 'Basic ?' }]) {
      const { status, body } = await get(url, headers);
      assert.equal(status, 401);
      assert.deepEqual(Object.keys(body), ['error']);
      assert.deepEqual(await challenges(headers), ['Basic realm="Lyceum", charset="UTF-8"', 'Bearer']);
    }
  });
});
