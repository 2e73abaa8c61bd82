// What is laid out by openkata's rules, in a folder and in buckets of real S3 servers, harvested by a real operator; and agents
// that list it, choose a version and install it onto their disks.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import type { RunningServer } from '../../server/server.ts';
import { type BucketServerKind, bucketServerKinds, startBucketServer } from '../fixtures/bucket-server.ts';
import { skillText } from '../fixtures/operator.ts';
import { type AnyClient, clients } from './support/clients.ts';
import { type Files, lifetime, type Owner, until } from './support/gateway.ts';
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
  'skills/shared/1.0.0/SKILL.md': skillText('shared', 'Of the kata.'),
};

/** As many files as no page of a bucket's list holds. */
const many: Files = Object.fromEntries(
  Array.from({ length: 1100 }, (_, at) => [`skills/many/1.0.0/data/${at}.txt`, `file ${at}`]),
);
const manyMain = { 'skills/many/1.0.0/SKILL.md': skillText('many') };

/** A source `kata` with the layout beside another one, served. */
interface Place {
  server: RunningServer;
  /** What upstream calls the state of `kata`. */
  revision(): string;
  /** Puts files, or removes those that are undefined, and waits until that is published. */
  write(files: Record<string, string | Uint8Array | undefined>): Promise<void>;
}

const other = { files: { 'skills/shared/SKILL.md': skillText('shared', 'Of the other.') } };
const revisionOf = ({ operator }: Harvested): string =>
  (operator.cluster.status('sources', 'kata') as { revision: string }).revision;

async function inFolder(owner: Owner, files: Files): Promise<Place> {
  const harvested = await serveHarvested(owner, { kata: { files }, other });
  const { server, write } = harvested;
  return { server, revision: () => revisionOf(harvested), write: (changed) => write('kata', changed) };
}

async function inBucket(kind: BucketServerKind, owner: Owner, files: Files): Promise<Place> {
  const bucket = await startBucketServer(kind);
  owner.after(() => bucket.close());
  const put = (some: Files) =>
    bucket.put(
      Object.fromEntries(Object.entries(some).map(([path, content]) => [path, Buffer.from(content as string)])),
    );
  await put(files);
  const spec = { url: bucket.sourceUrl(), secretRef: { name: 'keys' } };
  const harvested = await serveHarvested(owner, { kata: { files: {}, spec }, other }, {}, {}, { keys: bucket.secret });
  return {
    server: harvested.server,
    revision: () => revisionOf(harvested),
    async write(changed) {
      const all = Object.entries(changed);
      await bucket.remove(...all.flatMap(([path, content]) => (content === undefined ? path : [])));
      await put(Object.fromEntries(all.filter((one): one is [string, string | Uint8Array] => one[1] !== undefined)));
      await harvested.write('kata', {});
    },
  };
}

