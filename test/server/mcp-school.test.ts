// What mcp-school promises its users and no other file here tests; the letters are those of docs/mcp-school.md.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { listPage } from '../../server/answers/listing.ts';
import { promptPage } from '../../server/answers/prompts.ts';
import { contentsOf, resolve } from '../../server/answers/read.ts';
import { skillsPage } from '../../server/answers/skills.ts';
import type { RunningServer } from '../../server/server.ts';
import { visible } from '../../server/view.ts';
import { eventually } from '../fixtures/eventually.ts';
import { skillText } from '../fixtures/operator.ts';
import { GatewayFixture, lifetime, schoolTree, serveCatalogue, watchOf } from './support/gateway.ts';
import { serveHarvested } from './support/harvested.ts';
import { call, callTool, get, listRows, listUris, readText } from './support/mcp.ts';

describe('an agent that finds its way', () => {
  const suite = lifetime();
  let server: RunningServer;
  before(async () => {
    server = await serveCatalogue(suite, schoolTree);
  });
  const uriIn = (text: string, ending: RegExp): string =>
    text.match(/skill:\/\/[^\s:]+/g)!.find((uri) => ending.test(uri))!;

  it('goes from the listing to an index, a skill, its manifest and a file (V1, V2, V3)', async () => {
    const row = (await listRows(server.url)).find(({ name }) => name === 'flatsource')!;
    const skill = uriIn((await readText(server.url, row.uri))!, /beta$/);
    assert.match((await readText(server.url, skill))!, /Instructions of beta/);
    const { files } = JSON.parse((await readText(server.url, `${skill}/_manifest`))!);
    const script = files.find(({ path }: { path: string }) => path.endsWith('.sh'));
    assert.match((await readText(server.url, `${skill}/${script.path}`))!, /echo beta/);
  });

  it('does the same with the two tools alone (V10, V11)', async () => {
    const text = async (name: string, args: Record<string, unknown> = {}): Promise<string> =>
      (await callTool(server.url, name, args, { query: '?resources=off' })).body.result.content[0].text;
    const [row] = JSON.parse(await text('list_resources')).filter(({ name }: { name: string }) => name === 'plugin-a');
    const skill = uriIn(await text('read_resource', { uri: row.uri }), /gamma$/);
    assert.equal(await text('read_resource', { uri: skill }), await readText(server.url, skill));
  });
});

describe('a listing', () => {
  it('reads no content: neither rows nor indexes, manifests or prompts touch a file (S16, P15)', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(schoolTree);
    const watch = watchOf(gateway);
    test.after(() => watch.close());
    await watch.start();
    const content = { read: async () => assert.fail('content was read') };
    const view = visible({ ...watch.snapshot!, content }, []);
    assert.equal(listPage(view, true).rows.length, 9);
    assert.equal(promptPage(view, undefined).rows.length, 2);
    assert.equal(skillsPage(view, undefined).rows.length, 4);
    for (const uri of [
      'skill://flatsource',
      'skill://plugin-a',
      'skill://deepsource/_files',
      'skill://flatsource/beta/_manifest',
    ]) {
      assert.notEqual(await contentsOf(view, resolve(view, uri)!, uri), undefined);
    }
    await assert.rejects(contentsOf(view, resolve(view, 'skill://flatsource/beta')!, 'skill://flatsource/beta'));
  });
});

describe('names', () => {
  it('of skills may be the same in two libraries: both are read (U17)', async (test) => {
    const { url } = await serveCatalogue(test, {
      sources: [
        { name: 'one', skills: [{ address: 'same', description: 'The first.' }] },
        { name: 'two', skills: [{ address: 'same', description: 'The second.' }] },
      ],
    });
    assert.match((await readText(url, 'skill://one/same'))!, /The first/);
    assert.match((await readText(url, 'skill://two/same'))!, /The second/);
  });

  it('that are blank are no tags (S23, P5)', async (test) => {
    const { url } = await serveCatalogue(test, {
      libraries: [{ name: 'lib', tags: [''] }],
      sources: [{ name: 'lib', tags: [''], skills: [{ address: 'a' }], prompts: [{ address: 'p', text: 'x' }] }],
      scope: { tags: [''] },
    });
    assert.deepEqual(await listUris(url), []);
    assert.deepEqual((await call(url, 'prompts/list')).body.result.prompts, []);
  });
});

