// What reads under which address, over HTTP.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, describe, it } from 'node:test';
import type { RunningServer } from '../../server/server.ts';
import { lifetime, schoolTree, serveCatalogue, skillText } from './support/gateway.ts';
import { call, listRows, readText } from './support/mcp.ts';

const logo = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0xff, 0x00]);
const composed = 'caf\u00e9.txt';
const decomposed = 'cafe\u0301.txt';

const tree = {
  sources: [
    ...schoolTree.sources,
    {
      name: 'odd',
      skills: [
        {
          address: 'names',
          description: 'Odd names.',
          files: {
            'a b.md': 'a space',
            'what?.md': 'a question',
            'a#b.md': 'a fragment',
            'x y.md': 'listed form',
            'x%20y.md': 'raw form',
            [composed]: 'composed',
            [decomposed]: 'decomposed',
            'logo.png': logo,
            'windows.md': '\ufeffone\r\ntwo\r\n',
            'deep/er/file.json': '{}',
          },
        },
        { address: 'bare' },
        { address: 'odd--old-loki/loki', description: 'Moved.' },
      ],
      files: { 'names.md': 'beside the skill' },
    },
    // The second source of a library: its own `alpha` gave way.
    {
      name: 'rival',
      library: 'flatsource',
      skills: [{ address: 'alpha', description: 'Another first skill.' }],
      files: { 'beta/notes.md': 'below a skill', 'free.md': 'free' },
      moves: [
        { kind: 'skill', from: 'alpha', to: 'rival--skills-alpha/alpha' },
        { kind: 'file', from: 'beta/notes.md' },
      ],
    },
  ],
};

