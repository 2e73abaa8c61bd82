// The Skills extension (SEP-2640) in both eras: what its clients list, get, read and verify.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { digestOf } from '../../catalogue/digest.ts';
import { skillText } from '../fixtures/operator.ts';
import { type Files, lifetime, serveCatalogue, until } from './support/gateway.ts';
import { type Harvested, serveHarvested } from './support/harvested.ts';
import { type CallOptions, call, readText } from './support/mcp.ts';

const eras = ['modern', 'legacy'] as const;

const nested = `---\r\nname: nested\r\ndescription: >-\r\n  A description\r\n  over two lines.\r\nmetadata:\r\n  version: '1.10'\r\nodd: {version: 1.10, list: [1, two, true], none: null}\r\n---\r\nCRLF stays.\r\n`;

const pack: Files = {
  'skills/aside/SKILL.md': skillText('aside'),
  'skills/aside/.env': 'SECRET=1',
  'skills/aside/references/deep/one.md': 'One.',
  'skills/aside/references/two words, 100%.md': 'Two.',
  'skills/aside/logo.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]),
  'skills/team/nested/SKILL.md': nested,
  'skills/plain/SKILL.md': 'No frontmatter.\n',
  'skills/typed/SKILL.md': '---\nname: typed\ndescription: Typed.\nmetadata:\n  version: 1.0\n---\nText.\n',
  'skills/nameless/SKILL.md': '---\ndescription: The name is the folder’s.\n---\nText.\n',
  'shared/guide.md': '# Guide\n',
  'shared/more/table.csv': 'a,b\n',
  'NOTICE.md': 'Notice.\n',
};

const conforming = ['skill://pack/aside/SKILL.md', 'skill://pack/nested/SKILL.md'];

