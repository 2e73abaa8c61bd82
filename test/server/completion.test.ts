// Completion: the variables of addresses, and the defaults of prompts' arguments; only what a request may see.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { RunningServer } from '../../server/server.ts';
import { lifetime, schoolTree, serveCatalogue } from './support/gateway.ts';
import { type CallOptions, call } from './support/mcp.ts';

const library = { type: 'ref/resource', uri: 'skill://{library}' };
const skill = { type: 'ref/resource', uri: 'skill://{library}/{skill}' };
const file = { type: 'ref/resource', uri: 'skill://{library}/{skill}/{+path}' };
const hello = { type: 'ref/prompt', name: 'flatsource_hello' };

describe('completion', () => {
  const suite = lifetime();
  let server: RunningServer;
  before(async () => {
    server = await serveCatalogue(suite, {
      sources: [
        ...schoolTree.sources,
        { name: 'files', files: { 'a.md': 'a' } },
        {
          name: 'many',
          skills: [
            ...Array.from({ length: 150 }, (_, at) => ({ address: `s${1000 + at}` })),
            { address: 'odd', files: { 'refs/a b.md': 'x', 'what?.md': 'y' } },
            { address: 'many--old/odd' },
          ],
        },
      ],
    });
  });
  const ask = async (ref: object, name: string, value: string, filled?: object, options: CallOptions = {}) => {
    const context = filled === undefined ? {} : { context: { arguments: filled } };
    return (await call(server.url, 'completion/complete', { ref, argument: { name, value }, ...context }, options))
      .body;
  };
  const values = async (...asked: Parameters<typeof ask>): Promise<string[]> =>
    (await ask(...asked)).result.completion.values;

  it('offers the libraries and groups that have an index', async () => {
    assert.deepEqual(await values(library, 'library', ''), [
      'deepsource',
      'flatsource',
      'many',
      'plugin-a',
      'plugin-b',
    ]);
    assert.deepEqual(await values(library, 'library', 'plug'), ['plugin-a', 'plugin-b']);
    assert.deepEqual(await values(library, 'library', 'PLUGIN-A'), ['plugin-a']);
    assert.deepEqual(await values(skill, 'library', 'p'), [], 'no skill stands below a group');
  });

  it('offers the skills of the library that was filled in, and its files', async () => {
    assert.deepEqual(await values(skill, 'skill', '', { library: 'flatsource' }), ['alpha', 'beta']);
    assert.deepEqual(await values(skill, 'skill', 'be', { library: 'flatsource' }), ['beta']);
    assert.deepEqual(await values(skill, 'skill', ''), []);
    assert.deepEqual(await values(skill, 'skill', 's1149', { library: 'many' }), ['s1149']);
    assert.deepEqual(await values(skill, 'skill', 'S100', { library: 'many' }), [
      ...Array.from({ length: 10 }, (_, at) => `s100${at}`),
    ]);
    assert.deepEqual(await values(skill, 'skill', 'zzz', { library: 'many' }), []);
    assert.deepEqual(await values(skill, 'skill', 'o', { library: 'many' }), ['odd']);
    assert.deepEqual(await values(skill, 'skill', 'many', { library: 'many' }), [], 'a variable holds no slash');
    const filled = { library: 'many', skill: 'odd' };
    assert.deepEqual(await values(file, 'path', '', filled), ['SKILL.md', 'refs/a%20b.md', 'what%3F.md']);
    assert.deepEqual(await values(file, 'path', '', { library: 'many', skill: 'none' }), []);
  });

  it('offers the declared default of a prompt argument', async () => {
    for (const era of ['modern', 'legacy'] as const) {
      assert.deepEqual(await values(hello, 'greeting', '', undefined, { era }), ['Hello']);
    }
    assert.deepEqual(await values(hello, 'greeting', 'hel'), ['Hello']);
    assert.deepEqual(await values(hello, 'greeting', 'x'), []);
    assert.deepEqual(await values(hello, 'who', ''), []);
    assert.deepEqual(await values(hello, '__proto__', ''), []);
  });

  it('offers at most a hundred, and says that there are more', async () => {
    const { completion } = (await ask(skill, 'skill', '', { library: 'many' })).result;
    assert.equal(completion.values.length, 100);
    assert.equal(completion.hasMore, true);
    const few = (await ask(skill, 'skill', '', { library: 'flatsource' })).result.completion;
    assert.deepEqual(few, { values: ['alpha', 'beta'], total: 2, hasMore: false });
  });

  it('offers nothing beyond the scope', async () => {
    const query = '?library=deepsource';
    assert.deepEqual(await values(library, 'library', '', undefined, { query }), [
      'deepsource',
      'plugin-a',
      'plugin-b',
    ]);
    assert.deepEqual(await values(skill, 'skill', '', { library: 'flatsource' }, { query }), []);
    assert.deepEqual(await values(file, 'path', '', { library: 'many', skill: 'odd' }, { query }), []);
    assert.deepEqual(await values(skill, 'skill', '', { library: 'deepsource' }, { query: '?library=plugin-a' }), [
      'gamma',
    ]);
    const forbidden = await ask(hello, 'greeting', '', undefined, { query });
    const unknown = await ask({ ...hello, name: 'flatsource_holla' }, 'greeting', '', undefined, { query });
    assert.equal(forbidden.error.code, -32602);
    assert.equal(JSON.stringify(forbidden).replace('hello', '*'), JSON.stringify(unknown).replace('holla', '*'));
  });

  it('refuses what refers to nothing', async () => {
    for (const ref of [
      { type: 'ref/resource', uri: 'skill://nowhere' },
      { type: 'ref/prompt', name: 'nowhere_x' },
      { type: 'ref/other' },
      {},
    ]) {
      assert.equal((await ask(ref, 'x', '')).error.code, -32602, JSON.stringify(ref));
    }
  });
});
