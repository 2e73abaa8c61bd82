// The protocol on the wire: eras, statuses and codes, seen as raw HTTP.
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { before, describe, it } from 'node:test';
import type { RunningServer } from '../../server/server.ts';
import { lifetime, schoolTree, serveCatalogue } from './support/gateway.ts';
import { call, get, post } from './support/mcp.ts';

const version = '2026-07-28';
const meta = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const modernHeaders = (method: string) => ({
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': version,
  'mcp-method': method,
});
const message = (method: string, params: unknown, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

describe('the endpoint', () => {
  const suite = lifetime();
  let server: RunningServer;
  let mcp: string;
  before(async () => {
    server = await serveCatalogue(suite, { ...schoolTree, instructions: 'Read before you act.' });
    mcp = `${server.url}/mcp`;
  });

  const initialize = async (protocolVersion: string) =>
    await post(
      mcp,
      message('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } }),
      { accept: 'application/json, text/event-stream' },
    );

  it('answers server/discover with its one modern version and exactly what it can do', async () => {
    const { status, headers, body } = await call(server.url, 'server/discover');
    assert.equal(status, 200);
    assert.match(headers.get('content-type')!, /^application\/json/);
    assert.deepEqual(body.result.supportedVersions, [version]);
    assert.deepEqual(body.result.capabilities, {
      resources: { listChanged: true, subscribe: true },
      prompts: { listChanged: true },
      completions: {},
      tools: {},
      extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true } },
    });
    assert.equal(body.result.instructions, 'Read before you act.');
    assert.equal(body.result.resultType, 'complete');
    const info = body.result._meta['io.modelcontextprotocol/serverInfo'];
    assert.equal(info.name, 'lyceum');
    assert.equal(info.version, '0.0.0-test');
  });

  it('answers initialize with the version that the client has, else with the newest of its era', async () => {
    for (const known of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
      assert.equal((await initialize(known)).body.result.protocolVersion, known);
    }
    for (const other of ['2099-01-01', version, '1', '']) {
      assert.equal((await initialize(other)).body.result.protocolVersion, '2025-11-25', other);
    }
    const { headers, body } = await initialize('2025-11-25');
    assert.deepEqual(body.result.capabilities, {
      resources: {},
      prompts: {},
      completions: {},
      tools: {},
      extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true } },
    });
    assert.equal(body.result.instructions, 'Read before you act.');
    assert.equal(headers.get('mcp-session-id'), null);
    assert.match(headers.get('content-type')!, /^application\/json/);
  });

  it('takes the notifications of the old handshake and its ping', async () => {
    const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const { status, body } = await post(mcp, initialized, { accept: 'application/json, text/event-stream' });
    assert.equal(status, 202);
    assert.equal(body, undefined);
    assert.deepEqual((await call(server.url, 'ping', {}, { era: 'legacy' })).body.result, {});
  });

  it('decides the era of each request by itself, on one connection', async () => {
    for (const era of ['modern', 'legacy', 'modern', 'legacy'] as const) {
      const { body } = await call(server.url, 'resources/list', {}, { era });
      assert.equal('ttlMs' in body.result, era === 'modern');
    }
  });

  it('serves clients whose Accept is narrow or missing', async () => {
    for (const accept of ['application/json', '*/*', 'text/html', '']) {
      for (const era of ['modern', 'legacy'] as const) {
        const { status, headers } = await call(server.url, 'resources/list', {}, { era, headers: { accept } });
        assert.equal(status, 200, `${era} ${accept}`);
        assert.match(headers.get('content-type')!, /^application\/json/);
      }
    }
  });

  it('refuses GET, DELETE and the rest with 405 and says that POST is allowed', async () => {
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS', 'HEAD']) {
      const response = await fetch(`${mcp}?library=x`, { method, headers: { accept: 'text/event-stream' } });
      await response.text();
      assert.equal(response.status, 405, method);
      assert.equal(response.headers.get('allow'), 'POST', method);
    }
  });

  it('refuses a body that is not JSON', async () => {
    for (const body of ['', '{', 'null,', '\u0000', '{"jsonrpc":"2.0"', Uint8Array.of(0x22, 0xff, 0x22)]) {
      const reply = await post(mcp, body, modernHeaders('ping'));
      assert.equal(reply.status, 400, String(body));
      assert.equal(reply.body.error.code, -32700, String(body));
      assert.equal(reply.body.id, null);
    }
  });

  it('refuses JSON that is no request', async () => {
    const bodies = [
      'null',
      '1',
      '"x"',
      '{}',
      '{"jsonrpc":"1.0","id":1,"method":"ping"}',
      '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    ];
    for (const body of bodies) {
      const reply = await post(mcp, body, { accept: 'application/json, text/event-stream' });
      assert.equal(reply.status, 400, body);
      assert.equal(reply.body.error.code, -32600, body);
    }
  });

  it('refuses batches', async () => {
    const one = { jsonrpc: '2.0', id: 1, method: 'ping' };
    for (const batch of [[], [one], [one, { ...one, id: 2 }]]) {
      const reply = await post(mcp, JSON.stringify(batch), { accept: 'application/json, text/event-stream' });
      assert.equal(reply.status, 400);
      assert.equal(reply.body.error.code, -32600);
    }
  });

  it('refuses a body that is not called JSON', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp']) {
      const reply = await post(mcp, message('ping', {}), { 'content-type': type });
      assert.equal(reply.status, 415, type);
      assert.equal(typeof reply.body.error.code, 'number');
    }
    const charset = { 'content-type': 'application/json; charset=utf-8', accept: '*/*' };
    assert.equal((await post(mcp, message('ping', {}), charset)).status, 200);
  });

  it('refuses a body over 256 KiB and serves one just below', async () => {
    const padded = (bytes: number) => message('resources/list', { _meta: meta, padding: 'x'.repeat(bytes) });
    assert.equal((await post(mcp, padded(256 * 1024), modernHeaders('resources/list'))).status, 413);
    assert.equal((await post(mcp, padded(256 * 1024 - 1024), modernHeaders('resources/list'))).status, 200);
  });

  it('survives JSON that is nested a hundred thousand deep', async () => {
    for (const headers of [modernHeaders('resources/list'), { accept: '*/*' }]) {
      const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
      const body = `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"_meta":${JSON.stringify(meta)},"x":${deep}}}`;
      const { status } = await post(mcp, body, headers);
      assert.ok(status === 200 || status === 400 || status === 500, String(status));
    }
    assert.equal((await call(server.url, 'resources/list')).status, 200);
  });

  it('refuses a URL that is longer than any it gives out', async () => {
    const { status, body } = await post(`${mcp}?library=${'x'.repeat(9000)}`, message('ping', {}));
    assert.equal(status, 414);
    assert.equal(typeof body.error.message, 'string');
  });

  it('refuses a modern request without its envelope or with half of it', async () => {
    for (const envelope of [
      undefined,
      {},
      { 'io.modelcontextprotocol/protocolVersion': version },
      { ...meta, 'io.modelcontextprotocol/clientCapabilities': 'all' },
    ]) {
      const reply = await post(mcp, message('resources/list', { _meta: envelope }), modernHeaders('resources/list'));
      assert.equal(reply.status, 400);
      assert.equal(reply.body.error.code, -32602);
    }
  });

  it('refuses headers that are missing or say something else than the body', async () => {
    const list = message('resources/list', { _meta: meta });
    const read = message('resources/read', { _meta: meta, uri: 'skill://flatsource' });
    const cases: [string, Record<string, string>][] = [
      [list, { 'mcp-protocol-version': version }],
      [list, { 'mcp-method': 'resources/list' }],
      [list, { 'mcp-protocol-version': version, 'mcp-method': 'tools/list' }],
      [list, { 'mcp-protocol-version': '2025-11-25', 'mcp-method': 'resources/list' }],
      [read, { 'mcp-protocol-version': version, 'mcp-method': 'resources/read' }],
      [read, { 'mcp-protocol-version': version, 'mcp-method': 'resources/read', 'mcp-name': 'skill://deepsource' }],
    ];
    for (const [body, headers] of cases) {
      const reply = await post(mcp, body, { accept: 'application/json, text/event-stream', ...headers });
      assert.equal(reply.status, 400, JSON.stringify(headers));
      assert.equal(reply.body.error.code, -32020, JSON.stringify(headers));
    }
  });

  it('names the versions that it has to a client with another one', async () => {
    const other = { ...meta, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' };
    const reply = await post(mcp, message('resources/list', { _meta: other }), {
      ...modernHeaders('resources/list'),
      'mcp-protocol-version': '2027-01-01',
    });
    assert.equal(reply.status, 400);
    assert.equal(reply.body.error.code, -32022);
    assert.deepEqual(reply.body.error.data.supported, [version]);
  });

  it('knows no other methods: 404 in the modern era, an error in the old one', async () => {
    for (const method of ['skills/activate', 'resources/subscribe', 'logging/setLevel', 'tasks/get', 'no/such']) {
      const modern = await call(server.url, method);
      assert.equal(modern.status, 404, method);
      assert.equal(modern.body.error.code, -32601, method);
      assert.equal(modern.body.id, 1);
      const legacy = await call(server.url, method, {}, { era: 'legacy' });
      assert.equal(legacy.status, 200, method);
      assert.equal(legacy.body.error.code, -32601, method);
    }
  });

  it('refuses parameters of the wrong type', async () => {
    for (const era of ['modern', 'legacy'] as const) {
      for (const params of [{}, { uri: 1 }, { uri: null }, { uri: { x: 1 } }]) {
        const { body } = await call(server.url, 'resources/read', params, { era, headers: { 'mcp-name': '1' } });
        assert.ok(body.error.code === -32602 || body.error.code === -32020, JSON.stringify(body));
      }
      assert.equal((await call(server.url, 'resources/list', { cursor: 5 }, { era })).body.error.code, -32602);
    }
  });

  it('gives the templates of its addresses', async () => {
    for (const era of ['modern', 'legacy'] as const) {
      const { resourceTemplates } = (await call(server.url, 'resources/templates/list', {}, { era })).body.result;
      assert.deepEqual(
        resourceTemplates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate),
        ['skill://{library}', 'skill://{library}/{skill}', 'skill://{library}/{skill}/{+path}'],
      );
    }
  });

  it('answers ids as they came', async () => {
    for (const id of [0, -7, 'abc', '']) {
      const reply = await post(mcp, message('resources/list', { _meta: meta }, id), modernHeaders('resources/list'));
      assert.equal(reply.body.id, id);
    }
  });

  it('ignores session ids and Last-Event-ID', async () => {
    const headers = { 'mcp-session-id': 'abc', 'last-event-id': '7' };
    for (const era of ['modern', 'legacy'] as const) {
      assert.equal((await call(server.url, 'resources/list', {}, { era, headers })).status, 200);
    }
  });

  it('says where it is to who comes elsewhere', async () => {
    const { status, body } = await get(`${server.url}/elsewhere`);
    assert.equal(status, 404);
    assert.match(body.error, /\/mcp/);
  });
});