describe('a gateway', () => {
  it('without sources serves nothing, and answers everything (V6, S9)', async (test) => {
    const { url } = await serveCatalogue(test, { sources: [] });
    assert.deepEqual(await listUris(url, { query: '?skills=full' }), []);
    assert.deepEqual((await call(url, 'prompts/list')).body.result.prompts, []);
    assert.equal((await call(url, 'resources/read', { uri: 'skill://nowhere' })).body.error.code, -32602);
    assert.equal((await callTool(url, 'list_resources')).body.result.content[0].text, '[]');
    assert.equal((await callTool(url, 'list_prompts')).body.result.content[0].text, '[]');
    assert.equal((await get(`${url}/health`)).body.skills, 0);
  });

  it('with a source that failed serves the others, and says which (V7, R15)', async (test) => {
    const { url } = await serveCatalogue(test, {
      sources: [{ name: 'broken', state: 'failed', reason: 'NotFound' }, ...schoolTree.sources],
    });
    assert.equal((await listUris(url)).length, 5);
    assert.equal((await call(url, 'prompts/list')).body.result.prompts.length, 2);
    const { sources, libraries } = (await get(`${url}/health`)).body;
    assert.deepEqual([sources.broken.status, sources.broken.error], ['failed', 'NotFound']);
    assert.deepEqual(libraries, ['deepsource', 'flatsource']);
  });

  it('has as many tools with a thousand skills as with none (V8)', async (test) => {
    const skills = Array.from({ length: 1000 }, (_, at) => ({ address: `s${at}` }));
    const names: string[][] = [];
    for (const sources of [[], [{ name: 'many', skills }]]) {
      const { url } = await serveCatalogue(test, { sources });
      const { body } = await call(url, 'tools/list', {}, { query: '?resources=off&prompts=off' });
      names.push(body.result.tools.map(({ name }: { name: string }) => name));
    }
    assert.deepEqual(names[0], names[1]);
    assert.equal(names[0]!.length, 4);
  });
});