const places: Record<string, (owner: Owner, files: Files) => Promise<Place>> = {
  'a folder': inFolder,
  ...Object.fromEntries(
    bucketServerKinds.map((kind) => [
      `a bucket of ${kind}`,
      (owner: Owner, files: Files) => inBucket(kind, owner, files),
    ]),
  ),
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

for (const [what, placed] of Object.entries(places)) {
  describe(`openkata's layout in ${what}`, () => {
    const suite = lifetime();
    let place: Place;
    before(async () => {
      place = await placed(suite, layout);
    });

    for (const [line, connect] of Object.entries(clients)) {
      describe(`by the SDK's client, ${line}`, () => {
        async function call(name: string, args: Record<string, unknown>, query = '?artifacts=on') {
          const client: AnyClient = await connect(new URL(`${place.server.url}/mcp${query}`));
          try {
            return await client.callTool({ name, arguments: args });
          } finally {
            await client.close();
          }
        }
        const json = async (name: string, args: Record<string, unknown> = {}, query?: string) => {
          const { isError, content } = await call(name, args, query);
          assert.equal(isError, undefined, content[0].text);
          return JSON.parse(content[0].text);
        };
        const failure = async (name: string, args: Record<string, unknown>): Promise<string> => {
          const { isError, content } = await call(name, args);
          assert.equal(isError, true, content[0].text);
          return content[0].text;
        };
        const rows = async (name: string, args = {}, query?: string) =>
          (await json(name, args, query)).map(({ downloads, ...row }: Record<string, unknown>) => {
            assert.ok(Number.isInteger(downloads));
            return row;
          });
        const named = (list: { name: string }[]) => list.map(({ name }) => name);

        it('is listed by kind and sorted by name, each artifact once, with its newest version', async () => {
          assert.deepEqual(await rows('list_skills'), [
            {
              name: 'grill-me',
              version: '1.10.0',
              description: 'Challenge a plan, spec or design.',
              tags: 'category:review, category:architecture',
            },
            { name: 'kata/shared', version: '1.0.0', description: 'What shared is for.' },
            { name: 'other/shared', version: '0.0.0', description: 'What shared is for.' },
          ]);
          assert.deepEqual(await rows('list_rules'), [
            { name: 'commit-style', version: '0.2.0', description: 'How to commit.', tags: 'git' },
          ]);
          assert.deepEqual(await rows('list_profiles'), [
            { name: 'reviewer', version: '2.0.0', description: 'Reviews.' },
          ]);
        });

        it('is filtered by one tag, exactly; nothing is an empty array', async () => {
          assert.deepEqual(named(await rows('list_skills', { tag: 'category:review' })), ['grill-me']);
          for (const tag of ['review', 'Category:review', 'category:review,category:architecture']) {
            assert.equal((await call('list_skills', { tag })).content[0].text, '[]');
          }
        });

        it('has its versions in the order of SemVer, and behind them by name what is none', async () => {
          const versions = ['1.0.0-rc.1', '1.0.0', '1.9.0', '1.10.0', 'latest', 'v0.9'];
          assert.deepEqual(await json('skill_versions', { skill: 'grill-me' }), versions);
          assert.deepEqual(await json('rule_versions', { rule: 'commit-style' }), ['0.1.0', '0.2.0']);
          assert.deepEqual(await json('profile_versions', { profile: 'reviewer' }), ['2.0.0']);
        });

        it('is not there under another name or version, and says so', async () => {
          assert.match(await failure('install_skill', {}), /needs `skill`/);
          assert.match(await failure('install_skill', { skill: 'x' }), /^skill "x" not found/);
          assert.match(await failure('rule_versions', { rule: 'x' }), /^rule "x" not found/);
          const said = await failure('install_profile', { profile: 'reviewer', version: '3.0.0' });
          assert.match(said, /^version 3\.0\.0 not found for reviewer/);
        });

        it('shares a name with another library: the bare one is an error, unless one alone is in scope', async () => {
          assert.match(await failure('install_skill', { skill: 'shared' }), /kata\/shared and other\/shared/);
          assert.match((await json('install_skill', { skill: 'kata/shared' })).files['SKILL.md'], /Of the kata/);
          const scope = '?artifacts=on&library=other';
          assert.deepEqual(named(await rows('list_skills', {}, scope)), ['shared']);
          assert.match((await json('install_skill', { skill: 'shared' }, scope)).files['SKILL.md'], /Of the other/);
        });

        it('says in a manifest where an install is from, and when it was', async () => {
          const { manifest } = await json('install_skill', { skill: 'grill-me' });
          const { installedAt, checksums, ...told } = manifest;
          assert.deepEqual(told, { name: 'grill-me', version: '1.10.0', source: `kata@${place.revision()}` });
          assert.ok(Math.abs(Date.now() - Date.parse(installedAt)) < 60_000 && installedAt.endsWith('Z'));
          assert.ok(Object.keys(checksums).length > 5);
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

        it('counts an install, whichever version, in the lists', async () => {
          const downloads = async (): Promise<number> => (await json('list_rules'))[0].downloads;
          const before = await downloads();
          await json('install_rule', { rule: 'commit-style' });
          await json('install_rule', { rule: 'kata/commit-style', version: '0.1.0' });
          assert.equal(await downloads(), before + 2);
        });
      });
    }

    it('has every file of a version, however many there are', async (test) => {
      const { server } = await placed(test, { ...many, ...manyMain });
      const client = await clients['2.x, negotiating']!(new URL(`${server.url}/mcp`));
      test.after(() => client.close());
      const { content } = await client.callTool({ name: 'install_skill', arguments: { skill: 'many' } });
      const { files, manifest } = JSON.parse(content[0].text);
      assert.equal(Object.keys(files).length, 1101);
      for (const [path, content] of Object.entries(many)) {
        const own = path.slice('skills/many/1.0.0/'.length);
        assert.equal(files[own], content);
        assert.equal(manifest.checksums[own], sha256(Buffer.from(content as string)));
      }
    });

    it('has a version that is published after the next look, for lists, versions and installs alike', async (test) => {
      const { write, server } = await placed(test, layout);
      const client = await clients['2.x, negotiating']!(new URL(`${server.url}/mcp`));
      test.after(() => client.close());
      const json = async (name: string, args: Record<string, unknown> = {}) =>
        JSON.parse((await client.callTool({ name, arguments: args })).content[0].text);
      const newest = async () => (await json('list_skills'))[0].version;
      const installed = async (version?: string): Promise<string> =>
        (await json('install_skill', { skill: 'grill-me', ...(version === undefined ? {} : { version }) })).files[
          'SKILL.md'
        ];
      await write({ 'skills/grill-me/2.0.0/SKILL.md': skill('2.0.0', ' anew') });
      await until('it is served', async () => (await newest()) === '2.0.0');
      const versions = await json('skill_versions', { skill: 'grill-me' });
      assert.deepEqual(versions.slice(3), ['1.10.0', '2.0.0', 'latest', 'v0.9']);
      assert.match(await installed(), /as of 2\.0\.0/);
      assert.match(await installed('1.10.0'), /as of 1\.10\.0/);
      await write({ 'skills/grill-me/2.0.0/SKILL.md': undefined });
      await until('it is gone', async () => (await newest()) === '1.10.0');
      const gone = await client.callTool({ name: 'install_skill', arguments: { skill: 'grill-me', version: '2.0.0' } });
      assert.equal(gone.isError, true);
    });
  });
}
