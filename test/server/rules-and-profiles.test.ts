// Rules and profiles: their indexes, their addresses, and what a scope lets through of them.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { digestOf } from '../../catalogue/digest.ts';
import type { RunningServer } from '../../server/server.ts';
import { type CatalogueFixture, lifetime, plainText, serveCatalogue } from './support/gateway.ts';
import { call, get, listRows, listUris, readText } from './support/mcp.ts';

const tree: CatalogueFixture = {
  libraries: [{ name: 'house', tags: ['team'] }],
  sources: [
    {
      name: 'house',
      tags: ['public'],
      skills: [
        { address: 'lint', description: 'Lint.', group: 'checks' },
        { address: 'bake', description: 'Bake.', group: 'kitchen' },
      ],
      rules: [
        { address: 'typescript', description: 'How we write TypeScript.', main: 'typescript.mdc' },
        { address: 'agents' },
        { address: 'tests', description: 'How we test.', main: 'RULE.md', files: { 'cases/a b.md': 'a case' } },
      ],
      profiles: [{ address: 'reviewer', description: 'Reviews.', files: { 'notes.md': 'notes' } }],
      files: { 'shared.md': 'shared' },
    },
    {
      name: 'guest',
      library: 'house',
      tags: ['private'],
      rules: [{ address: 'agents', description: 'Another AGENTS.md.' }, { address: 'secret' }],
      profiles: [{ address: 'reviewer', description: 'Another reviewer.' }],
      moves: [
        { kind: 'rule', from: 'agents', to: 'guest--rules-agents/agents' },
        { kind: 'profile', from: 'reviewer', to: 'guest--profiles-reviewer/reviewer' },
      ],
    },
    { name: 'rulesonly', rules: [{ address: 'alone', description: 'Alone.' }] },
  ],
};

