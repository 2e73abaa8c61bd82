// A folder laid out by openkata's rules, harvested by a real operator, and an agent that installs from it onto its disk.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { type AnyClient, clients } from './support/clients.ts';
import { type Files, lifetime, until } from './support/gateway.ts';
import { type Harvested, serveHarvested } from './support/harvested.ts';

const sha256 = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

const skill = (version: string, more = ''): string =>
  `---\nname: grill-me\ndescription: Challenge a plan${more}.\nmetadata:\n  tags: category:review, category:architecture\n---\nGrill, as of ${version}.\n`;

/** Every byte there is, which is no UTF-8. */
const everyByte = Uint8Array.from({ length: 256 }, (_, at) => at);

const layout: Files = {
  'versions.json': JSON.stringify({
    skills: {
      'grill-me': {
        version: '1.10.0',
        description: 'Challenge a plan.',
        tags: 'category:review',
        models: { x: { label: 'X', effectiveness: 1, scenarios: [] } },
        tessl: 93,
      },
    },
    rules: {},
    profiles: {},
    generatedBy: 'somebody',
  }),
  'skills/grill-me/1.0.0-rc.1/SKILL.md': skill('1.0.0-rc.1'),
  'skills/grill-me/1.0.0/SKILL.md': skill('1.0.0'),
  'skills/grill-me/1.9.0/SKILL.md': skill('1.9.0'),
  'skills/grill-me/1.9.0/gone-since.txt': 'only here\n',
  'skills/grill-me/1.10.0/SKILL.md': skill('1.10.0', ', spec or design'),
  'skills/grill-me/1.10.0/CHANGELOG.md': 'for authors',
  'skills/grill-me/1.10.0/evals/one/task.md': 'for authors',
  'skills/grill-me/1.10.0/assets/every byte.bin': everyByte,
  'skills/grill-me/1.10.0/assets/nul.txt': 'a\0b',
  'skills/grill-me/1.10.0/notes/bom.txt': '\ufeffone\r\ntwo\r\n',
  'skills/grill-me/1.10.0/notes/größe.md': 'Ünïcode — “quoted”, 𝒶stral.\n',
  'skills/grill-me/1.10.0/empty': '',
  'skills/grill-me/latest/SKILL.md': skill('latest'),
  'skills/grill-me/v0.9/SKILL.md': skill('v0.9'),
  'rules/commit-style/0.1.0/RULE.md': '---\ndescription: How to commit.\n---\nOld.\n',
  'rules/commit-style/0.2.0/RULE.md': '---\ndescription: How to commit.\ntags: [git]\n---\nNew.\n',
  'rules/commit-style/0.2.0/examples/good.md': 'Good.\n',
  'profiles/reviewer/2.0.0/reviewer.md': '---\ndescription: Reviews.\n---\nReview.\n',
  'profiles/reviewer/2.0.0/face.png': everyByte.slice(128),
};

/** What of the layout a version's folder holds that is installed. */
function filesOf(folder: string): Files {
  const own = Object.entries(layout).filter(([path]) => path.startsWith(`${folder}/`));
  return Object.fromEntries(
    own
      .map(([path, content]) => [path.slice(folder.length + 1), content] as const)
      .filter(([path]) => !/^(CHANGELOG|evals)/.test(path)),
  );
}

interface Install {
  name: string;
  manifest: { checksums: Record<string, string> };
  files: Record<string, string>;
  blobs: Record<string, string>;
}

/** As an agent does it. @returns the folder */
async function written(test: TestContext, { manifest, files, blobs }: Install): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lyceum-installed-'));
  test.after(() => rm(folder, { recursive: true, force: true }));
  const put = async (path: string, content: string | Buffer): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  };
  for (const [path, text] of Object.entries(files)) await put(path, text);
  for (const [path, base64] of Object.entries(blobs)) await put(path, Buffer.from(base64, 'base64'));
  await put('.manifest.json', JSON.stringify(manifest, null, 2));
  return folder;
}

async function readAll(folder: string): Promise<Record<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(
    await Promise.all(paths.map(async (path) => [path.slice(folder.length + 1), await readFile(path)] as const)),
  );
}

