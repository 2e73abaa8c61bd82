// The scope: what is asked for, how levels are intersected, and that no trick widens one.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { intersect, requestScope, settingScope } from '../../server/scope.ts';
import type { RunningServer } from '../../server/server.ts';
import { type CatalogueFixture, lifetime, schoolTree, serveCatalogue } from './support/gateway.ts';
import { call, callTool, listUris, readText } from './support/mcp.ts';

const asked = (query: string, headers: Record<string, string> = {}) =>
  requestScope(headers, new URLSearchParams(query));

describe('what a request asks for', () => {
  it('is taken from the header, else from the URL, key by key', () => {
    assert.deepEqual(asked('library=a&tags=x'), [{ library: 'a', tags: ['x'] }]);
    assert.deepEqual(asked('library=a&tags=x', { 'x-skill-library': 'b' }), [{ library: 'b', tags: ['x'] }]);
    assert.deepEqual(asked('library=a&tags=x', { 'x-skill-tags': 'y' }), [{ library: 'a', tags: ['y'] }]);
    assert.deepEqual(asked('library=a', { 'x-skill-pack': 'b' }), [{ library: 'b' }]);
    assert.deepEqual(asked('', { 'x-skill-pack': 'b', 'x-skill-library': 'c' }), [{ library: 'c' }]);
  });

  it('is nothing where it is blank', () => {
    assert.deepEqual(asked('library=&tags=%20'), []);
    assert.deepEqual(asked('library=a', { 'x-skill-library': '  ', 'x-skill-pack': '' }), [{ library: 'a' }]);
    assert.deepEqual(asked('tags=x', { 'x-skill-tags': '' }), [{ tags: ['x'] }]);
  });

  it('is no tags where the list has none', () => {
    assert.deepEqual(asked('tags=,'), []);
    assert.deepEqual(asked('tags=,%20,'), []);
  });

  it('is a list of tags, trimmed, each once', () => {
    assert.deepEqual(asked('tags=%20b%20,a,,b'), [{ tags: ['a', 'b'] }]);
  });

  it('is read from a header in UTF-8 and in Latin-1, since clients send either', () => {
    // As Node gives them: a character a byte.
    const utf8 = Buffer.from('größe, 大').toString('latin1');
    assert.deepEqual(asked('', { 'x-skill-tags': utf8 }), [{ tags: ['größe', '大'] }]);
    assert.deepEqual(asked('', { 'x-skill-tags': 'größe' }), [{ tags: ['größe'] }]);
  });

  it('is the last value of a repeated parameter', () => {
    assert.deepEqual(asked('library=a&library=b&tags=x&tags=y'), [{ library: 'b', tags: ['y'] }]);
  });
});

describe('levels', () => {
  it('are all kept, equal ones once', () => {
    const gateway = settingScope({ library: 'a', tags: ['x'] });
    assert.deepEqual(intersect(gateway, asked('library=b')), [{ library: 'a', tags: ['x'] }, { library: 'b' }]);
    assert.deepEqual(intersect(gateway, asked('library=a&tags=x')), gateway);
    assert.deepEqual(intersect(settingScope({}), settingScope({ tags: [] }), asked('')), []);
  });
});

const tagged: CatalogueFixture = {
  libraries: [{ name: 'notes', tags: ['team'] }],
  sources: [
    ...schoolTree.sources,
    {
      name: 'public-notes',
      library: 'notes',
      tags: ['public'],
      skills: [{ address: 'minutes', description: 'Write minutes.', group: 'writing' }],
      files: { 'public.md': 'public' },
    },
    {
      name: 'private-notes',
      library: 'notes',
      tags: ['private'],
      skills: [{ address: 'diary', description: 'Keep a diary.', group: 'secret' }],
      files: { 'private.md': 'private' },
    },
  ],
};