describe('browsers', () => {
  const suite = lifetime();
  let server: RunningServer;
  before(async () => {
    server = await serveCatalogue(suite, schoolTree);
  });
  const status = async (headers: Record<string, string>): Promise<number> =>
    await new Promise((resolve, reject) => {
      const sent = httpRequest(`${server.url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
      });
      sent.on('response', (response) => {
        response.resume();
        resolve(response.statusCode!);
      });
      sent.on('error', reject);
      sent.end(message('ping', {}));
    });

  it("from the gateway's own hosts and localhost may use it, others may not", async () => {
    for (const origin of [
      'http://localhost:3000',
      'http://127.0.0.1:6274',
      'http://[::1]:8000',
      'http://agents.flow.svc.cluster.local:8000',
      'http://agents.flow.svc',
      'https://agents.flow',
      'http://agents:8000',
    ]) {
      assert.equal(await status({ origin }), 200, origin);
    }
    for (const origin of [
      'https://evil.example',
      'http://localhost.evil.example',
      'http://agents.flow.svc.evil.example',
      'null',
      'file://',
      'chrome-extension://abcdef',
      'not an origin',
    ]) {
      assert.equal(await status({ origin }), 403, origin);
    }
  });

  it('that were led here by a rebound name are refused by Host, since the server is bound to loopback', async () => {
    assert.equal(await status({ host: 'evil.example' }), 403);
    assert.equal(await status({ host: 'evil.example', origin: 'http://evil.example' }), 403);
    assert.equal(await status({ host: 'localhost:1' }), 200);
  });

  it('are refused without a word of what they sent', async () => {
    const { body } = await post(`${server.url}/mcp`, message('ping', {}), { origin: 'https://evil.example' });
    assert.doesNotMatch(JSON.stringify(body), /evil/);
  });
});
