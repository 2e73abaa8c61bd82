// The tools: resources and prompts for clients that speak only tools. P, T and V are mcp-school's cases.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { digestOf } from '../../catalogue/digest.ts';
import type { RunningServer } from '../../server/server.ts';
import { lifetime, schoolTree, serveCatalogue } from './support/gateway.ts';
import { call, callTool, listRows, readText } from './support/mcp.ts';

const logo = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]);

describe('the mirror tools', () => {
  const suite = lifetime();
  let server: RunningServer;
  const toolNames = async (query: string, headers: Record<string, string> = {}): Promise<string[]> =>
    (await call(server.url, 'tools/list', {}, { query, headers })).body.result.tools.map(
      ({ name }: { name: string }) => name,
    );

  before(async () => {
    server = await serveCatalogue(suite, {
      sources: [
        ...schoolTree.sources,
        { name: 'pictures', skills: [{ address: 'draw', files: { 'the logo.png': logo, 'empty.txt': '' } }] },
      ],
    });
  });

  it('are hidden from clients that have resources', async () => {
    assert.deepEqual(await toolNames(''), []);
    assert.deepEqual(await toolNames('?resources=on'), []);
    assert.deepEqual(await toolNames('?resources=maybe'), []);
    assert.deepEqual(await toolNames('?resources='), []);
  });

  it('are shown to a client that says it has none, in any of the off-words, by URL or header', async () => {
    for (const word of ['off', 'OFF', 'false', '0', 'no', 'None']) {
      assert.deepEqual(await toolNames(`?resources=${word}`), ['list_resources', 'read_resource'], word);
    }
    assert.deepEqual(await toolNames('', { 'X-MCP-Resources': 'off' }), ['list_resources', 'read_resource']);
    assert.deepEqual(await toolNames('?resources=off', { 'X-MCP-Resources': 'on' }), []);
  });

  it('are two for prompts, shown likewise, and four with both (T1, T2, T3)', async () => {
    assert.deepEqual(await toolNames('?prompts=on'), []);
    assert.deepEqual(await toolNames('?prompts=off'), ['list_prompts', 'get_prompt']);
    assert.deepEqual(await toolNames('', { 'X-MCP-Prompts': 'None' }), ['list_prompts', 'get_prompt']);
    assert.deepEqual(await toolNames('?prompts=off', { 'X-MCP-Prompts': 'on' }), []);
    const all = ['list_resources', 'read_resource', 'list_prompts', 'get_prompt'];
    assert.deepEqual(await toolNames('?resources=off&prompts=off'), all);
    assert.deepEqual(await toolNames('?resources=0', { 'X-MCP-Prompts': 'no' }), all);
  });

  it('are callable while they are hidden', async () => {
    const { body } = await callTool(server.url, 'read_resource', { uri: 'skill://flatsource/alpha' });
    assert.match(body.result.content[0].text, /Instructions of alpha/);
  });

  it('have schemas and names that every client takes', async () => {
    for (const query of ['?resources=off&prompts=off', '?resources=off&prompts=off&skills=full']) {
      const { tools } = (await call(server.url, 'tools/list', {}, { query })).body.result;
      for (const tool of tools) {
        assert.match(tool.name, /^[a-z_]{1,40}$/);
        assert.equal(tool.inputSchema.type, 'object');
        for (const key of Object.keys(tool.inputSchema))
          assert.ok(['type', 'properties', 'required'].includes(key), key);
        for (const property of Object.values(tool.inputSchema.properties)) {
          const { type, additionalProperties } = property as { type: string; additionalProperties?: unknown };
          assert.ok(type === 'string' || type === 'object', type);
          assert.deepEqual(additionalProperties, type === 'object' ? { type: 'string' } : undefined);
        }
        assert.equal(tool.outputSchema, undefined);
        assert.deepEqual(
          { ...tool.annotations, title: undefined },
          { title: undefined, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
        );
      }
      assert.deepEqual(
        tools.map(({ title }: { title: string }) => title),
        ['List skill resources', 'Read a skill resource', 'List prompts', 'Get a prompt'],
      );
    }
  });

  it('list the rows and read the bodies that resources have', async () => {
    const list = (await callTool(server.url, 'list_resources')).body.result;
    assert.equal(list.content.length, 1);
    assert.equal(list.structuredContent, undefined);
    assert.deepEqual(JSON.parse(list.content[0].text), await listRows(server.url));
    for (const uri of ['skill://deepsource', 'skill://deepsource/gamma/', 'skill://deepsource/gamma/_manifest']) {
      const { content } = (await callTool(server.url, 'read_resource', { uri })).body.result;
      assert.deepEqual(content, [{ type: 'text', text: await readText(server.url, uri) }]);
    }
  });

  it('list in pages under ?skills=full, with the next cursor in a second text', async (test) => {
    const { url } = await serveCatalogue(test, {
      sources: [{ name: 'many', skills: Array.from({ length: 300 }, (_, at) => ({ address: `s${1000 + at}` })) }],
    });
    const query = '?resources=off&skills=full';
    const first = (await callTool(url, 'list_resources', {}, { query })).body.result;
    assert.equal(JSON.parse(first.content[0].text).length, 250);
    const { nextCursor } = JSON.parse(first.content[1].text);
    const second = (await callTool(url, 'list_resources', { cursor: nextCursor }, { query })).body.result;
    assert.equal(JSON.parse(second.content[0].text).length, 51);
    assert.equal(second.content.length, 1);
    for (const cursor of ['', 'junk', 7]) {
      const { result } = (await callTool(url, 'list_resources', { cursor }, { query })).body;
      assert.equal(result.isError, true, String(cursor));
    }
    const whole = (await callTool(url, 'list_resources', { cursor: 'junk' })).body.result;
    assert.equal(whole.isError, undefined, 'the default listing has no pages, and takes no cursor');
  });

  it('describe and link a binary file, and never put base64 into a prompt', async () => {
    const { result } = (await callTool(server.url, 'read_resource', { uri: 'skill://pictures/draw/the logo.png' }))
      .body;
    const [text, link, ...more] = result.content;
    assert.deepEqual(more, []);
    for (const fact of ['image/png', '6 bytes', digestOf(Buffer.from(logo))]) assert.ok(text.text.includes(fact), fact);
    assert.deepEqual(link, {
      type: 'resource_link',
      uri: 'skill://pictures/draw/the%20logo.png',
      name: 'the logo.png',
      mimeType: 'image/png',
      size: 6,
    });
    assert.doesNotMatch(JSON.stringify(result), new RegExp(Buffer.from(logo).toString('base64')));
  });

  it('answer a failure as an error in HTTP 200, in a sentence that says what to do', async () => {
    for (const args of [{ uri: 'skill://nowhere' }, {}, { uri: '' }, { uri: 7 }, { uri: ['skill://flatsource'] }]) {
      for (const era of ['modern', 'legacy'] as const) {
        const { status, body } = await callTool(server.url, 'read_resource', args as Record<string, unknown>, { era });
        assert.equal(status, 200);
        assert.equal(body.result.isError, true);
        assert.match(body.result.content[0].text, /list_resources/);
      }
    }
  });

  it('pass over arguments that they do not know', async () => {
    const extra = { uri: 'skill://flatsource/alpha', toolCallId: 'call_1', sessionId: 'x' };
    assert.equal((await callTool(server.url, 'read_resource', extra)).body.result.isError, undefined);
    assert.equal((await callTool(server.url, 'list_resources', { toolCallId: 'x' })).body.result.isError, undefined);
  });

  it('give the text of an empty file, not an answer without content', async () => {
    const { result } = (await callTool(server.url, 'read_resource', { uri: 'skill://pictures/draw/empty.txt' })).body;
    assert.deepEqual(result.content, [{ type: 'text', text: '' }]);
  });

  it('are the only tools', async () => {
    const { status, body } = await callTool(server.url, 'drop_tables');
    assert.equal(status, 200);
    assert.equal(body.error.code, -32602);
    assert.match(
      body.error.message,
      /list_resources, read_resource, list_prompts, get_prompt, list_skills, .*versions/,
    );
  });
});

describe('the tools for prompts', () => {
  const suite = lifetime();
  let server: RunningServer;
  before(async () => {
    server = await serveCatalogue(suite, schoolTree);
  });
  const answer = async (name: string, args: Record<string, unknown> = {}, query = '?prompts=off') => {
    const { status, body } = await callTool(server.url, name, args, { query });
    assert.equal(status, 200);
    assert.equal(body.result.structuredContent, undefined);
    return body.result;
  };
  const text = async (args: Record<string, unknown>): Promise<string> =>
    JSON.parse((await answer('get_prompt', args)).content[0].text).messages[0].content.text;

  it('list what prompts/list has, as a JSON array (T4)', async () => {
    const { content } = await answer('list_prompts');
    assert.equal(content.length, 1);
    assert.deepEqual(JSON.parse(content[0].text), (await call(server.url, 'prompts/list')).body.result.prompts);
    assert.deepEqual(JSON.parse(content[0].text)[1].arguments[0], {
      name: 'who',
      description: 'Whom to greet.',
      required: true,
    });
  });

  it('get what prompts/get has, as JSON (T5)', async () => {
    const { content } = await answer('get_prompt', { name: 'flatsource_hello', arguments: { who: 'Ada' } });
    assert.deepEqual(JSON.parse(content[0].text), {
      description: 'Greet somebody.',
      messages: [{ role: 'user', content: { type: 'text', text: 'Hello, Ada!\n' } }],
    });
  });

  it('take arguments that are texts, numbers, booleans, or all of them in one text', async () => {
    const name = 'flatsource_hello';
    assert.equal(await text({ name, arguments: { who: 7, greeting: true } }), 'true, 7!\n');
    assert.equal(await text({ name, arguments: '{"who":"Ada"}' }), 'Hello, Ada!\n');
    assert.equal(await text({ name, arguments: { who: 'Ada', toolCallId: 'x' }, sessionId: 'y' }), 'Hello, Ada!\n');
    assert.equal(await text({ name: 'deepsource_check', arguments: '' }), await text({ name: 'deepsource_check' }));
  });

  it('answer a failure as an error in HTTP 200, in a sentence that names the prompt or what is missing', async () => {
    for (const [args, words] of [
      [{}, /needs `name`/],
      [{ name: 7 }, /needs `name`/],
      [{ name: 'flatsource_nothing' }, /No prompt 'flatsource_nothing'.*list_prompts/],
      [{ name: 'flatsource_hello' }, /Missing required arguments: who.*list_prompts/],
      [{ name: 'flatsource_hello', arguments: { who: '' } }, /Missing required arguments: who/],
      [{ name: 'flatsource_hello', arguments: 'Ada' }, /no JSON/],
      [{ name: 'flatsource_hello', arguments: ['Ada'] }, /an object/],
      [{ name: 'flatsource_hello', arguments: { who: {} } }, /'who' must be a text/],
    ] as const) {
      const { isError, content } = await answer('get_prompt', args);
      assert.equal(isError, true, JSON.stringify(args));
      assert.match(content[0].text, words);
    }
  });

  it('are held to the scope (T12, T29)', async () => {
    const query = '?prompts=off&library=deepsource';
    const { content } = await answer('list_prompts', {}, query);
    assert.deepEqual(
      JSON.parse(content[0].text).map(({ name }: { name: string }) => name),
      ['deepsource_check'],
    );
    const one = await answer('get_prompt', { name: 'flatsource_hello', arguments: { who: 'x' } }, query);
    const other = await answer('get_prompt', { name: 'flatsource_holla', arguments: { who: 'x' } }, query);
    assert.equal(one.isError, true);
    assert.equal(JSON.stringify(one).replace('hello', '*'), JSON.stringify(other).replace('holla', '*'));
    assert.equal((await answer('list_prompts', {}, '?library=nowhere')).content[0].text, '[]');
  });

  it('list in pages, with the next cursor in a second text', async (test) => {
    const prompts = Array.from({ length: 300 }, (_, at) => ({ address: `p${1000 + at}`, text: 'x' }));
    const { url } = await serveCatalogue(test, { sources: [{ name: 'many', prompts }] });
    const first = (await callTool(url, 'list_prompts')).body.result;
    assert.equal(JSON.parse(first.content[0].text).length, 250);
    const { nextCursor } = JSON.parse(first.content[1].text);
    const second = (await callTool(url, 'list_prompts', { cursor: nextCursor })).body.result;
    assert.equal(JSON.parse(second.content[0].text).length, 50);
    assert.equal(second.content.length, 1);
    for (const cursor of ['', 'junk', 7]) {
      assert.equal((await callTool(url, 'list_prompts', { cursor })).body.result.isError, true, String(cursor));
    }
  });

  it('read rules and profiles like everything else', async (test) => {
    const { url } = await serveCatalogue(test, { sources: [{ name: 'lib', rules: [{ address: 'style' }] }] });
    const rows = JSON.parse((await callTool(url, 'list_resources')).body.result.content[0].text);
    assert.deepEqual(
      rows.map(({ uri }: { uri: string }) => uri),
      ['skill://lib/_rules'],
    );
    const rule = await callTool(url, 'read_resource', { uri: 'skill://lib/_rules/style' });
    assert.match(rule.body.result.content[0].text, /The rule style/);
  });
});