for (const [line, connect] of Object.entries(clients)) {
  describe(`a folder in openkata's layout, by the SDK's client, ${line}`, () => {
    const suite = lifetime();
    let harvested: Harvested;
    before(async () => {
      harvested = await serveHarvested(suite, { kata: { files: layout } });
    });

    async function json(name: string, args: Record<string, unknown> = {}) {
      const client: AnyClient = await connect(new URL(`${harvested.server.url}/mcp?artifacts=on`));
      try {
        const { isError, content } = await client.callTool({ name, arguments: args });
        assert.equal(isError, undefined, content[0].text);
        return JSON.parse(content[0].text);
      } finally {
        await client.close();
      }
    }

    it('is listed by kind, each artifact once, with its newest version', async () => {
      assert.deepEqual(await json('list_skills'), [
        {
          name: 'grill-me',
          version: '1.10.0',
          description: 'Challenge a plan, spec or design.',
          tags: 'category:review, category:architecture',
          downloads: 0,
        },
      ]);
      assert.deepEqual(await json('list_rules', { tag: 'git' }), [
        { name: 'commit-style', version: '0.2.0', description: 'How to commit.', tags: 'git', downloads: 0 },
      ]);
      assert.deepEqual(
        (await json('list_profiles')).map(({ name, version }: Record<string, string>) => [name, version]),
        [['reviewer', '2.0.0']],
      );
    });

    it('has its versions in the order of SemVer, and behind them by name what is none', async () => {
      const versions = ['1.0.0-rc.1', '1.0.0', '1.9.0', '1.10.0', 'latest', 'v0.9'];
      assert.deepEqual(await json('skill_versions', { skill: 'grill-me' }), versions);
      assert.deepEqual(await json('rule_versions', { rule: 'commit-style' }), ['0.1.0', '0.2.0']);
      assert.deepEqual(await json('profile_versions', { profile: 'reviewer' }), ['2.0.0']);
    });

    for (const [tool, args, folder] of [
      ['install_skill', { skill: 'grill-me' }, 'skills/grill-me/1.10.0'],
      ['install_skill', { skill: 'grill-me', version: '1.9.0' }, 'skills/grill-me/1.9.0'],
      ['install_skill', { skill: 'kata/grill-me', version: '1.0.0-rc.1' }, 'skills/grill-me/1.0.0-rc.1'],
      ['install_skill', { skill: 'grill-me', version: 'latest' }, 'skills/grill-me/latest'],
      ['install_rule', { rule: 'commit-style' }, 'rules/commit-style/0.2.0'],
      ['install_rule', { rule: 'commit-style', version: '0.1.0' }, 'rules/commit-style/0.1.0'],
      ['install_profile', { profile: 'reviewer' }, 'profiles/reviewer/2.0.0'],
    ] as const) {
      it(`is installed onto a disk byte for byte, checksums included: ${folder}`, async (test) => {
        const install: Install = await json(tool, args);
        const { '.manifest.json': manifest, ...onDisk } = await readAll(await written(test, install));
        const wanted = Object.entries(filesOf(folder)).map(
          ([path, content]) => [path, Buffer.from(content as string)] as const,
        );
        assert.deepEqual(Object.keys(onDisk).sort(), wanted.map(([path]) => path).sort());
        for (const [path, bytes] of wanted) assert.ok(onDisk[path]!.equals(bytes), path);
        const { checksums } = JSON.parse(manifest!.toString());
        assert.deepEqual(checksums, Object.fromEntries(wanted.map(([path, bytes]) => [path, sha256(bytes)])));
      });
    }
  });
}

describe('a version that is published', () => {
  it('is listed, told and installed after the refresh, and the ones before stay', async (test) => {
    const { write, server } = await serveHarvested(test, { kata: { files: layout } });
    const client = await clients['2.x, negotiating']!(new URL(`${server.url}/mcp`));
    test.after(() => client.close());
    const json = async (name: string, args: Record<string, unknown> = {}) =>
      JSON.parse((await client.callTool({ name, arguments: args })).content[0].text);
    await write('kata', { 'skills/grill-me/2.0.0/SKILL.md': skill('2.0.0', ' anew') });
    const newest = async () => (await json('list_skills'))[0].version;
    await until('it is served', async () => (await newest()) === '2.0.0');
    assert.deepEqual((await json('skill_versions', { skill: 'grill-me' })).slice(3), [
      '1.10.0',
      '2.0.0',
      'latest',
      'v0.9',
    ]);
    assert.match((await json('install_skill', { skill: 'grill-me' })).files['SKILL.md'], /as of 2\.0\.0/);
    assert.match(
      (await json('install_skill', { skill: 'grill-me', version: '1.10.0' })).files['SKILL.md'],
      /as of 1\.10\.0/,
    );
    await write('kata', { 'skills/grill-me/2.0.0': undefined });
    await until('it is gone', async () => (await newest()) === '1.10.0');
    assert.equal(
      (await client.callTool({ name: 'install_skill', arguments: { skill: 'grill-me', version: '2.0.0' } })).isError,
      true,
    );
  });
});
