// Browsers' pages of other sites: which may use a gateway, and what their browsers are told.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { RunningServer } from '../../server/server.ts';
import { GatewayFixture, lifetime, schoolTree, serve, serveCatalogue, until } from './support/gateway.ts';
import { get, post } from './support/mcp.ts';
import { spoken } from './support/raw.ts';

const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const token = 'n8n-0123456789abcdef';

/** Headers of an answer to these lines, as they stand, and its status. */
async function asked(url: string, first: string, ...lines: string[]) {
  const head = [`${first} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...lines, '\r\n'].join('\r\n');
  const { status, headers, body } = await spoken(url, head);
  const values = new Map(headers.map((line) => [line.split(': ')[0]!, line.slice(line.indexOf(': ') + 2)]));
  return { status, headers: values, body };
}

const preflight = (url: string, origin: string, path = '/mcp', ...lines: string[]) =>
  asked(url, `OPTIONS ${path}`, `Origin: ${origin}`, 'Access-Control-Request-Method: POST', ...lines);

describe('a page of an allowed origin', () => {
  const suite = lifetime();
  let server: RunningServer;
  before(async () => {
    server = await serveCatalogue(suite, {
      ...schoolTree,
      allowedOrigins: ['https://claude.ai', 'HTTPS://Chat.Example.com:443', 'http://10.0.0.7:3000', 'app://desk'],
      auth: { tokens: { n8n: token } },
    });
  });
  const from = (origin: string) => post(`${server.url}/mcp`, ping, { origin, authorization: `Bearer ${token}` });

  it('may use the gateway, and its browser is told that it may read the answer', async () => {
    for (const origin of ['https://claude.ai', 'https://chat.example.com', 'http://10.0.0.7:3000', 'app://desk']) {
      const { status, headers } = await from(origin);
      assert.equal(status, 200, origin);
      assert.equal(headers.get('access-control-allow-origin'), origin);
      assert.equal(headers.get('vary'), 'Origin');
      assert.equal(headers.get('access-control-allow-credentials'), null);
    }
  });

  it('is one of exactly that scheme, host and port', async () => {
    for (const origin of [
      'http://claude.ai',
      'https://claude.ai:8443',
      'https://claude.ai/',
      'https://claude.ai.evil.example',
      'https://evil.example/https://claude.ai',
      'https://www.claude.ai',
      'https://claude.ai@evil.example',
      'https://ann@claude.ai',
      'https://claude.ai, https://evil.example',
      'https://claude.ai https://claude.ai',
      'http://10.0.0.7',
      'app://desk.evil',
      'http://localhost/',
      'http://ann@localhost',
      'http://localhost#claude.ai',
      'ftp://localhost',
      'null',
      '*',
      ' ',
    ]) {
      const { status, headers } = await from(origin);
      // A header of blanks alone is an empty one.
      assert.equal(status, 403, origin);
      assert.equal(headers.get('access-control-allow-origin'), null, origin);
    }
  });

  it('is asked for no token before its request, and told what that may be', async () => {
    const wanted =
      'authorization,content-type,mcp-protocol-version,mcp-method,mcp-param-x,last-event-id,x-skill-library,x-mcp-resources';
    const { status, headers, body } = await preflight(
      server.url,
      'https://claude.ai',
      '/mcp',
      `Access-Control-Request-Headers: ${wanted}, cookie, x-forwarded-for, mcp-${'x'.repeat(100)}`,
    );
    assert.equal(status, 204);
    assert.equal(body, '');
    assert.equal(headers.get('access-control-allow-origin'), 'https://claude.ai');
    assert.match(headers.get('access-control-allow-methods')!, /\bPOST\b/);
    assert.equal(headers.get('access-control-allow-headers'), wanted.replaceAll(',', ', '));
    assert.equal(headers.get('vary'), 'Access-Control-Request-Headers, Origin');
    assert.equal(headers.get('access-control-allow-credentials'), undefined);
    assert.equal((await preflight(server.url, 'https://claude.ai', '/health')).status, 204);
  });

  it('may read why it is refused and when to try again, and nothing else that is not for every page', async () => {
    const { status, headers } = await post(`${server.url}/mcp`, ping, { origin: 'https://claude.ai' });
    assert.equal(status, 401);
    assert.equal(headers.get('access-control-allow-origin'), 'https://claude.ai');
    assert.equal(headers.get('access-control-expose-headers'), 'WWW-Authenticate, Retry-After');
  });

  it('has 405 where there is no such method, and OPTIONS without an Origin has it too', async () => {
    const { url } = await serveCatalogue(suite, { ...schoolTree, allowedOrigins: ['https://claude.ai'] });
    assert.equal((await asked(url, 'OPTIONS /mcp')).status, 405);
    assert.equal((await asked(url, 'OPTIONS /mcp', 'Access-Control-Request-Method: POST')).status, 405);
    const { status, headers } = await asked(url, 'GET /mcp', 'Origin: https://claude.ai');
    assert.equal(status, 405);
    assert.equal(headers.get('access-control-allow-origin'), 'https://claude.ai');
  });
});

describe('a page of another origin', () => {
  it('is refused before its request, on every route, and its browser gets nothing to go by', async (test) => {
    const { url } = await serveCatalogue(test, schoolTree);
    for (const path of ['/mcp', '/health', '/livez', '/elsewhere']) {
      const { status, headers } = await preflight(url, 'https://evil.example', path);
      assert.equal(status, 403);
      for (const name of headers.keys()) assert.doesNotMatch(name, /^access-control/);
      const direct = await asked(url, `GET ${path}`, 'Origin: https://evil.example');
      assert.equal(direct.status, 403);
      const { error } = JSON.parse(direct.body);
      assert.equal(typeof error, path === '/mcp' ? 'object' : 'string');
    }
  });

  it('that sends its origin twice is not let in by one of them', async (test) => {
    const { url } = await serveCatalogue(test, { ...schoolTree, allowedOrigins: ['https://claude.ai'] });
    for (const pair of [
      ['https://claude.ai', 'https://evil.example'],
      ['https://evil.example', 'https://claude.ai'],
    ]) {
      assert.equal((await asked(url, 'GET /health', ...pair.map((one) => `Origin: ${one}`))).status, 403);
    }
  });
});

it('caches between a browser and a gateway are told that answers differ by Origin', async (test) => {
  const { url } = await serveCatalogue(test, schoolTree);
  assert.equal((await get(`${url}/health`)).headers.get('vary'), 'Origin');
  const { headers } = await get(`${url}/health`, { origin: 'http://localhost:6274' });
  assert.equal(headers.get('access-control-allow-origin'), 'http://localhost:6274');
  assert.equal(headers.get('vary'), 'Origin');
});

it('other origins in the next index.json hold for the next request', async (test) => {
  const fixture = await GatewayFixture.create(test);
  await fixture.publish({ ...schoolTree, allowedOrigins: ['https://one.example'] });
  const { url } = await serve(test, fixture);
  const status = async (origin: string) => (await get(`${url}/health`, { origin })).status;
  assert.deepEqual([await status('https://one.example'), await status('https://two.example')], [200, 403]);
  await fixture.publish({ ...schoolTree, allowedOrigins: ['https://two.example'] });
  await until('the other origin is let in', async () => (await status('https://two.example')) === 200);
  assert.equal(await status('https://one.example'), 403);
});

it('pages of the names by which it is reached from outside may use it, at any port, from the next request on', async (test) => {
  const fixture = await GatewayFixture.create(test);
  await fixture.publish({ ...schoolTree, hosts: ['skills.example.com'] });
  const { url } = await serve(test, fixture);
  const status = async (origin: string) => (await get(`${url}/health`, { origin })).status;
  for (const origin of ['https://skills.example.com', 'http://skills.example.com:8080']) {
    assert.equal(await status(origin), 200, origin);
  }
  for (const origin of [
    'https://a.skills.example.com',
    'https://skills.example.com.evil.example',
    'ftp://skills.example.com',
  ]) {
    assert.equal(await status(origin), 403, origin);
  }
  await fixture.publish({ ...schoolTree, hosts: ['other.example.com'] });
  await until('the other name is its own', async () => (await status('https://other.example.com')) === 200);
  assert.equal(await status('https://skills.example.com'), 403);
});

describe('what is too large', () => {
  it('is refused in the form of the route: JSON-RPC at /mcp, plain JSON elsewhere', async (test) => {
    const { url } = await serveCatalogue(test, schoolTree);
    const long = `?x=${'y'.repeat(8192)}`;
    const atMcp = await get(`${url}/mcp${long}`);
    assert.deepEqual([atMcp.status, atMcp.body.jsonrpc, typeof atMcp.body.error.message], [414, '2.0', 'string']);
    for (const path of ['/health', '/elsewhere']) {
      const { status, body } = await get(`${url}${path}${long}`);
      assert.equal(status, 414);
      assert.equal(typeof body.error, 'string');
    }
    const body = await post(`${url}/mcp`, 'x'.repeat(256 * 1024 + 1));
    assert.deepEqual([body.status, body.body.jsonrpc, typeof body.body.error.message], [413, '2.0', 'string']);
    const headers = await asked(url, 'GET /mcp', `X: ${'x'.repeat(17_000)}`);
    assert.deepEqual([headers.status, JSON.parse(headers.body).jsonrpc], [431, '2.0']);
  });

  it('is not read by who is not let in', async (test) => {
    const { url } = await serveCatalogue(test, { ...schoolTree, auth: { tokens: { n8n: token } } });
    assert.equal((await post(`${url}/mcp`, 'x'.repeat(256 * 1024 + 1))).status, 401);
  });
});