describe("the tree of mcp-school's tests, from folders to answers", () => {
  const suite = lifetime();
  let server: RunningServer;
  const read = (uri: string) => readText(server.url, uri);
  before(async () => {
    const everything = { include: { skills: ['**/SKILL.md'], files: ['**/*'] } };
    const hello = '---\ndescription: Greets.\narguments:\n  - {name: who, required: true}\n---\nHello {{ who }}\n';
    ({ server } = await serveHarvested(suite, {
      flatsource: {
        files: {
          'alpha/SKILL.md': skillText('alpha'),
          'alpha/.beta.md.swp': 'swap',
          'beta/SKILL.md': skillText('beta'),
          '.gitkeep': '',
          'prompts/hello.md': hello,
        },
        spec: everything,
      },
      deepsource: {
        files: {
          'plugin-a/gamma/SKILL.md': skillText('gamma'),
          'plugin-b/delta/SKILL.md': skillText('delta'),
          'README.md': '# Deep\n',
          'shared/guide.md': '# Guide\n',
          'shared/nested/schema.json': '{}',
          'prompts/check.md': '---\ndescription: Checks.\n---\n{app="x"} |= "{{.msg}}"\n',
        },
        spec: everything,
      },
      chosen: {
        files: { 'skills/one/SKILL.md': skillText('one'), 'shared/a.md': 'a', 'private.md': 'private' },
        spec: { include: { files: ['shared/**', 'skills/**'] } },
      },
    }));
  });

  it('is counted as it is there: four skills, two prompts, three files of a pack (S1)', async () => {
    const { sources } = (await get(`${server.url}/health`)).body;
    const { flatsource: flat, deepsource: deep } = sources;
    assert.deepEqual([flat.skills, flat.prompts, flat.files], [2, 1, 0]);
    assert.deepEqual([deep.skills, deep.prompts, deep.files], [2, 1, 3]);
  });

  it('has its four skills in the full listing, each once (U5, T21)', async () => {
    const uris = await listUris(server.url, { query: '?skills=full&tags=flatsource,deepsource' });
    assert.deepEqual(
      uris.filter((uri) => uri.endsWith('/SKILL.md')),
      ['deepsource/delta', 'deepsource/gamma', 'flatsource/alpha', 'flatsource/beta'].map(
        (skill) => `skill://${skill}/SKILL.md`,
      ),
    );
  });

  it('has _files where something is readable, and not for a .gitkeep (U7)', async () => {
    const uris = await listUris(server.url);
    assert.ok(uris.includes('skill://deepsource/_files'));
    assert.ok(!uris.includes('skill://flatsource/_files'));
    assert.equal(await read('skill://flatsource/_files'), undefined);
    assert.equal(await read('skill://flatsource/.gitkeep'), undefined);
  });

  it('has no dot file in a manifest, and reads none (U15)', async () => {
    const { files } = JSON.parse((await read('skill://flatsource/alpha/_manifest'))!);
    assert.deepEqual(
      files.map(({ path }: { path: string }) => path),
      ['SKILL.md'],
    );
    assert.equal(await read('skill://flatsource/alpha/.beta.md.swp'), undefined);
  });

  it('reads of a pack what include.files has, however a path to the rest is written (S13, S15, S20, S21)', async () => {
    assert.equal(await read('skill://chosen/shared/a.md'), 'a');
    for (const path of [
      'private.md',
      'shared/../private.md',
      './private.md',
      'shared/../shared/a.md',
      '../x',
      '/etc',
    ]) {
      assert.equal(await read(`skill://chosen/${path}`), undefined, path);
    }
  });

  it('reads a file of a skill as that alone, never as a file of the pack (S14, S22, U20)', async () => {
    assert.equal(await read('skill://chosen/one/SKILL.md'), skillText('one'));
    assert.equal(await read('skill://chosen/skills/one/SKILL.md'), undefined);
    assert.equal(await read('skill://deepsource/plugin-a/gamma/SKILL.md'), undefined);
    assert.doesNotMatch((await read('skill://chosen/_files'))!, /SKILL/);
  });

  it('has no prompt of a placeholder that is none: braces of LogQL come through (P13)', async () => {
    const { body } = await call(server.url, 'prompts/get', { name: 'deepsource_check' });
    assert.equal(body.result.messages[0].content.text, '{app="x"} |= "{{.msg}}"\n');
  });
});

describe('a source that the gateway does not select', () => {
  it('is neither listed nor read, by any name (V5, P14)', async (test) => {
    const mine = { files: { 'skills/one/SKILL.md': skillText('one') } };
    const { operator, server } = await serveHarvested(test, { mine }, { sources: { names: ['mine'] } });
    operator.cluster.configMap('theirs', {
      'skills__two__SKILL.md': skillText('two'),
      'prompts__ask.md': 'Ask.\n',
      'shared__a.md': 'a',
    });
    operator.cluster.source('theirs', { spec: { url: 'configmap://theirs', include: { files: ['shared/**'] } } });
    const ready = () => operator.cluster.condition('sources', 'theirs', 'Ready') === 'True/Succeeded';
    await eventually('it is harvested', ready);
    assert.deepEqual(await listUris(server.url, { query: '?skills=full' }), [
      'skill://mine',
      'skill://mine/one/SKILL.md',
    ]);
    assert.deepEqual((await call(server.url, 'prompts/list')).body.result.prompts, []);
    assert.equal((await call(server.url, 'prompts/get', { name: 'theirs_ask' })).body.error.code, -32602);
    for (const uri of ['skill://theirs', 'skill://theirs/two', 'skill://theirs/_files', 'skill://theirs/shared/a.md']) {
      assert.equal(await readText(server.url, uri), undefined, uri);
    }
    assert.deepEqual(await listUris(server.url, { query: '?library=theirs' }), []);
  });
});