describe('the Skills extension', () => {
  const suite = lifetime();
  let gateway: Harvested;
  let url: string;
  before(async () => {
    gateway = await serveHarvested(suite, {
      pack: { files: pack, spec: { include: { files: ['shared/**', '*.md'] }, refresh: '2m' } },
      other: { files: { 'skills/aside/SKILL.md': skillText('aside', 'Another.') }, spec: { tags: ['ops'] } },
    });
    url = gateway.server.url;
  });

  const ask = async (method: string, params: Record<string, unknown>, options: CallOptions = {}) =>
    (await call(url, method, params, options)).body;

  for (const era of eras) {
    describe(`in the ${era} era`, () => {
      it('is told among the capabilities, with directories', async () => {
        const { result } =
          era === 'modern'
            ? await ask('server/discover', {})
            : await ask(
                'initialize',
                { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
                { era },
              );
        assert.deepEqual(result.capabilities.extensions, {
          'io.modelcontextprotocol/skills': { directoryRead: true },
        });
        assert.ok(result.capabilities.resources);
      });

      it('lists the skills that conform, each with its frontmatter and every file’s size and digest', async () => {
        const { result } = await ask('skills/list', {}, { era });
        assert.deepEqual(
          result.skills.map(({ uri }: { uri: string }) => uri),
          ['skill://other/aside/SKILL.md', ...conforming],
        );
        const [, aside, crlf] = result.skills;
        assert.deepEqual(aside.frontmatter, { name: 'aside', description: 'What aside is for.' });
        const size = (path: string): number => Buffer.byteLength(pack[path] as string);
        const digest = (path: string): string => digestOf(Buffer.from(pack[path] as string));
        const file = (path: string, listed = path) => ({
          uri: `skill://pack/aside/${listed}`,
          digest: digest(`skills/aside/${path}`),
          size: size(`skills/aside/${path}`),
        });
        assert.deepEqual(aside.resources, [
          file('SKILL.md'),
          file('logo.png'),
          file('references/deep/one.md'),
          file('references/two words, 100%.md', 'references/two%20words%2C%20100%25.md'),
        ]);
        assert.deepEqual(crlf.frontmatter, {
          name: 'nested',
          description: 'A description over two lines.',
          metadata: { version: '1.10' },
          odd: { version: 1.1, list: [1, 'two', true], none: null },
        });
      });

      it('says how long the three answers may be kept, where the era has such fields', async () => {
        for (const [method, params] of [
          ['skills/list', {}],
          ['skills/get', { uri: conforming[0] }],
          ['resources/directory/read', { uri: 'skill://pack/aside' }],
        ] as const) {
          const { result } = await ask(method, params, { era, query: '?library=pack' });
          assert.equal(result.ttlMs, era === 'modern' ? 120_000 : undefined, method);
          assert.equal(result.cacheScope, era === 'modern' ? 'private' : undefined, method);
        }
      });

      it('gets what it lists', async () => {
        const { result } = await ask('skills/list', {}, { era });
        for (const entry of result.skills) {
          const got = await ask('skills/get', { uri: entry.uri }, { era });
          assert.deepEqual(got.result.skill, entry);
        }
      });

      it('refuses what is unknown, what does not conform, and what is out of scope with one answer', async () => {
        const refused = async (uri: string, query = '') => {
          const { error, result } = await ask('skills/get', { uri }, { era, query });
          assert.equal(result, undefined, uri);
          return { ...error, message: error.message.replace(uri, ''), data: { uri: error.data.uri.replace(uri, '') } };
        };
        const unknown = await refused('skill://pack/none/SKILL.md');
        assert.equal(unknown.code, -32602);
        for (const uri of [
          'skill://pack/plain/SKILL.md',
          'skill://pack/nameless/SKILL.md',
          'skill://pack/typed/SKILL.md',
          'skill://pack/aside',
          'skill://pack/aside/',
          'skill://pack/aside/SKILL.md/',
          'skill://pack/aside/skill.md',
          'skill://pack/aside/_manifest',
          'skill://pack/aside/logo.png',
          'skill://pack/%61side/SKILL.md',
          'skill://pack/SKILL.md',
          'skill://SKILL.md',
          'skill://team/nested/SKILL.md',
          'skill://index.json',
          'SKILL.md',
          '',
        ]) {
          assert.deepEqual(await refused(uri), unknown, uri);
        }
        assert.deepEqual(await refused('skill://other/aside/SKILL.md', '?library=pack'), unknown);
        assert.deepEqual(await refused('skill://pack/aside/SKILL.md', '?tags=ops'), unknown);
      });

      it('still reads a skill that it does not tell of', async () => {
        assert.equal(await readText(url, 'skill://pack/plain/SKILL.md', { era }), 'No frontmatter.\n');
      });

      it('lists in scope alone', async () => {
        const listed = async (options: CallOptions) =>
          (await ask('skills/list', {}, { era, ...options })).result.skills.map(({ uri }: { uri: string }) => uri);
        assert.deepEqual(await listed({ query: '?library=pack' }), conforming);
        assert.deepEqual(await listed({ query: '?library=team' }), [conforming[1]]);
        assert.deepEqual(await listed({ query: '?tags=ops' }), ['skill://other/aside/SKILL.md']);
        assert.deepEqual(await listed({ query: '?library=pack', headers: { 'x-skill-library': 'other' } }), [
          'skill://other/aside/SKILL.md',
        ]);
        assert.deepEqual(await listed({ query: '?library=nowhere' }), []);
      });

      it('refuses a cursor that it did not give', async () => {
        const foreign = Buffer.from('d\0pack\x000').toString('base64url');
        for (const cursor of ['', 'x', foreign]) {
          for (const [method, params] of [
            ['skills/list', { cursor }],
            ['resources/directory/read', { uri: 'skill://pack', cursor }],
          ] as const) {
            assert.equal((await ask(method, params, { era })).error?.code, -32602, `${method} ${cursor}`);
          }
        }
      });

      it('needs a uri that is text', async () => {
        for (const method of ['skills/get', 'resources/directory/read']) {
          for (const uri of [undefined, 7, null, ['skill://pack']]) {
            assert.equal((await ask(method, { uri }, { era })).error?.code, -32602, `${method} ${uri}`);
          }
        }
      });

      it('shows the direct children of libraries, folders, skills and folders in skills', async () => {
        const children = async (uri: string) => {
          const { result, error } = await ask('resources/directory/read', { uri }, { era });
          assert.equal(error, undefined, uri);
          return result.resources;
        };
        const folder = (uri: string, more = {}) => ({
          uri,
          name: uri.slice(uri.lastIndexOf('/') + 1),
          mimeType: 'inode/directory',
          ...more,
        });
        assert.deepEqual(await children('skill://pack'), [
          { uri: 'skill://pack/NOTICE.md', name: 'NOTICE.md', mimeType: 'text/markdown', size: 8 },
          folder('skill://pack/aside', { description: 'What aside is for.' }),
          folder('skill://pack/nameless', { description: 'The name is the folder’s.' }),
          folder('skill://pack/nested', { description: 'A description over two lines.' }),
          folder('skill://pack/plain'),
          folder('skill://pack/shared'),
          folder('skill://pack/typed', { description: 'Typed.' }),
        ]);
        assert.deepEqual(await children('skill://pack/shared'), [
          { uri: 'skill://pack/shared/guide.md', name: 'guide.md', mimeType: 'text/markdown', size: 8 },
          folder('skill://pack/shared/more'),
        ]);
        assert.deepEqual(await children('skill://pack/aside'), [
          {
            uri: 'skill://pack/aside/SKILL.md',
            name: 'aside',
            mimeType: 'text/markdown',
            size: Buffer.byteLength(pack['skills/aside/SKILL.md'] as string),
            description: 'What aside is for.',
          },
          { uri: 'skill://pack/aside/logo.png', name: 'logo.png', mimeType: 'image/png', size: 6 },
          folder('skill://pack/aside/references'),
        ]);
        assert.deepEqual(await children('skill://pack/aside/references'), [
          folder('skill://pack/aside/references/deep'),
          {
            uri: 'skill://pack/aside/references/two%20words%2C%20100%25.md',
            name: 'two words, 100%.md',
            mimeType: 'text/markdown',
            size: 4,
          },
        ]);
      });

      it('knows no directory elsewhere, and tells unknown and out of scope alike', async () => {
        const refused = async (uri: string, query = '') => {
          const { error, result } = await ask('resources/directory/read', { uri }, { era, query });
          assert.equal(result, undefined, uri);
          return { ...error, message: error.message.replace(uri, ''), data: { uri: error.data.uri.replace(uri, '') } };
        };
        const unknown = await refused('skill://none');
        assert.equal(unknown.code, -32602);
        for (const uri of [
          'skill://pack/',
          'skill://pack/aside/',
          'skill://',
          'skill:///',
          'skill://team',
          'skill://pack/team',
          'skill://pack/aside/SKILL.md',
          'skill://pack/aside/refer',
          'skill://pack/aside/../aside',
          'skill://pack/%61side',
          'skill://pack/NOTICE.md',
          'skill://pack/shared/guide.md',
          'skill://pack/skills',
          'skill://pack/_files',
        ]) {
          assert.deepEqual(await refused(uri), unknown, uri);
        }
        assert.deepEqual(await refused('skill://other', '?library=pack'), unknown);
        assert.deepEqual(await refused('skill://pack/aside', '?tags=ops'), unknown);
        assert.deepEqual(await refused('skill://pack/shared', '?tags=ops'), unknown);
      });
    });
  }

  for (const [pin, version] of [
    [{ pin: '2026-07-28' }, '2026-07-28'],
    ['legacy', '2025-11-25'],
  ] as const) {
    it(`satisfies the SDK's own skills client, ${version}: every file of every skill is what its entry says`, async () => {
      const client = new Client({ name: 'host', version: '1.0.0' }, { versionNegotiation: { mode: pin } });
      await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
      try {
        assert.equal(client.getNegotiatedProtocolVersion(), version);
        const skills = new SkillsClient(client);
        assert.ok(skills.supported && skills.directoryRead);
        const { skills: entries } = await skills.list();
        assert.equal(entries.length, 3);
        let files = 0;
        for (const entry of entries) {
          assert.deepEqual((await skills.get(entry.uri)).skill, entry);
          assert.ok(Array.isArray(entry.resources));
          for (const { uri } of entry.resources) {
            assert.equal((await skills.read(entry, uri)).verified, true, uri);
            files += 1;
          }
          const walked = await walk(skills, entry.uri.replace('/SKILL.md', ''));
          assert.deepEqual(walked.sort(), entry.resources.map(({ uri }) => uri).sort());
        }
        assert.equal(files, 6);
      } finally {
        await client.close();
      }
    });
  }

  it('follows a new catalogue without being listed anew', async () => {
    await gateway.write('other', { 'skills/late/SKILL.md': skillText('late'), 'skills/late/a/b.md': 'B' });
    await until('the new skill is served', async () => {
      const { result } = await ask('skills/get', { uri: 'skill://other/late/SKILL.md' });
      return result?.skill.resources.length === 2;
    });
    await gateway.write('other', { 'skills/late': undefined });
    await until('it is gone again', async () => {
      const { error } = await ask('skills/get', { uri: 'skill://other/late/SKILL.md' });
      return error?.code === -32602;
    });
  });
});

async function walk(skills: SkillsClient, directory: string): Promise<string[]> {
  const { resources } = await skills.readDirectory(directory);
  const found: string[] = [];
  for (const { uri, mimeType } of resources) {
    if (mimeType === 'inode/directory') found.push(...(await walk(skills, uri)));
    else found.push(uri);
  }
  return found;
}

describe('many skills', () => {
  const suite = lifetime();
  const count = 600;
  const wide = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`data/part-${at}/values-of-it.json`, '{}']));
  let url: string;
  before(async () => {
    const names = Array.from({ length: count }, (_, at) => `skill-${String(at).padStart(4, '0')}`);
    const server = await serveCatalogue(suite, {
      sources: [
        { name: 'many', skills: names.map((address) => ({ address, description: `What ${address} does.` })) },
        {
          name: 'wide',
          skills: Array.from({ length: 6 }, (_, at) => ({ address: `wide-${at}`, description: 'Wide.', files: wide })),
        },
        {
          name: 'rival',
          library: 'many',
          skills: [{ address: 'skill-0001', description: 'A rival.' }],
          moves: [{ kind: 'skill', from: 'skill-0001', to: 'rival--skills-skill-0001/skill-0001' }],
        },
      ],
    });
    url = server.url;
  });

  async function pages(method: string, field: string, params: Record<string, unknown> = {}): Promise<string[][]> {
    const found: string[][] = [];
    let cursor: string | undefined;
    do {
      const { result } = (await call(url, method, { ...params, ...(cursor === undefined ? {} : { cursor }) })).body;
      assert.ok(JSON.stringify(result[field]).length <= 256 * 1024 || result[field].length === 1);
      found.push(result[field].map(({ uri }: { uri: string }) => uri));
      assert.notEqual(result.nextCursor, cursor ?? '');
      cursor = result.nextCursor;
    } while (cursor !== undefined && found.length < 100);
    return found;
  }

  it('come in pages of at most 250 entries or 256 KB, an entry never split, each skill once', async () => {
    const found = await pages('skills/list', 'skills');
    const uris = found.flat();
    assert.equal(uris.length, count + 7);
    assert.equal(new Set(uris).size, uris.length);
    assert.deepEqual(uris, uris.toSorted());
    assert.ok(found.every((page) => page.length <= 250));
    // 601 small entries take three pages, and six of some 70 KB each begin another one.
    assert.ok(found.length >= 4, `${found.length} pages`);
  });

  it('fill a library’s directory in pages, the folders of moved ones among them', async () => {
    const uris = (await pages('resources/directory/read', 'resources', { uri: 'skill://many' })).flat();
    assert.equal(uris.length, count + 1);
    assert.equal(new Set(uris).size, uris.length);
    const moved = 'skill://many/rival--skills-skill-0001';
    assert.ok(uris.includes(moved));
    assert.deepEqual(await pages('resources/directory/read', 'resources', { uri: moved }), [[`${moved}/skill-0001`]]);
    const folders = await pages('resources/directory/read', 'resources', { uri: 'skill://wide/wide-0/data' });
    assert.deepEqual(
      folders.map(({ length }) => length),
      [250, 250],
    );
  });
});
