// Manners of the protocol: what a client gets for what is wrong, and what hostile requests cost.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { before, describe, it, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { RunningServer } from '../../server/server.ts';
import { lifetime, type SkillFixture, schoolTree, serveCatalogue } from './support/gateway.ts';
import { call, post, type Reply } from './support/mcp.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes in use. */
function held(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const version = '2026-07-28';
const envelope = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const eras = ['modern', 'legacy'] as const;

describe('a client that asks wrongly', () => {
  const suite = lifetime();
  let server: RunningServer;
  before(async () => {
    const many: SkillFixture[] = Array.from({ length: 600 }, (_, number) => ({
      address: `many-${number}`,
      description: 'One.',
    }));
    server = await serveCatalogue(suite, {
      ...schoolTree,
      sources: [...schoolTree.sources, { name: 'many', skills: many }],
    });
  });

  const raw = async (body: string, headers: Record<string, string> = {}): Promise<Reply> =>
    await post(`${server.url}/mcp`, body, headers);

  it('is told of parameters that are missing or of the wrong type as such, in words', async () => {
    const wrong: [method: string, params: Record<string, unknown>, word: RegExp][] = [
      ['resources/read', {}, /uri/],
      ['resources/read', { uri: null }, /uri/],
      ['resources/list', { cursor: null }, /cursor/],
      ['tools/call', {}, /name/],
      ['tools/call', { name: 7 }, /name/],
      ['tools/call', { name: 'read_resource', arguments: null }, /arguments/],
      ['tools/call', { name: 'read_resource', arguments: [] }, /arguments/],
      ['prompts/get', {}, /name/],
      ['completion/complete', {}, /ref/],
      ['skills/list', { cursor: 1 }, /cursor/],
      ['skills/get', { uri: 1 }, /uri/],
      ['resources/directory/read', {}, /uri/],
    ];
    for (const era of eras) {
      for (const [method, params, word] of wrong) {
        const { status, body } = await call(server.url, method, params, { era });
        const said = `${era} ${method} ${JSON.stringify(params)}: ${JSON.stringify(body)}`;
        assert.equal(status, 200, said);
        assert.equal(body.error.code, -32602, said);
        assert.match(body.error.message, word, said);
        assert.doesNotMatch(body.error.message, /[[\]{}\n]/, said);
        assert.equal(body.id, 1, said);
      }
    }
  });

  it('is told so of a handshake without what belongs into it', async () => {
    for (const params of [
      '',
      ',"params":{}',
      ',"params":{"protocolVersion":7}',
      ',"params":{"protocolVersion":"2025-11-25"}',
    ]) {
      const { status, body } = await raw(`{"jsonrpc":"2.0","id":"h","method":"initialize"${params}}`);
      assert.deepEqual([status, body.error.code, body.id], [200, -32602, 'h'], params);
      assert.match(body.error.message, /^Invalid params for initialize: /);
      assert.doesNotMatch(body.error.message, /[[\]{}\n]/);
    }
  });

  it('gets 404 for a handshake in the new era, which has none', async () => {
    const params = {
      _meta: envelope,
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    };
    const { status, body } = await call(server.url, 'initialize', params);
    assert.deepEqual([status, body.error.code], [404, -32601]);
  });

  it('hears of what is not there as of wrong parameters, never with a code that the protocol gave up', async () => {
    for (const era of eras) {
      for (const [method, params] of [
        ['resources/read', { uri: 'skill://nobody/knows' }],
        ['skills/get', { uri: 'skill://nobody/knows/SKILL.md' }],
        ['resources/directory/read', { uri: 'skill://nobody' }],
        ['prompts/get', { name: 'nobody_knows' }],
        ['tools/call', { name: 'nobody_knows' }],
        ['resources/list', { cursor: 'bm9ib2R5' }],
        ['tools/list', { cursor: '' }],
      ] as const) {
        const { status, body } = await call(server.url, method, params, { era });
        assert.deepEqual([status, body.error.code], [200, -32602], `${era} ${method}`);
      }
      const failed = (
        await call(server.url, 'tools/call', { name: 'read_resource', arguments: { uri: 'skill://nobody' } }, { era })
      ).body;
      assert.equal(failed.result.isError, true);
      assert.ok(failed.result.content[0].text.length > 0);
    }
  });

  it('may leave Mcp-Name away where the protocol does not ask for it, and send it in base64 where it does', async () => {
    const uri = 'skill://flatsource/alpha';
    for (const method of ['skills/get', 'resources/directory/read']) {
      const params = { uri: method === 'skills/get' ? `${uri}/SKILL.md` : uri };
      assert.ok((await call(server.url, method, params)).body.result, method);
    }
    const encoded = { headers: { 'mcp-name': `=?base64?${Buffer.from(uri).toString('base64')}?=` } };
    assert.ok((await call(server.url, 'resources/read', { uri }, encoded)).body.result);
    const other = { headers: { 'mcp-name': `=?base64?${Buffer.from('skill://x').toString('base64')}?=` } };
    assert.equal((await call(server.url, 'resources/read', { uri }, other)).body.error.code, -32020);
  });

  it('is told on every page for how long, and by whom, it may be kept', async () => {
    let cursor: string | undefined;
    const told = new Set<string>();
    let pages = 0;
    do {
      const params = cursor === undefined ? {} : { cursor };
      const { result } = (await call(server.url, 'resources/list', params, { query: '?skills=full' })).body;
      assert.ok(Number.isInteger(result.ttlMs) && result.ttlMs >= 0);
      told.add(`${result.ttlMs} ${result.cacheScope}`);
      assert.notEqual(result.nextCursor, cursor);
      cursor = result.nextCursor;
      pages += 1;
    } while (cursor !== undefined);
    assert.ok(pages >= 3);
    assert.deepEqual([...told], ['60000 private']);
  });

  it('gets the id of its own request, however many are asked at once', async () => {
    const asked = Array.from({ length: 300 }, (_, number) => number);
    const replies = await Promise.all(
      asked.map(async (number) => {
        const era = eras[number % 2]!;
        const uri = `skill://many/many-${number % 50}`;
        const headers = {
          ...(era === 'modern'
            ? { 'mcp-protocol-version': version, 'mcp-method': 'resources/read', 'mcp-name': uri }
            : {}),
        };
        const params = era === 'modern' ? { uri, _meta: envelope } : { uri };
        return await raw(JSON.stringify({ jsonrpc: '2.0', id: number, method: 'resources/read', params }), headers);
      }),
    );
    for (const [number, { body }] of replies.entries()) {
      assert.equal(body.id, number);
      assert.match(body.result.contents[0].text, new RegExp(`Instructions of many-${number % 50}\\.`));
    }
  });

  it('gets an answer in JSON for a URL that is none', async () => {
    const { host } = new URL(server.url);
    for (const path of ['/%zz', '/mcp%', '/%c0%80']) {
      const [status, text] = await new Promise<[number, string]>((resolve, reject) => {
        const sent = httpRequest(
          { host: host.split(':')[0], port: host.split(':')[1], path, method: 'POST' },
          (response) => {
            let body = '';
            response.setEncoding('utf8').on('data', (part: string) => {
              body += part;
            });
            response.on('end', () => resolve([response.statusCode!, body]));
          },
        );
        sent.on('error', reject);
        sent.end();
      });
      assert.ok(status === 400 || status === 404, `${path}: ${status}`);
      assert.equal(typeof JSON.parse(text).error, 'string');
    }
  });
});

/** An answer whose head has come, and of which nothing is read. */
async function unreadAnswer(
  test: TestContext,
  { url }: RunningServer,
  method: string,
  params: Record<string, unknown>,
): Promise<IncomingMessage> {
  const sent = httpRequest(`${url}/mcp`, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json' },
  });
  sent.on('error', () => {});
  test.after(() => sent.destroy());
  sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response.on('error', () => {});
}

