// Prompts over HTTP: the list, one of them rendered, and what a scope lets through. P and T are mcp-school's cases.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { RunningServer } from '../../server/server.ts';
import {
  type CatalogueFixture,
  GatewayFixture,
  lifetime,
  schoolTree,
  serve,
  serveCatalogue,
  until,
} from './support/gateway.ts';
import { type CallOptions, call, listUris } from './support/mcp.ts';

const tree: CatalogueFixture = {
  sources: [
    ...schoolTree.sources,
    {
      name: 'promptsonly',
      tags: ['ops'],
      prompts: [
        { address: 'explain', text: 'Explain.\n' },
        { address: 'ask-me.v2', title: 'Ask me', text: 'Ask.' },
      ],
    },
    {
      name: 'late',
      library: 'flatsource',
      tags: ['ops'],
      prompts: [{ address: 'hello', description: 'Another hello.', text: 'Another hello\n' }],
      moves: [{ kind: 'prompt', from: 'hello', to: 'late--prompts-hello_hello' }],
    },
    { name: 'twin-a', skills: [{ address: 'one', group: 'shared-group' }], prompts: [{ address: 'p', text: 'a' }] },
    { name: 'twin-b', skills: [{ address: 'two', group: 'shared-group' }], prompts: [{ address: 'p', text: 'b' }] },
  ],
};

