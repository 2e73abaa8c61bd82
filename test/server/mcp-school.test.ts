// What mcp-school promises its users and no other file here tests; the letters are those of docs/mcp-school.md.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { listPage } from '../../server/answers/listing.ts';
import { promptPage } from '../../server/answers/prompts.ts';
import { contentsOf, resolve } from '../../server/answers/read.ts';
import { skillsPage } from '../../server/answers/skills.ts';
import type { RunningServer } from '../../server/server.ts';
import { CatalogueWatch } from '../../server/snapshot/watch.ts';
import { visible } from '../../server/view.ts';
import {
  GatewayFixture,
  gatewayName,
  lifetime,
  namespace,
  schoolTree,
  serveCatalogue,
  silent,
} from './support/gateway.ts';
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
    const ignore = (): void => {};
    const watch = new CatalogueWatch({
      volume: gateway.root,
      namespace,
      gateway: gatewayName,
      logger: silent,
      loaded: ignore,
      failed: ignore,
      looked: ignore,
    });
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