describe('hostile requests', () => {
  it('cost little time and no memory that stays', async (test) => {
    const server = await serveCatalogue(test, schoolTree);
    const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    const long = 'x'.repeat(250_000);
    const request = (method: string, params: string, id = '1') =>
      `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
    const meta = `"_meta":${JSON.stringify(envelope)}`;
    const bodies = [
      request('resources/read', `{"uri":"skill://${long}"}`),
      request('resources/read', `{${meta},"uri":"skill://flatsource/${'/'.repeat(240_000)}"}`),
      request('resources/list', `{"cursor":"${long}"}`),
      request('prompts/get', `{"name":"${long}"}`),
      request('tools/call', `{"name":"${long}"}`),
      request('tools/call', `{"name":"read_resource","arguments":{"uri":"${long}"}}`),
      request('skills/get', `{"uri":"skill://${long}"}`),
      request('resources/directory/read', `{"uri":"skill://${long}"}`),
      request(
        'completion/complete',
        `{"ref":{"type":"ref/prompt","name":"${long}"},"argument":{"name":"a","value":"${long.slice(0, 100)}"}}`,
      ),
      request('initialize', `{"protocolVersion":"${long}","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`),
      request('ping', '{}', `"${long}"`),
      request('ping', '{}', '9'.repeat(250_000)),
      request('resources/list', deep(100_000)),
      request('resources/list', `{"_meta":${deep(100_000)}}`),
      request('resources/list', `{"x":${deep(100_000)}}`),
      request('initialize', `{"capabilities":${deep(100_000)}}`),
      request('resources/list', `{${Array.from({ length: 20_000 }, (_, at) => `"k${at}":1`).join()}}`),
      request('resources/list', `{${'"__proto__":{"cursor":"x"},'.repeat(5000)}"a":1}`),
      request(long, '{}'),
      long,
      deep(120_000),
      `{"jsonrpc":"2.0","method":"notifications/${long}"}`,
      request(
        'subscriptions/listen',
        `{${meta},"notifications":{"resourceSubscriptions":[${'"skill://a",'.repeat(15_000)}"a"]}}`,
      ),
      'x'.repeat(1_000_000),
      request('resources/read', `{"uri":"skill://${'x'.repeat(1_000_000)}"}`),
    ];
    const send = async (body: string, modern: boolean): Promise<void> => {
      const method = /"method":"([a-z/]{1,40})"/.exec(body)?.[1] ?? 'ping';
      const headers: Record<string, string> = modern ? { 'mcp-protocol-version': version, 'mcp-method': method } : {};
      const response = await fetch(`${server.url}/mcp`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      });
      assert.ok(response.status < 500 || response.status === 503, `${response.status} for ${body.slice(0, 100)}`);
      if (response.headers.get('content-type') === 'text/event-stream') await response.body!.cancel();
      else assert.ok((await response.text()).length < 600_000);
    };
    const everything = async (): Promise<void> => {
      for (const body of bodies) for (const modern of [true, false]) await send(body, modern);
    };
    await everything();
    const before = held();
    const began = process.cpuUsage();
    for (let round = 0; round < 2; round++) await everything();
    const { user, system } = process.cpuUsage(began);
    const each = (user + system) / 1000 / (2 * 2 * bodies.length);
    assert.ok(each < 25, `${each} ms of processor time a request`);
    const grown = (held() - before) / 2 ** 20;
    assert.ok(grown < 48, `${grown} MiB more`);
    assert.equal((await call(server.url, 'resources/list')).status, 200);
  });

  it('for the largest files wait for each other, so that few are in memory at once, and hold up nobody else', async (test) => {
    const text = Buffer.alloc(4 * 2 ** 20 - 1024, 'large text with "quotes"\n').toString();
    const files = Object.fromEntries([1, 2, 3, 4, 5].map((number) => [`file-${number}.md`, `${number}${text}`]));
    const server = await serveCatalogue(test, { sources: [{ name: 'large', skills: [{ address: 'heavy', files }] }] });
    const ask = (number: number) =>
      unreadAnswer(test, server, 'resources/read', { uri: `skill://large/heavy/file-${number}.md` });
    // Whoever has an answer and does not read it keeps it in the server's memory.
    const unread = [await ask(1), await ask(2), await ask(3), await ask(4)];
    let answered = false;
    const fifth = ask(5).then((response) => {
      answered = true;
      return response;
    });
    for (let time = 0; time < 20; time++) assert.equal((await call(server.url, 'resources/list')).status, 200);
    assert.equal(answered, false);
    unread[2]!.destroy();
    let bytes = 0;
    for await (const part of await fifth) bytes += (part as Buffer).length;
    assert.ok(bytes > text.length);
  });

  it('for installs and long lists wait as well', async (test) => {
    const file = Buffer.alloc(4 * 2 ** 20 - 1024, 'large text with "quotes"\n').toString();
    const many = Array.from({ length: 300 }, (_, at) => ({ address: `s${at}`, description: 'x'.repeat(1000) }));
    const skills = [{ address: 'heavy', files: { 'file.md': file } }, ...many];
    const server = await serveCatalogue(test, { sources: [{ name: 'large', skills }] });
    const ask = (name: string, args = {}) => unreadAnswer(test, server, 'tools/call', { name, arguments: args });
    const install = () => ask('install_skill', { skill: 'heavy' });
    const unread = [await install(), await install(), await install(), await install()];
    let answered = 0;
    const waiting = [install(), ask('list_skills')].map((one) =>
      one.then((response) => {
        answered += 1;
        return response;
      }),
    );
    for (let time = 0; time < 20; time++) assert.equal((await call(server.url, 'resources/list')).status, 200);
    assert.equal(answered, 0);
    for (const response of unread) response.destroy();
    for (const one of waiting) assert.equal((await one).statusCode, 200);
  });
});