describe('prompts', () => {
  const suite = lifetime();
  let server: RunningServer;
  before(async () => {
    server = await serveCatalogue(suite, tree);
  });
  const list = async (options: CallOptions = {}) => (await call(server.url, 'prompts/list', {}, options)).body.result;
  const names = async (query = '') => (await list({ query })).prompts.map(({ name }: { name: string }) => name);
  const get = async (name: string, args?: unknown, options: CallOptions = {}) =>
    (await call(server.url, 'prompts/get', { name, ...(args === undefined ? {} : { arguments: args }) }, options)).body;

  it('are named <library>_<stem> and sorted (P1)', async () => {
    assert.deepEqual(await names(), [
      'deepsource_check',
      'flatsource_hello',
      'flatsource_late--prompts-hello_hello',
      'promptsonly_ask-me.v2',
      'promptsonly_explain',
      'twin-a_p',
      'twin-b_p',
    ]);
  });

  it('show a client description, argument names and required flags (P10)', async () => {
    const { prompts } = await list();
    assert.deepEqual(prompts[1], {
      name: 'flatsource_hello',
      description: 'Greet somebody.',
      arguments: [
        { name: 'who', description: 'Whom to greet.', required: true },
        { name: 'greeting', required: false },
      ],
    });
    assert.deepEqual(prompts[3], { name: 'promptsonly_ask-me.v2', title: 'Ask me', arguments: [] });
  });

  it('are the same in both eras, which alone tells how long they may be kept', async () => {
    const modern = await list();
    const legacy = await list({ era: 'legacy' });
    assert.deepEqual(legacy.prompts, modern.prompts);
    assert.equal(modern.cacheScope, 'private');
    assert.equal(modern.ttlMs, 60_000);
    assert.deepEqual(Object.keys(legacy), ['prompts']);
  });

  it('are one message of the user, with the arguments filled in (P11)', async () => {
    for (const era of ['modern', 'legacy'] as const) {
      const { result } = await get('flatsource_hello', { who: 'Ada', greeting: '' }, { era });
      assert.equal(result.description, 'Greet somebody.');
      assert.deepEqual(result.messages, [{ role: 'user', content: { type: 'text', text: 'Hello, Ada!\n' } }]);
      assert.equal(result.ttlMs, undefined);
    }
    assert.equal((await get('promptsonly_explain')).result.messages[0].content.text, 'Explain.\n');
  });

  it('keep braces that are no placeholders (P13)', async () => {
    const { result } = await get('deepsource_check', { app: 'api' });
    const text = 'Run {app="api"} |= `error` | json { line_format "{{.msg}}" }\n';
    assert.equal(result.messages[0].content.text, text);
  });

  it('name the required arguments that are missing (P12)', async () => {
    for (const args of [undefined, {}, { who: '' }, { greeting: 'Hi' }]) {
      const { error } = await get('flatsource_hello', args);
      assert.equal(error.code, -32602);
      assert.match(error.message, /Missing required arguments: who/);
    }
  });

  it('pass over arguments that they have not', async () => {
    const { result } = await get('flatsource_hello', { who: 'Ada', sessionId: 'x' });
    assert.equal(result.messages[0].content.text, 'Hello, Ada!\n');
  });

  it('refuse arguments that are no texts', async () => {
    for (const args of [{ who: { name: 'Ada' } }, ['Ada'], 7]) {
      assert.equal((await get('flatsource_hello', args)).error.code, -32602, JSON.stringify(args));
    }
  });

  it('stay callable where two sources want one name, the later one under its own', async () => {
    assert.equal((await get('flatsource_hello', { who: 'Ada' })).result.messages[0].content.text, 'Hello, Ada!\n');
    const { result } = await get('flatsource_late--prompts-hello_hello');
    assert.equal(result.messages[0].content.text, 'Another hello\n');
    assert.equal(result.description, 'Another hello.');
  });

  it('that are unknown are an error that names them', async () => {
    for (const name of [
      '',
      'nowhere',
      'nowhere_hello',
      'flatsource_nothing',
      'flatsource',
      '_hello',
      'flatsource/hello',
      '__proto__',
    ]) {
      const { error } = await get(name, {}, { era: 'legacy' });
      assert.equal(error.code, -32602, name);
      assert.match(error.message, /not found/);
      assert.ok(error.message.includes(name));
    }
    assert.ok(JSON.stringify(await get('x'.repeat(5000), {}, { era: 'legacy' })).length < 1000);
  });

  it('are those of the library in scope (P2, T6, T30)', async () => {
    assert.deepEqual(await names('?library=deepsource'), ['deepsource_check']);
    assert.deepEqual(await names('?library=flatsource'), ['flatsource_hello', 'flatsource_late--prompts-hello_hello']);
    assert.notEqual((await get('flatsource_hello', { who: 'x' }, { query: '?library=flatsource' })).result, undefined);
  });

  it('outside the scope look as unknown ones do, to the byte (P14)', async () => {
    for (const era of ['modern', 'legacy'] as const) {
      const options = { era, query: '?library=deepsource' };
      const one = await get('flatsource_hello', { who: 'Ada' }, options);
      const other = await get('flatsource_holla', { who: 'Ada' }, options);
      assert.equal(JSON.stringify(one).replace('hello', '*'), JSON.stringify(other).replace('holla', '*'));
      assert.equal(one.error.code, -32602);
    }
    assert.deepEqual(await names('?library=nowhere'), []);
  });

  it('make a library selectable that has nothing else, and has no row in the listing (T7)', async () => {
    assert.deepEqual(await names('?library=promptsonly'), ['promptsonly_ask-me.v2', 'promptsonly_explain']);
    assert.deepEqual(await listUris(server.url, { query: '?library=promptsonly' }), []);
    assert.ok(!(await listUris(server.url)).includes('skill://promptsonly'));
    const { body } = await call(server.url, 'resources/read', { uri: 'skill://promptsonly' });
    assert.equal(body.error.code, -32602);
  });

  it('are chosen by tag across libraries, any of several, and within one (T8, T9, T10)', async () => {
    assert.deepEqual(await names('?tags=ops'), [
      'flatsource_late--prompts-hello_hello',
      'promptsonly_ask-me.v2',
      'promptsonly_explain',
    ]);
    assert.deepEqual(await names('?tags=deepsource,twin-a'), ['deepsource_check', 'twin-a_p']);
    assert.deepEqual(await names('?library=flatsource&tags=ops'), ['flatsource_late--prompts-hello_hello']);
    assert.deepEqual(await names('?tags=nothing'), []);
  });

  it('have the word `prompt` as a tag, and skills have not', async () => {
    assert.equal((await names('?tags=prompt')).length, 7);
    assert.deepEqual(await names('?tags=skill'), []);
    assert.deepEqual(await listUris(server.url, { query: '?tags=prompt' }), []);
    assert.deepEqual(await names('?library=plugin-a&tags=prompt'), ['deepsource_check']);
  });

  it('are reached by a group with its library, and by one in two libraries with both (T15, T31)', async () => {
    assert.deepEqual(await names('?library=plugin-a'), ['deepsource_check']);
    assert.deepEqual(await names('?library=shared-group'), ['twin-a_p', 'twin-b_p']);
    assert.deepEqual(await names('?library=shared-group&tags=twin-b'), ['twin-b_p']);
  });

  it('take the scope from the header before the URL (T11)', async () => {
    const { prompts } = await list({ query: '?library=deepsource', headers: { 'X-Skill-Library': 'twin-a' } });
    assert.deepEqual(
      prompts.map(({ name }: { name: string }) => name),
      ['twin-a_p'],
    );
  });
});