describe('reading an address', () => {
  const suite = lifetime();
  let server: RunningServer;
  const read = (uri: string): Promise<string | undefined> => readText(server.url, uri);

  before(async () => {
    server = await serveCatalogue(suite, tree);
  });

  it('gives a skill its instructions, under its bare address and as SKILL.md', async () => {
    const text = skillText({ address: 'gamma', description: 'Third skill.' });
    assert.equal(await read('skill://deepsource/gamma'), text);
    assert.equal(await read('skill://deepsource/gamma/SKILL.md'), text);
  });

  it('gives an index of a library, one line a skill, by its bare address', async () => {
    const lines = (await read('skill://deepsource'))!.split('\n');
    assert.equal(lines[0], '# deepsource — 2 skills');
    assert.equal(lines[1], '');
    assert.deepEqual(lines.slice(2, 4), [
      'skill://deepsource/delta: Fourth skill.',
      'skill://deepsource/gamma: Third skill.',
    ]);
    assert.equal(lines[4], '');
    assert.match(lines[5]!, /_manifest/);
  });

  it('leaves out the colon where a skill has no description', async () => {
    assert.match((await read('skill://odd'))!, /^skill:\/\/odd\/bare$/m);
  });

  it('gives an index of a group without its siblings', async () => {
    const index = (await read('skill://plugin-a'))!;
    assert.match(index, /^# plugin-a — 1 skill$/m);
    assert.match(index, /skill:\/\/deepsource\/gamma/);
    assert.doesNotMatch(index, /delta/);
  });

  it('tells every file of a skill with its size and digest in _manifest', async () => {
    const text = (await read('skill://flatsource/beta/_manifest'))!;
    const manifest = JSON.parse(text);
    assert.equal(manifest.skill, 'flatsource/beta');
    assert.deepEqual(
      manifest.files.map(({ path }: { path: string }) => path),
      ['SKILL.md', 'scripts/run.sh'],
    );
    for (const { path, size, hash } of manifest.files) {
      const content = (await read(`skill://flatsource/beta/${path}`))!;
      assert.equal(size, Buffer.byteLength(content));
      assert.equal(hash, `sha256:${createHash('sha256').update(content).digest('hex')}`);
    }
    assert.ok(text.startsWith('{\n  "skill": "flatsource/beta",'), 'two spaces');
    assert.ok(!text.endsWith('\n'), 'no final newline');
  });

  it('keeps names in _manifest raw, sorted by code point', async () => {
    const manifest = JSON.parse((await read('skill://odd/names/_manifest'))!);
    const paths = manifest.files.map(({ path }: { path: string }) => path);
    assert.deepEqual(paths, [...paths].sort());
    assert.ok(paths.includes(composed) && paths.includes(decomposed) && paths.includes('what?.md'));
  });

  it('lists and reads the files of a pack outside its skills', async () => {
    const text = (await read('skill://deepsource/_files'))!;
    assert.match(text, /^# deepsource — 3 pack-level files$/m);
    const uris = text.split('\n').filter((line) => line.startsWith('skill://'));
    assert.deepEqual(uris, [
      'skill://deepsource/README.md',
      'skill://deepsource/shared/guide.md',
      'skill://deepsource/shared/nested/schema.json',
    ]);
    assert.equal(await read(uris[2]!), '{"type":"object"}\n');
    assert.equal(await read('skill://odd/names.md'), 'beside the skill');
  });

  it('says of what type each address is', async () => {
    const typeOf = async (uri: string): Promise<string> =>
      (await call(server.url, 'resources/read', { uri })).body.result.contents[0].mimeType;
    assert.equal(await typeOf('skill://deepsource'), 'text/markdown');
    assert.equal(await typeOf('skill://deepsource/gamma'), 'text/markdown');
    assert.equal(await typeOf('skill://deepsource/_files'), 'text/markdown');
    assert.equal(await typeOf('skill://deepsource/gamma/_manifest'), 'application/json');
    assert.equal(await typeOf('skill://deepsource/shared/nested/schema.json'), 'application/json');
    assert.equal(await typeOf('skill://odd/names/logo.png'), 'image/png');
  });

  it('takes the listed form of a name, then the raw one, as exact strings', async () => {
    assert.equal(await read('skill://odd/names/a%20b.md'), 'a space');
    assert.equal(await read('skill://odd/names/a b.md'), 'a space');
    assert.equal(await read('skill://odd/names/what%3F.md'), 'a question');
    assert.equal(await read('skill://odd/names/what?.md'), 'a question');
    assert.equal(await read('skill://odd/names/a#b.md'), 'a fragment');
    assert.equal(await read('skill://odd/names/x%20y.md'), 'listed form', 'the listed form of one file wins');
    assert.equal(await read('skill://odd/names/x%2520y.md'), 'raw form');
    assert.equal(await read('skill://odd/names/x y.md'), 'listed form');
  });

  it('never normalises a name', async () => {
    assert.equal(await read(`skill://odd/names/${composed}`), 'composed');
    assert.equal(await read(`skill://odd/names/${decomposed}`), 'decomposed');
    assert.equal(await read('skill://odd/names/caf%C3%A9.txt'), 'composed');
    assert.equal(await read('skill://odd/names/caf%c3%a9.txt'), undefined, 'lower-case hex is another string');
  });

  it('serves the bytes: byte-order mark and line ends as they are', async () => {
    assert.equal(await read('skill://odd/names/windows.md'), '\ufeffone\r\ntwo\r\n');
  });

  it('serves a binary file as a blob', async () => {
    const { body } = await call(server.url, 'resources/read', { uri: 'skill://odd/names/logo.png' });
    const [contents, ...more] = body.result.contents;
    assert.deepEqual(more, []);
    assert.equal(contents.text, undefined);
    assert.deepEqual(new Uint8Array(Buffer.from(contents.blob, 'base64')), logo);
  });

  it('answers with the very URI that was asked for, trailing slashes and all', async () => {
    for (const uri of ['skill://deepsource/', 'skill://deepsource/gamma//', 'skill://odd/names/a b.md']) {
      const { body } = await call(server.url, 'resources/read', { uri });
      assert.equal(body.result.contents[0].uri, uri);
    }
  });

  it('reads nothing under an address that is absent, malformed or cleverly written', async () => {
    const absent = [
      '',
      'skill://',
      'skill:///',
      'skill:///deepsource',
      'SKILL://deepsource',
      'https://deepsource',
      'deepsource/gamma',
      'skill://nowhere',
      'skill://nowhere/gamma',
      'skill://nowhere/_files',
      'skill://flatsource/gamma',
      'skill://deepsource/nothing',
      'skill://deepsource/nothing/_manifest',
      'skill://deepsource/gamma/absent.md',
      'skill://deepsource/plugin-a/gamma/SKILL.md',
      'skill://plugin-a/gamma',
      'skill://deepsource/gamma/../delta',
      'skill://deepsource/gamma/../../flatsource/alpha',
      'skill://deepsource/gamma/%2e%2e/delta',
      'skill://deepsource%2fgamma',
      'skill://deepsource//gamma',
      'skill://deepsource/gamma/_files',
      'skill://deepsource/_manifest',
      'skill://deepsource/shared',
      'skill://deepsource/gamma/README.md',
      'skill://deepsource/gamma?x=1',
      'skill://DEEPSOURCE/gamma',
      'skill://__proto__',
      'skill://deepsource/__proto__',
      'skill://deepsource/constructor/SKILL.md',
      `skill://deepsource/${'a/'.repeat(20_000)}`,
    ];
    for (const uri of absent) {
      const { status, body } = await call(server.url, 'resources/read', { uri }, { era: 'legacy' });
      assert.equal(status, 200, uri);
      assert.equal(body.error?.code, -32602, uri);
    }
  });

  it('names the URI in the error of an unknown resource, cut when it is long', async () => {
    const { body } = await call(server.url, 'resources/read', { uri: 'skill://nowhere/x' });
    assert.match(body.error.message, /skill:\/\/nowhere\/x/);
    assert.equal(body.error.data.uri, 'skill://nowhere/x');
    const long = await call(server.url, 'resources/read', { uri: `skill://${'x'.repeat(100_000)}` }, { era: 'legacy' });
    assert.ok(JSON.stringify(long.body).length < 2000);
  });

  it('serves what moved under its second address and nothing under what was rejected', async () => {
    assert.match((await read('skill://flatsource/alpha'))!, /First skill/);
    assert.match((await read('skill://flatsource/rival--skills-alpha/alpha'))!, /Another first skill/);
    assert.match((await read('skill://flatsource/rival--skills-alpha/alpha/SKILL.md'))!, /Another first skill/);
    const manifest = JSON.parse((await read('skill://flatsource/rival--skills-alpha/alpha/_manifest'))!);
    assert.equal(manifest.skill, 'flatsource/rival--skills-alpha/alpha');
    assert.equal(await read('skill://flatsource/rival--skills-alpha'), undefined);
    assert.equal(await read('skill://flatsource/beta/notes.md'), undefined);
    assert.equal(await read('skill://flatsource/free.md'), 'free');
    assert.match((await read('skill://odd/odd--old-loki/loki'))!, /Moved/);
  });

  it('answers under every URI that it gives out', async () => {
    const rows = await listRows(server.url, { query: '?skills=full' });
    const uris = rows.map(({ uri }) => uri);
    for (const row of rows) {
      const text = (await read(row.uri))!;
      uris.push(...(text.match(/^skill:\/\/[^\s:]+(?=$|:)/gm) ?? []));
    }
    assert.ok(uris.length > 20);
    for (const uri of uris) assert.notEqual(await read(uri), undefined, uri);
  });
});