describe('a pin', () => {
  const suite = lifetime();
  let server: RunningServer;
  before(async () => {
    server = await serveCatalogue(suite, schoolTree);
  });
  const tool = async (url: string, name: string, args: Record<string, unknown>, query = '') =>
    (await callTool(url, name, args, { query })).body.result;

  it("keeps another library's shared files and its _files away (U24)", async () => {
    const query = '?library=flatsource';
    for (const path of ['_files', 'README.md', 'shared/guide.md', 'shared/nested/schema.json']) {
      assert.notEqual(await readText(server.url, `skill://deepsource/${path}`), undefined, path);
      assert.equal(await readText(server.url, `skill://deepsource/${path}`, { query }), undefined, path);
    }
  });

  it('leaves the tools what is its own, though they are hidden (T19, T27)', async () => {
    const query = '?library=flatsource';
    const rows = await tool(server.url, 'list_resources', {}, query);
    assert.equal(JSON.parse(rows.content[0].text).length, 1);
    const skill = await tool(server.url, 'read_resource', { uri: 'skill://flatsource/alpha' }, query);
    assert.match(skill.content[0].text, /Instructions of alpha/);
    assert.match((await tool(server.url, 'list_prompts', {}, query)).content[0].text, /flatsource_hello/);
    const prompt = { name: 'flatsource_hello', arguments: { who: 'Ada' } };
    assert.match((await tool(server.url, 'get_prompt', prompt, query)).content[0].text, /Hello, Ada!/);
  });

  it('of a group in the header is not widened by the URL (T28)', async () => {
    const headers = { 'X-Skill-Library': 'plugin-a' };
    for (const query of ['?library=deepsource', '?library=plugin-b', '?library=']) {
      const uris = await listUris(server.url, { query: `${query}&skills=full`, headers });
      assert.deepEqual(uris.slice(3), ['skill://deepsource/gamma/SKILL.md'], query);
      assert.equal(await readText(server.url, 'skill://deepsource/delta', { query, headers }), undefined, query);
    }
  });

  it('of the gateway holds for its tools, and is not widened by a request (S5, T28, V13)', async (test) => {
    const { url } = await serveCatalogue(test, { ...schoolTree, scope: { library: 'plugin-a' } });
    for (const query of ['', '?library=deepsource', '?tags=deepsource', '?library=plugin-a']) {
      const { content } = await tool(url, 'list_resources', {}, query);
      assert.deepEqual(
        JSON.parse(content[0].text).map(({ uri }: { uri: string }) => uri),
        ['skill://deepsource', 'skill://plugin-a', 'skill://deepsource/_files'],
        query,
      );
      assert.equal((await tool(url, 'read_resource', { uri: 'skill://deepsource/delta' }, query)).isError, true);
      assert.equal((await tool(url, 'get_prompt', { name: 'flatsource_hello' }, query)).isError, true);
      const own = await tool(url, 'read_resource', { uri: 'skill://deepsource/gamma' }, query);
      assert.match(own.content[0].text, /Instructions of gamma/);
    }
  });

  it('to a name that a group and a library of prompts have means the library (T16)', async (test) => {
    const { url } = await serveCatalogue(test, {
      sources: [
        { name: 'ops', prompts: [{ address: 'ask', text: 'Ask.' }] },
        { name: 'other', skills: [{ address: 'one', group: 'ops' }], prompts: [{ address: 'say', text: 'Say.' }] },
      ],
    });
    const query = '?library=ops';
    const { prompts } = (await call(url, 'prompts/list', {}, { query })).body.result;
    assert.deepEqual(
      prompts.map(({ name }: { name: string }) => name),
      ['ops_ask'],
    );
    assert.deepEqual(await listUris(url, { query }), []);
    assert.equal(await readText(url, 'skill://other/one', { query }), undefined);
  });
});
