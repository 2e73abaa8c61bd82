// The listing: which rows, in which words, in which order, in which pages.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Row } from '../../server/answers/listing.ts';
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
import { call, listRows, listUris } from './support/mcp.ts';

describe('the default listing', () => {
  const suite = lifetime();
  let server: RunningServer;
  before(async () => {
    server = await serveCatalogue(suite, schoolTree);
  });

  it('has the libraries sorted, each followed by its groups and its files, and no skill', async () => {
    assert.deepEqual(await listUris(server.url), [
      'skill://deepsource',
      'skill://plugin-a',
      'skill://plugin-b',
      'skill://deepsource/_files',
      'skill://flatsource',
    ]);
  });

  it('has rows of exactly four fields, in words that say what is there', async () => {
    const rows = await listRows(server.url);
    for (const row of rows) assert.deepEqual(Object.keys(row).sort(), ['description', 'mimeType', 'name', 'uri']);
    const [deepsource, pluginA, , files, flatsource] = rows;
    assert.deepEqual(deepsource, {
      uri: 'skill://deepsource',
      name: 'deepsource',
      description: 'The deepsource pack — 2 skills in 2 groups: plugin-a, plugin-b.',
      mimeType: 'text/markdown',
    });
    assert.equal(pluginA!.name, 'plugin-a');
    assert.equal(pluginA!.description, '1 skill in the deepsource pack.');
    assert.equal(files!.name, 'deepsource/_files');
    assert.equal(flatsource!.description, 'The flatsource pack — 2 skills.');
  });

  it('is the same in both eras', async () => {
    assert.deepEqual(await listRows(server.url, { era: 'legacy' }), await listRows(server.url));
  });
});

describe('the full listing', () => {
  const suite = lifetime();
  let server: RunningServer;
  before(async () => {
    server = await serveCatalogue(suite, schoolTree);
  });

  it('adds a row for each skill behind the indexes, sorted, by URL or by header', async () => {
    const rows = await listRows(server.url, { query: '?skills=full' });
    assert.deepEqual(rows.slice(0, 5), await listRows(server.url));
    assert.deepEqual(
      rows.slice(5).map(({ name }) => name),
      [
        'deepsource/delta/SKILL.md',
        'deepsource/gamma/SKILL.md',
        'flatsource/alpha/SKILL.md',
        'flatsource/beta/SKILL.md',
      ],
    );
    assert.deepEqual(rows[7], {
      uri: 'skill://flatsource/alpha/SKILL.md',
      name: 'flatsource/alpha/SKILL.md',
      description: 'First skill.',
      mimeType: 'text/markdown',
    });
    assert.deepEqual(await listRows(server.url, { headers: { 'X-Skill-Listing': 'full' } }), rows);
  });

  it('is what `full` says and no other word; the header beats the URL', async () => {
    assert.equal((await listRows(server.url, { query: '?skills=some' })).length, 5);
    const both = { query: '?skills=full', headers: { 'X-Skill-Listing': 'indexes' } };
    assert.equal((await listRows(server.url, both)).length, 5);
  });
});

