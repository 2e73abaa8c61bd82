// The way n8n goes: the SDK that it is built on, with tools alone, a bearer token, and arguments of its own.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { Client } from 'n8n-sdk/client/index.js';
import { StreamableHTTPClientTransport } from 'n8n-sdk/client/streamableHttp.js';
import { lifetime } from '../server/support/gateway.ts';
import { aside, type Gateways, startLyceum, tokens } from './support/lyceum.ts';

interface Seen {
  request: string;
  status: number;
}

/** What n8n adds to the arguments of every tool. */
const added = { toolCallId: 'call_1', sessionId: 'chat-1', action: 'sendMessage' };

describe('n8n', () => {
  const suite = lifetime();
  let gateways: Gateways;
  before(async () => {
    gateways = await startLyceum(suite);
  });

  /** A connection as n8n makes one for every turn of a model, which lists the tools first. */
  async function turn<Result>(work: (client: Client) => Promise<Result>, token = tokens.all, seen: Seen[] = []) {
    const url = new URL(`${gateways.closed}?resources=off&prompts=off`);
    const client = new Client({ name: '@n8n/n8n-nodes-langchain.mcpClientTool', version: '1' }, { capabilities: {} });
    const transport = new StreamableHTTPClientTransport(url, {
      requestInit: { headers: { Authorization: `Bearer ${token}` } },
      fetch: async (to, init) => {
        const response = await fetch(to, init);
        const { method } = JSON.parse(String(init?.body ?? '{}')) as { method?: string };
        seen.push({ request: [init?.method, method].join(' ').trim(), status: response.status });
        assert.equal(String(to), url.href, 'the query stays on every request');
        return response;
      },
    });
    await client.connect(transport);
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  }

  const call = async (client: Client, name: string, args: Record<string, unknown>) => {
    const { content, isError } = await client.callTool({ name, arguments: { ...args, ...added } });
    const texts = (content as { type: string; text: string }[]).map(({ type, text }) =>
      type === 'text' ? text : type,
    );
    return { texts, isError: isError ?? false };
  };

  it('connects with a handshake, is told at once that there is no stream, and sees all tools on one page', async () => {
    const seen: Seen[] = [];
    const { tools, nextCursor } = await turn((client) => client.listTools(), tokens.all, seen);
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['list_resources', 'read_resource', 'list_prompts', 'get_prompt'],
    );
    assert.equal(nextCursor, undefined);
    assert.deepEqual(
      seen.toSorted((a, b) => (a.request < b.request ? -1 : 1)),
      [
        { request: 'GET', status: 405 },
        { request: 'POST initialize', status: 200 },
        { request: 'POST notifications/initialized', status: 202 },
        { request: 'POST tools/list', status: 200 },
      ],
    );
  });

  it('gets schemas that its forms and its model can show', async () => {
    const { tools } = await turn((client) => client.listTools());
    for (const { name, description, inputSchema, outputSchema } of tools) {
      assert.match(name, /^[a-z_]{1,40}$/);
      assert.ok(description);
      assert.equal(outputSchema, undefined);
      assert.equal(inputSchema.type, 'object');
      assert.equal((inputSchema as Record<string, unknown>).additionalProperties, undefined);
      assert.doesNotMatch(
        JSON.stringify(inputSchema),
        /"(anyOf|oneOf|allOf|\$ref|if)"|"type":\[|:(true|false|null)[,}]/,
      );
    }
  });

  it('lists, then reads an index, a skill and one of its files', async () => {
    await turn(async (client) => {
      await client.listTools();
      const listed = await call(client, 'list_resources', {});
      const uris = (JSON.parse(listed.texts[0]!) as { uri: string }[]).map(({ uri }) => uri);
      assert.ok(uris.includes('skill://atlas') && uris.includes('skill://grafana'), uris.join(' '));
      const index = await call(client, 'read_resource', { uri: 'skill://atlas' });
      assert.match(index.texts[0]!, /^skill:\/\/atlas\/aside: /m);
      const skill = await call(client, 'read_resource', { uri: 'skill://atlas/aside' });
      assert.deepEqual(skill, { texts: [aside['SKILL.md']], isError: false });
      const file = await call(client, 'read_resource', { uri: 'skill://atlas/aside/references/deep/first.md' });
      assert.deepEqual(file, { texts: [aside['references/deep/first.md']], isError: false });
    });
  });

  it('is told of a binary file and given a link, never its bytes', async () => {
    const { texts } = await turn((client) =>
      call(client, 'read_resource', { uri: 'skill://atlas/awkward/assets/logo.png' }),
    );
    assert.equal(texts.length, 2);
    assert.match(texts[0]!, /image\/png.*8 bytes.*sha256:6cb562ed/s);
    assert.equal(texts[1], 'resource_link');
  });

  it('lists and renders prompts, whose arguments come as an object or as one text of JSON', async () => {
    await turn(async (client) => {
      const { texts } = await call(client, 'list_prompts', {});
      const names = (JSON.parse(texts[0]!) as { name: string }[]).map(({ name }) => name);
      assert.deepEqual(names, ['atlas_fix', 'atlas_greet', 'atlas_tell']);
      for (const args of [{ who: 'Ada' }, '{"who": "Ada"}']) {
        const prompt = await call(client, 'get_prompt', { name: 'atlas_greet', arguments: args });
        assert.deepEqual(JSON.parse(prompt.texts[0]!).messages, [
          { role: 'user', content: { type: 'text', text: 'Hello, Ada!\n' } },
        ]);
      }
    });
  });

  it('is told what failed in a sentence that the model sees, with status 200', async () => {
    const seen: Seen[] = [];
    await turn(
      async (client) => {
        for (const uri of ['skill://nowhere', 'skill://atlas/aside/none.md']) {
          const { texts, isError } = await call(client, 'read_resource', { uri });
          assert.equal(isError, true);
          assert.ok(texts[0]!.startsWith(`No resource at '${uri}'. `), texts[0]);
        }
      },
      tokens.all,
      seen,
    );
    assert.ok(seen.filter(({ request }) => request === 'POST tools/call').every(({ status }) => status === 200));
  });

  it('sees what its token lets it see, and nothing without one', async () => {
    await turn(async (client) => {
      const { texts } = await call(client, 'list_resources', {});
      assert.deepEqual(
        (JSON.parse(texts[0]!) as { uri: string }[]).map(({ uri }) => uri),
        ['skill://grafana'],
      );
      const { isError } = await call(client, 'read_resource', { uri: 'skill://atlas/aside' });
      assert.equal(isError, true);
    }, tokens.n8n);
    await assert.rejects(
      turn((client) => client.listTools(), 'a-token-of-nobody'),
      /This gateway asks for a bearer token/,
    );
  });
});