describe("a gateway's ceiling", () => {
  it('holds for prompts, whatever a request asks for', async (test) => {
    const { url } = await serveCatalogue(test, {
      ...tree,
      scope: { library: 'flatsource', tags: ['flatsource', 'ops'] },
    });
    const narrow = await serveCatalogue(test, { ...tree, scope: { library: 'flatsource', tags: ['ops'] } });
    const count = async (at: string, query: string) =>
      (await call(at, 'prompts/list', {}, { query })).body.result.prompts.length;
    assert.equal(await count(url, ''), 2);
    for (const query of ['', '?tags=prompt', '?tags=flatsource', '?library=flatsource']) {
      assert.equal(await count(narrow.url, query), 1, query);
      const { body } = await call(
        narrow.url,
        'prompts/get',
        { name: 'flatsource_hello', arguments: { who: 'x' } },
        { query },
      );
      assert.equal(body.error?.code, -32602, query);
    }
    for (const query of ['?library=deepsource', '?library=shared-group', '?library=plugin-a']) {
      assert.equal(await count(narrow.url, query), 0, query);
    }
  });
});

describe('pages of prompts', () => {
  const prompts = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => ({ address: `p${1000 + from + at}`, text: 'x' }));

  it('have 250 rows, and go on behind the last one whatever catalogue is served by then', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish({ sources: [{ name: 'many', prompts: prompts(0, 300) }] });
    const { url } = await serve(test, gateway);
    const first = (await call(url, 'prompts/list')).body.result;
    assert.equal(first.prompts.length, 250);
    const second = (await call(url, 'prompts/list', { cursor: first.nextCursor })).body.result;
    assert.equal(second.prompts.length, 50);
    assert.equal(second.nextCursor, undefined);
    assert.equal(second.prompts[0].name, 'many_p1250');
    await gateway.publish({ sources: [{ name: 'many', prompts: prompts(240, 260) }] });
    await until(
      'the new one is served',
      async () => (await call(url, 'prompts/list')).body.result.prompts.length === 20,
    );
    const after = (await call(url, 'prompts/list', { cursor: first.nextCursor })).body.result;
    assert.equal(after.prompts[0].name, 'many_p1250');
    assert.equal(after.prompts.length, 10);
  });

  it('take no cursor that is empty, made up, or of another list', async (test) => {
    const { url } = await serveCatalogue(test, schoolTree);
    const foreign = Buffer.from('d\0flatsource\x000').toString('base64url');
    for (const cursor of ['', 'x', '!!!', foreign]) {
      for (const era of ['modern', 'legacy'] as const) {
        assert.equal((await call(url, 'prompts/list', { cursor }, { era })).body.error?.code, -32602, cursor);
      }
    }
  });

  it('are sorted by name over libraries whose names begin alike', async (test) => {
    const { url } = await serveCatalogue(test, {
      sources: ['a', 'a-b', 'a0'].map((name) => ({ name, prompts: [{ address: 'x', text: 'x' }] })),
    });
    const { prompts: rows } = (await call(url, 'prompts/list')).body.result;
    const found = rows.map(({ name }: { name: string }) => name);
    assert.deepEqual(found, ['a-b_x', 'a0_x', 'a_x']);
    assert.deepEqual(found, found.toSorted());
  });
});

describe('what stands behind the frontmatter', () => {
  it('is the prompt, byte for byte (P7, P9)', async (test) => {
    const bodies: Record<string, [whole: string, text: string]> = {
      alike: ['---\ndescription: Say it.\n---\nSay it.\n', 'Say it.\n'],
      ruled: ['---\ndescription: x\n---\n---\nA rule first.\n---\n', '---\nA rule first.\n---\n'],
      windows: ['\ufeff---\r\ndescription: x\r\n---\r\n\r\nText.\r\n\r\n', '\r\nText.\r\n\r\n'],
      bare: ['# Title\n\nNo frontmatter.\n', '# Title\n\nNo frontmatter.\n'],
      empty: ['---\ndescription: x\n---\n', ''],
    };
    const prompts = Object.entries(bodies).map(([address, [whole]]) => ({ address, text: '', whole }));
    const { url } = await serveCatalogue(test, { sources: [{ name: 'lib', prompts }] });
    for (const [address, [, text]] of Object.entries(bodies)) {
      const { body } = await call(url, 'prompts/get', { name: `lib_${address}` });
      assert.equal(body.result.messages[0].content.text, text, address);
    }
  });
});