describe('libraries and groups', () => {
  it('name a library by its title and description where the gateway gives them', async (test) => {
    const { url } = await serveCatalogue(test, {
      ...schoolTree,
      libraries: [
        { name: 'deepsource', title: 'Deep', description: 'Everything deep.' },
        { name: 'flatsource', description: 'Flat things.' },
      ],
    });
    const descriptions = new Map((await listRows(url)).map(({ name, description }) => [name, description]));
    assert.equal(descriptions.get('deepsource'), 'Deep: 2 skills in 2 groups: plugin-a, plugin-b. Everything deep.');
    assert.equal(descriptions.get('flatsource'), 'flatsource: 2 skills. Flat things.');
  });

  it('merge one group of several libraries into one row and one index', async (test) => {
    const { url } = await serveCatalogue(test, {
      sources: [
        { name: 'one', skills: [{ address: 'a', group: 'shared' }] },
        {
          name: 'two',
          skills: [
            { address: 'b', group: 'shared' },
            { address: 'c', group: 'shared' },
          ],
        },
      ],
    });
    const rows = await listRows(url);
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['one', 'shared', 'two'],
    );
    assert.equal(rows[1]!.description, '3 skills in the one and two packs.');
    const { body } = await call(url, 'resources/read', { uri: 'skill://shared' });
    assert.match(body.result.contents[0].text, /^# shared — 3 skills$/m);
  });

  it('take a name that both have for the library, everywhere', async (test) => {
    const { url } = await serveCatalogue(test, {
      sources: [
        { name: 'grafana', skills: [{ address: 'loki', description: 'Ours.' }] },
        { name: 'other', skills: [{ address: 'intruder', group: 'grafana' }] },
      ],
    });
    const rows = await listRows(url);
    assert.deepEqual(
      rows.map(({ name, description }) => `${name}: ${description}`),
      ['grafana: The grafana pack — 1 skill.', 'other: The other pack — 1 skill.'],
    );
    assert.deepEqual(await listUris(url, { query: '?library=grafana' }), ['skill://grafana']);
  });

  it('give a library without skills a row for its files only, and an empty one none', async (test) => {
    const { url } = await serveCatalogue(test, {
      sources: [{ name: 'files-only', files: { 'a.md': 'a' } }, { name: 'empty' }, { name: 'new', state: 'pending' }],
    });
    assert.deepEqual(await listUris(url), ['skill://files-only/_files']);
  });

  it('keep the listing of 90 skills in four libraries near 1.9 KB', async (test) => {
    const skills = (group: string | undefined, from: number, count: number) =>
      Array.from({ length: count }, (_, number) => ({
        address: `skill-${from + number}`,
        description: 'A description that says in a sentence or two what the skill is for and when to use it.',
        ...(group === undefined ? {} : { group }),
      }));
    const { url } = await serveCatalogue(test, {
      sources: [
        {
          name: 'grafana',
          skills: [
            ...skills('grafana-core', 0, 20),
            ...skills('grafana-lgtm', 20, 6),
            ...skills('grafana-plugins', 26, 10),
            ...skills('grafana-cloud', 36, 10),
          ],
        },
        { name: 'n8n', skills: skills(undefined, 0, 14) },
        {
          name: 'penpot',
          skills: [...skills('design', 0, 8), ...skills('tokens', 8, 8)],
          files: { 'shared/a.md': 'a' },
        },
        { name: 'superpowers', skills: skills(undefined, 0, 14) },
      ],
    });
    const rows = await listRows(url);
    assert.equal(rows.length, 11);
    const bytes = Buffer.byteLength(JSON.stringify(rows));
    assert.ok(bytes < 2048, `${bytes} bytes`);
  });
});