describe('a scope', () => {
  const suite = lifetime();
  let server: RunningServer;
  const uris = (query: string, headers: Record<string, string> = {}) =>
    listUris(server.url, { query, headers, twice: true });
  const read = (uri: string, query: string) => readText(server.url, uri, { query, twice: true });

  before(async () => {
    server = await serveCatalogue(suite, tagged);
  });

  it('of a library shows and reads that library alone', async () => {
    assert.deepEqual(await uris('?library=flatsource'), ['skill://flatsource']);
    assert.notEqual(await read('skill://flatsource/alpha', '?library=flatsource'), undefined);
    assert.equal(await read('skill://flatsource/_files', ''), undefined, 'it has no such files');
    for (const uri of [
      'skill://deepsource',
      'skill://plugin-a',
      'skill://deepsource/gamma',
      'skill://deepsource/_files',
    ]) {
      assert.equal(await read(uri, '?library=flatsource'), undefined, uri);
    }
  });

  it('of a group shows and reads its skills and the files of its library, never a sibling', async () => {
    assert.deepEqual(await uris('?library=plugin-a'), [
      'skill://deepsource',
      'skill://plugin-a',
      'skill://deepsource/_files',
    ]);
    assert.doesNotMatch((await read('skill://deepsource', '?library=plugin-a'))!, /delta/);
    assert.notEqual(await read('skill://deepsource/gamma', '?library=plugin-a'), undefined);
    assert.equal(await read('skill://deepsource/shared/guide.md', '?library=plugin-a'), '# Guide\n');
    assert.equal(await read('skill://deepsource/delta', '?library=plugin-a'), undefined);
    assert.equal(await read('skill://deepsource/delta/_manifest', '?library=plugin-a'), undefined);
    assert.equal(await read('skill://plugin-b', '?library=plugin-a'), undefined);
  });

  it('of a group counts only what is visible in the row of its library', async () => {
    const { body } = await call(server.url, 'resources/list', {}, { query: '?library=plugin-a' });
    assert.equal(body.result.resources[0].description, 'The deepsource pack — 1 skill in 1 group: plugin-a.');
  });

  it('of tags takes any of them, from library, source, library and source tags, and the kind', async () => {
    assert.deepEqual(await uris('?tags=flatsource'), ['skill://flatsource']);
    assert.deepEqual(await uris('?tags=public-notes'), ['skill://notes', 'skill://writing', 'skill://notes/_files']);
    assert.deepEqual(await uris('?tags=public'), ['skill://notes', 'skill://writing', 'skill://notes/_files']);
    assert.deepEqual(await uris('?tags=team'), [
      'skill://notes',
      'skill://secret',
      'skill://writing',
      'skill://notes/_files',
    ]);
    assert.deepEqual(await uris('?tags=public,flatsource'), [
      'skill://flatsource',
      'skill://notes',
      'skill://writing',
      'skill://notes/_files',
    ]);
    assert.deepEqual(await uris('?tags=skill'), await uris(''));
    assert.deepEqual(await uris('?tags=prompt'), []);
  });

  it('of library and tags needs both', async () => {
    assert.deepEqual(await uris('?library=notes&tags=flatsource'), []);
    assert.deepEqual(await uris('?library=notes&tags=public'), [
      'skill://notes',
      'skill://writing',
      'skill://notes/_files',
    ]);
  });

  it('of tags holds for the files of each source in a shared library', async () => {
    const files = (await read('skill://notes/_files', '?tags=public'))!;
    assert.match(files, /public\.md/);
    assert.doesNotMatch(files, /private\.md/);
    assert.equal(await read('skill://notes/public.md', '?tags=public'), 'public');
    assert.equal(await read('skill://notes/private.md', '?tags=public'), undefined);
    assert.equal(await read('skill://notes/diary', '?tags=public'), undefined);
  });

  it('never counts what an author wrote in the frontmatter', async () => {
    assert.deepEqual(await uris('?tags=minutes'), []);
  });

  it('that names nothing lists nothing and reads nothing', async () => {
    assert.deepEqual(await uris('?library=nowhere'), []);
    assert.deepEqual(await uris('?tags=nothing'), []);
    assert.equal(await read('skill://flatsource', '?library=nowhere'), undefined);
  });

  it('is case-sensitive', async () => {
    assert.deepEqual(await uris('?library=Flatsource'), []);
  });

  it('of a header beats the URL', async () => {
    assert.deepEqual(await uris('?library=deepsource', { 'X-Skill-Library': 'flatsource' }), ['skill://flatsource']);
    assert.deepEqual(await uris('?library=deepsource', { 'X-Skill-Pack': 'flatsource' }), ['skill://flatsource']);
    assert.deepEqual(await uris('?tags=deepsource', { 'X-Skill-Tags': 'flatsource' }), ['skill://flatsource']);
  });

  it('holds for the tools too', async () => {
    const query = '?library=flatsource';
    const list = await callTool(server.url, 'list_resources', {}, { query });
    assert.deepEqual(
      JSON.parse(list.body.result.content[0].text).map(({ uri }: { uri: string }) => uri),
      ['skill://flatsource'],
    );
    const foreign = await callTool(server.url, 'read_resource', { uri: 'skill://deepsource/gamma' }, { query });
    assert.equal(foreign.body.result.isError, true);
  });

  it('holds for the full listing, page by page', async () => {
    const all = await uris('?skills=full&library=plugin-a');
    assert.deepEqual(all.slice(3), ['skill://deepsource/gamma/SKILL.md']);
    // A cursor from a wide listing does not open a narrow one.
    const cursor = Buffer.from('d\0deepsource\x000').toString('base64url');
    const { body } = await call(server.url, 'resources/list', { cursor }, { query: '?library=flatsource&skills=full' });
    assert.deepEqual(
      body.result.resources.map(({ uri }: { uri: string }) => uri),
      ['skill://flatsource', 'skill://flatsource/alpha/SKILL.md', 'skill://flatsource/beta/SKILL.md'],
    );
  });

  it('makes the forbidden look like the unknown, to the byte', async () => {
    for (const era of ['modern', 'legacy'] as const) {
      const query = '?library=flatsource';
      for (const [method, param] of [
        ['resources/read', (uri: string) => ({ uri })],
        ['tools/call', (uri: string) => ({ name: 'read_resource', arguments: { uri } })],
      ] as const) {
        const forbidden = 'skill://deepsource/gamma';
        const unknown = 'skill://deepsource/omega';
        const one = await call(server.url, method, param(forbidden), { query, era, twice: true });
        const other = await call(server.url, method, param(unknown), { query, era, twice: true });
        assert.equal(one.status, other.status);
        assert.equal(
          JSON.stringify(one.body).replaceAll(forbidden, '*'),
          JSON.stringify(other.body).replaceAll(unknown, '*'),
        );
      }
    }
  });
});