describe('rules and profiles', () => {
  const suite = lifetime();
  let server: RunningServer;
  const read = (uri: string, query = '') => readText(server.url, uri, { query });
  const uris = (query = '') => listUris(server.url, { query });
  before(async () => {
    server = await serveCatalogue(suite, tree);
  });

  it('have a row each behind the files of their library, and a library without skills has no row of its own', async () => {
    const rows = await listRows(server.url);
    assert.deepEqual(
      rows.map(({ uri }) => uri),
      [
        'skill://house',
        'skill://checks',
        'skill://kitchen',
        'skill://house/_files',
        'skill://house/_rules',
        'skill://house/_profiles',
        'skill://rulesonly/_rules',
      ],
    );
    assert.deepEqual(rows[4], {
      uri: 'skill://house/_rules',
      name: 'house/_rules',
      description: '5 rules of the house pack.',
      mimeType: 'text/markdown',
    });
    assert.equal(rows[5]!.description, '2 profiles of the house pack.');
    assert.equal(rows[6]!.description, '1 rule of the rulesonly pack.');
  });

  it('stand in an index of their library, with address and description', async () => {
    assert.deepEqual((await read('skill://house/_rules'))!.split('\n').slice(0, 7), [
      '# house — 5 rules',
      '',
      'skill://house/_rules/agents',
      'skill://house/_rules/guest--rules-agents/agents: Another AGENTS.md.',
      'skill://house/_rules/secret',
      'skill://house/_rules/tests: How we test.',
      'skill://house/_rules/typescript: How we write TypeScript.',
    ]);
    assert.match((await read('skill://rulesonly/_rules/'))!, /^# rulesonly — 1 rule\n/);
    assert.match((await read('skill://house/_profiles'))!, /^# house — 2 profiles\n/);
    assert.match((await read('skill://house/_profiles'))!, /^skill:\/\/house\/_profiles\/reviewer: Reviews\.$/m);
  });

  it('read at their address, and at the path of their main file below it', async () => {
    const rule = { address: 'typescript', description: 'How we write TypeScript.' };
    assert.equal(await read('skill://house/_rules/typescript'), plainText('rule', rule));
    assert.equal(await read('skill://house/_rules/typescript/typescript.mdc'), plainText('rule', rule));
    const profile = { address: 'reviewer', description: 'Reviews.' };
    assert.equal(await read('skill://house/_profiles/reviewer'), plainText('profile', profile));
    assert.equal(await read('skill://house/_profiles/reviewer/reviewer.md'), plainText('profile', profile));
  });

  it('have a manifest that names every file, and each is read below the address', async () => {
    const manifest = JSON.parse((await read('skill://house/_rules/tests/_manifest'))!);
    const main = plainText('rule', { address: 'tests', description: 'How we test.' });
    assert.deepEqual(manifest, {
      rule: 'house/_rules/tests',
      files: [
        { path: 'RULE.md', size: Buffer.byteLength(main), hash: digestOf(Buffer.from(main)) },
        { path: 'cases/a b.md', size: 6, hash: digestOf(Buffer.from('a case')) },
      ],
    });
    assert.equal(await read('skill://house/_rules/tests/cases/a%20b.md'), 'a case');
    assert.equal(await read('skill://house/_rules/tests/cases/a b.md'), 'a case');
    const profile = JSON.parse((await read('skill://house/_profiles/reviewer/_manifest'))!);
    assert.equal(profile.profile, 'house/_profiles/reviewer');
    assert.equal(await read('skill://house/_profiles/reviewer/notes.md'), 'notes');
    const { body } = await call(server.url, 'resources/read', { uri: 'skill://house/_rules/tests/_manifest' });
    assert.equal(body.result.contents[0].mimeType, 'application/json');
  });

  it('move as skills do where another source has the address', async () => {
    assert.match((await read('skill://house/_rules/guest--rules-agents/agents'))!, /Another AGENTS\.md/);
    assert.match((await read('skill://house/_profiles/guest--profiles-reviewer/reviewer'))!, /Another reviewer/);
    const uri = 'skill://house/_profiles/guest--profiles-reviewer/reviewer/_manifest';
    assert.equal(JSON.parse((await read(uri))!).profile, 'house/_profiles/guest--profiles-reviewer/reviewer');
  });

  it('read nothing elsewhere', async () => {
    for (const uri of [
      'skill://_rules',
      'skill://rulesonly',
      'skill://rulesonly/_profiles',
      'skill://house/typescript',
      'skill://house/_rules/none',
      'skill://house/_rules/_manifest',
      'skill://house/_rules/SKILL.md',
      'skill://house/_rules/tests/SKILL.md',
      'skill://house/_rules/tests/cases',
      'skill://house/_rules/guest--rules-agents',
      'skill://house/_rules/reviewer',
      'skill://house/_profiles/typescript',
      'skill://house/_rules//tests',
      'skill://house/_rules/tests/../typescript',
      'skill://house/lint/_rules',
      'skill://checks/_rules',
      'skill://house/__proto__',
      'skill://house/_prompts',
    ]) {
      assert.equal(await read(uri), undefined, uri);
    }
  });

  it('have the word of their kind as a tag, and those of library and source', async () => {
    assert.deepEqual(await uris('?tags=rule'), ['skill://house/_rules', 'skill://rulesonly/_rules']);
    assert.deepEqual(await uris('?tags=profile'), ['skill://house/_profiles']);
    assert.equal(await read('skill://house/_rules/tests', '?tags=profile'), undefined);
    assert.equal(await read('skill://house/_profiles/reviewer', '?tags=rule'), undefined);
    assert.equal(await read('skill://house/lint', '?tags=rule'), undefined);
    assert.equal(await read('skill://house/shared.md', '?tags=rule'), undefined);
    assert.deepEqual(await uris('?tags=private'), ['skill://house/_rules', 'skill://house/_profiles']);
    const rules = (await read('skill://house/_rules', '?tags=private'))!;
    assert.match(rules, /^# house — 2 rules$/m);
    assert.doesNotMatch(rules, /typescript/);
    assert.equal(await read('skill://house/_rules/typescript', '?tags=private'), undefined);
    assert.equal((await uris('?tags=team')).length, 6);
    assert.equal((await uris('?library=house&tags=rulesonly')).length, 0);
  });

  it('belong to the whole library: a group reaches them as it reaches the files', async () => {
    assert.deepEqual(await uris('?library=checks'), [
      'skill://house',
      'skill://checks',
      'skill://house/_files',
      'skill://house/_rules',
      'skill://house/_profiles',
    ]);
    assert.notEqual(await read('skill://house/_rules/tests', '?library=checks'), undefined);
    assert.equal(await read('skill://rulesonly/_rules/alone', '?library=checks'), undefined);
  });

  it('are counted in health', async () => {
    const { body } = await get(`${server.url}/health`);
    assert.deepEqual([body.skills, body.prompts, body.rules, body.profiles], [2, 0, 6, 2]);
    assert.deepEqual([body.sources.guest.rules, body.sources.guest.profiles, body.sources.house.rules], [2, 1, 3]);
  });
});

describe("a gateway's ceiling", () => {
  it('holds for rules and profiles, whatever a request asks for', async (test) => {
    const { url } = await serveCatalogue(test, { ...tree, scope: { library: 'house', tags: ['public'] } });
    for (const query of ['', '?tags=private', '?library=rulesonly', '?tags=rule', '?library=checks']) {
      for (const uri of ['skill://house/_rules/secret', 'skill://rulesonly/_rules', 'skill://rulesonly/_rules/alone']) {
        assert.equal(await readText(url, uri, { query }), undefined, `${query} ${uri}`);
      }
    }
    assert.doesNotMatch((await readText(url, 'skill://house/_rules'))!, /secret/);
    assert.deepEqual(await listUris(url, { query: '?tags=rule' }), ['skill://house/_rules']);
  });
});