describe('pages', () => {
  const skill = (number: number, description = '') => ({ address: `s${String(number).padStart(4, '0')}`, description });
  const catalogue = (numbers: number[], description?: string): CatalogueFixture => ({
    sources: [{ name: 'many', skills: numbers.map((number) => skill(number, description)) }],
  });
  const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);
  const query = '?skills=full';

  async function pages(url: string): Promise<Row[][]> {
    const all: Row[][] = [];
    let cursor: string | undefined;
    do {
      const { body } = await call(url, 'resources/list', cursor === undefined ? {} : { cursor }, { query });
      all.push(body.result.resources);
      cursor = body.result.nextCursor;
    } while (cursor !== undefined && all.length < 100);
    return all;
  }

  it('have 250 rows and end where the list ends', async (test) => {
    const { url } = await serveCatalogue(test, catalogue(numbers(0, 520)));
    const all = await pages(url);
    assert.deepEqual(
      all.map((page) => page.length),
      [250, 250, 21],
    );
    const names = all.flat().map(({ name }) => name);
    assert.equal(new Set(names).size, 521);
    assert.equal(names.at(-1), 'many/s0519/SKILL.md');
  });

  it('have no cursor behind a last page that is just full', async (test) => {
    const { url } = await serveCatalogue(test, catalogue(numbers(0, 249)));
    assert.deepEqual(
      (await pages(url)).map((page) => page.length),
      [250],
    );
  });

  it('go on behind a skill whose second address has the dots of its source', async (test) => {
    const moved = (number: number): string => `dotted.source--skills/${skill(number).address}`;
    const { url } = await serveCatalogue(test, {
      sources: [
        {
          name: 'dotted.source',
          library: 'many',
          skills: numbers(0, 300).map((number) => skill(number)),
          moves: numbers(0, 300).map((number) => ({ kind: 'skill', from: skill(number).address, to: moved(number) })),
        },
      ],
    });
    const all = await pages(url);
    assert.deepEqual(
      all.map((page) => page.length),
      [250, 51],
    );
    assert.equal(all[1]!.at(-1)!.name, `many/${moved(299)}/SKILL.md`);
  });

  it('go on behind a skill whose second address is as long as any can be', async (test) => {
    const moved = (number: number): string => `${'s'.repeat(253)}--${'f'.repeat(2000)}/${skill(number).address}`;
    const { url } = await serveCatalogue(test, {
      sources: [
        {
          name: 'deep',
          library: 'many',
          skills: numbers(0, 120).map((number) => skill(number)),
          moves: numbers(0, 120).map((number) => ({ kind: 'skill', from: skill(number).address, to: moved(number) })),
        },
      ],
    });
    const all = await pages(url);
    assert.ok(all.length > 1);
    assert.equal(all.flat().length, 121);
  });

  it('have at most 256 KB', async (test) => {
    const { url } = await serveCatalogue(test, catalogue(numbers(0, 60), 'x'.repeat(10_000)));
    const all = await pages(url);
    assert.equal(all.flat().length, 61);
    for (const page of all) assert.ok(Buffer.byteLength(JSON.stringify(page)) <= 256 * 1024);
    assert.equal(all.length, 3);
  });

  it('give a row that is larger than a page alone', async (test) => {
    const { url } = await serveCatalogue(test, {
      sources: [{ name: 'huge', skills: [skill(0, 'x'.repeat(300_000)), skill(1, 'y'.repeat(300_000))] }],
    });
    const all = await pages(url);
    assert.deepEqual(
      all.map((page) => page.length),
      [1, 1, 1],
    );
  });

  it('go on behind the last row when another catalogue is served by then', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(catalogue(numbers(0, 400)));
    const { url } = await serve(test, gateway);
    const first = (await call(url, 'resources/list', {}, { query })).body.result;
    assert.equal(first.resources.at(-1).name, 'many/s0248/SKILL.md');
    // The row that the cursor names is gone, and so are many before it.
    await gateway.publish(catalogue(numbers(249, 300)));
    await until('the new catalogue is served', async () => (await pages(url)).flat().length === 52);
    const { body } = await call(url, 'resources/list', { cursor: first.nextCursor }, { query });
    assert.deepEqual(
      body.result.resources.map(({ name }: Row) => name),
      numbers(249, 300).map((number) => `many/${skill(number).address}/SKILL.md`),
    );
    assert.equal(body.result.nextCursor, undefined);
  });

  it('refuse a cursor that is empty or was never given, in both eras', async (test) => {
    const { url } = await serveCatalogue(test, schoolTree);
    const foreign = Buffer.from('x\0y').toString('base64url');
    const padded = `${Buffer.from('d\0flatsource\x000').toString('base64url')}=`;
    for (const cursor of ['', padded, 'x', '!!!', '%00', foreign, 'A'.repeat(5000)]) {
      for (const era of ['modern', 'legacy'] as const) {
        for (const method of ['resources/list', 'resources/templates/list', 'tools/list']) {
          const { body } = await call(url, method, { cursor }, { query, era });
          assert.equal(body.error?.code, -32602, `${method} ${JSON.stringify(cursor)}`);
        }
      }
    }
  });
});