describe("the gateway's own scope", () => {
  it('is taken word for word: what looks blank is a ceiling all the same', () => {
    for (const tags of [[''], ['\u00a0'], ['\u00a0ops']]) assert.deepEqual(settingScope({ tags }), [{ tags }]);
    for (const library of ['', ' ']) assert.deepEqual(settingScope({ library }), [{ library }]);
  });

  const suite = lifetime();
  let narrow: RunningServer;
  before(async () => {
    narrow = await serveCatalogue(suite, { ...tagged, scope: { library: 'notes', tags: ['public'] } });
  });

  it('is a ceiling for every request, header, parameter and spelling', async () => {
    const own = ['skill://notes', 'skill://writing', 'skill://notes/_files'];
    assert.deepEqual(await listUris(narrow.url), own);
    const tricks: [string, Record<string, string>][] = [
      ['?library=deepsource', {}],
      ['?library=notes&tags=private', {}],
      ['?tags=skill', {}],
      ['?tags=private', { 'X-Skill-Tags': 'skill' }],
      ['?library=', { 'X-Skill-Library': '*' }],
      ['?library=secret', {}],
      ['?library=notes&library=', {}],
      ['?library=__proto__', {}],
      ['', { 'X-Skill-Library': 'notes,deepsource' }],
      ['?tags=,', { 'X-Skill-Pack': 'deepsource' }],
      ['?scope=all&ceiling=none', {}],
    ];
    for (const [query, headers] of tricks) {
      const options = { query, headers, twice: true };
      for (const uri of await listUris(narrow.url, options)) assert.ok(own.includes(uri), `${query} shows ${uri}`);
      for (const uri of [
        'skill://notes/diary',
        'skill://notes/private.md',
        'skill://deepsource/gamma',
        'skill://secret',
      ]) {
        assert.equal(await readText(narrow.url, uri, options), undefined, `${query} reads ${uri}`);
      }
    }
  });

  it('leaves a request the narrowing', async () => {
    assert.deepEqual(await listUris(narrow.url, { query: '?library=deepsource' }), []);
    assert.deepEqual(await listUris(narrow.url, { query: '?library=writing' }), [
      'skill://notes',
      'skill://writing',
      'skill://notes/_files',
    ]);
  });

  it('does not show by the files that a group exists beyond the ceiling', async () => {
    for (const group of ['secret', 'plugin-a', 'nowhere']) {
      assert.deepEqual(await listUris(narrow.url, { query: `?library=${group}` }), [], group);
    }
  });
});

describe('how long an answer may be kept', () => {
  it('is the shortest refresh of the sources in scope, 60 s with none, at most 300 s', async (test) => {
    const { url } = await serveCatalogue(test, {
      sources: [
        { name: 'fast', refreshSeconds: 30, skills: [{ address: 'a' }] },
        { name: 'slow', refreshSeconds: 3600, skills: [{ address: 'b' }] },
        { name: 'never', skills: [{ address: 'c' }] },
        { name: 'soon', refreshSeconds: 45, state: 'pending' },
      ],
    });
    const kept = async (method: string, query: string, params = {}) => {
      const { result } = (await call(url, method, params, { query })).body;
      assert.equal(result.cacheScope, 'private');
      return result.ttlMs;
    };
    assert.equal(await kept('resources/list', ''), 30_000);
    assert.equal(await kept('resources/list', '?library=slow'), 300_000);
    assert.equal(await kept('resources/list', '?library=never'), 60_000);
    assert.equal(await kept('resources/list', '?library=soon'), 45_000);
    assert.equal(await kept('resources/read', '?library=slow', { uri: 'skill://slow/b' }), 300_000);
    for (const method of ['server/discover', 'tools/list', 'resources/templates/list']) {
      assert.equal(await kept(method, ''), 30_000, method);
    }
  });

  it('is not told to the eras that know nothing of it', async (test) => {
    const { url } = await serveCatalogue(test, schoolTree);
    const { result } = (await call(url, 'resources/list', {}, { era: 'legacy' })).body;
    assert.deepEqual(Object.keys(result), ['resources']);
  });
});
