// `lyceum check`: an author is told before the push what the source's status would say after it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { startBucketServer } from '../fixtures/bucket-server.ts';
import { GitFixture } from '../fixtures/git-repository.ts';
import { startGitServer } from '../fixtures/git-server.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { skillText } from '../fixtures/operator.ts';
import { Publisher, folder as publisherFolder, sha256 } from '../fixtures/publisher.ts';

let root: string;

before(async () => {
  root = await mkdtemp(join(tmpdir(), 'lyceum-check-test-'));
});
after(() => rm(root, { recursive: true, force: true }));

async function folder(name: string, files: Record<string, string>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name, path)), { recursive: true });
    await writeFile(join(root, name, path), text);
  }
  return join(root, name);
}

async function check(...args: string[]): Promise<{ code: number | null; output: string; errors: string }> {
  await using process = new LyceumProcess(['check', ...args]);
  const code = await process.ended();
  return { code, output: process.output.join('\n'), errors: process.errors.join('\n') };
}

const lenient = '---\nname: broken\ndescription: Use when: it breaks\n---\nx\n';

test('a folder without problems: what would be served, exit 0', async () => {
  const { code, output } = await check(await folder('good', { 'skills/one/SKILL.md': skillText('one') }));
  assert.equal(code, 0);
  assert.match(output, /1 skill of 1 would be served, 0 problems/);
});

test('a problem is printed as path:line: severity reason: message; a warning alone is exit 0', async () => {
  const { code, output } = await check(await folder('warned', { 'skills/broken/SKILL.md': lenient }));
  assert.equal(code, 0);
  assert.match(output, /^skills\/broken\/SKILL\.md:3: warning LenientYaml: .+/m);
});

test('a name that a terminal would obey is printed with escapes', async () => {
  const file = 'skills/one/\x1b]0;title\x07\u202e.bin';
  const pack = await folder('terminal', {
    'skills/one/SKILL.md': skillText('one'),
    [file]: 'version https://git-lfs.github.com/spec/v1\n',
  });
  const { output } = await check(pack);
  assert.match(output, /^skills\/one\/\\u001b\]0;title\\u0007\\u202e\.bin: warning LfsPointer: /m);
  const { sources } = JSON.parse((await check('--json', pack)).output);
  assert.equal(sources[0].problems[0].path, file);
});

test("a publisher's discovery index is checked by its URL", async (t) => {
  const publisher = await Publisher.start(t);
  const text = skillText('one');
  publisher.answers.set(`${publisherFolder}/one/SKILL.md`, text);
  publisher.index([
    { name: 'one', type: 'skill-md', description: 'One.', url: 'one/SKILL.md', digest: sha256(text) },
    { name: 'two', type: 'skill-md', description: 'Two.', url: 'two/SKILL.md', digest: sha256(text) },
  ]);
  const { output, errors } = await check(publisher.url);
  assert.match(output, /^127-0-0-1 .*1 skill of 1 would be served, 1 problem/, errors);
  assert.match(output, /^skills\/two\/SKILL\.md: error NotFetched: /m);
  const other = await check(publisher.url.replace('agent-skills/index.json', 'agent-skills/skills.json'));
  assert.equal(other.code, 2);
  assert.match(other.errors, /https:\/\/HOST\/\.well-known\/agent-skills\/index\.json/);
});

test('a bucket that everybody may read is checked by its URL, in the region that is named', async () => {
  const server = await startBucketServer('versitygw');
  try {
    await server.put({ 'my packs/skills/one/SKILL.md': skillText('one'), 'my packs/skills/broken/SKILL.md': lenient });
    const closed = await check(server.sourceUrl('my%20packs'));
    assert.equal(closed.code, 2);
    assert.match(closed.output, /AccessDenied: .*name a Secret with accessKeyId and secretAccessKey/);
    await server.makePublic();
    const { code, output, errors } = await check(server.sourceUrl('my%20packs'), '--region', 'us-east-1');
    assert.equal(code, 0, errors);
    assert.match(output, /^my-20packs .*2 skills of 2 would be served, 2 problems/);
    assert.match(output, /^skills\/broken\/SKILL\.md:3: warning LenientYaml: /m);
    const astray = await check(server.sourceUrl('my%20pakcs'));
    assert.equal(astray.code, 2);
    assert.match(astray.output, /NotFound: .*nothing below "my pakcs\/"/);
    const folderWithRegion = await check(
      '--region',
      'us-east-1',
      await folder('plain', { 'skills/one/SKILL.md': skillText('one') }),
    );
    assert.equal(folderWithRegion.code, 2);
    assert.match(folderWithRegion.errors, /--region is for a bucket only/);
  } finally {
    await server.close();
  }
});

test('pipes and broken links that are called like manifests stop no check of a folder', async () => {
  const pack = await folder('pipes', { 'skills/one/SKILL.md': skillText('one') });
  execFileSync('mkfifo', [join(pack, 'a.yaml')]);
  await symlink('nowhere', join(pack, 'b.yaml'));
  const { code, output } = await check(pack);
  assert.match(output, /1 skill of 1 would be served/);
  assert.match(output, /^a\.yaml: error SpecialFile: /m);
  assert.equal(code, 1);
});

test('something rejected is exit 1', async () => {
  const pack = await folder('rejected', { 'skills/one/SKILL.md': skillText('one'), 'skills/empty/SKILL.md': '' });
  const { code, output } = await check(pack);
  assert.equal(code, 1);
  assert.match(output, /^skills\/empty\/SKILL\.md: error Empty: /m);
  assert.match(output, /1 skill of 2 would be served, 1 rejected/);
});

test('every kind is counted, and may be listed from the command line', async () => {
  const pack = await folder('kinds', {
    'skills/one/SKILL.md': skillText('one'),
    'prompts/ask.md': '---\narguments: [{name: what}]\n---\n{{ what }}',
    'prompts/bad.md': '{{ what }}',
    'ask/other.prompt.md': 'x',
    'AGENTS.md': '# Agents',
    'people/ann.md': 'x',
  });
  const plain = await check(pack);
  assert.equal(plain.code, 1);
  assert.match(plain.output, /: 1 skill, 1 prompt, 1 rule of 4 would be served, 1 rejected, 2 problems$/m);
  const lists = ['--skills', 'none', '--prompts', 'ask/*', '--rules', 'none', '--profiles', 'people/*'];
  const { sources } = JSON.parse((await check('--json', pack, ...lists)).output);
  assert.deepEqual(
    [sources[0].skills, sources[0].rules, sources[0].profiles.map(({ address }: { address: string }) => address)],
    [[], [], ['ann']],
  );
  assert.deepEqual(sources[0].prompts, [
    { address: 'other', name: 'other', version: '0.0.0', folder: 'ask/other', dialect: 'copilot', arguments: [] },
  ]);
});

test('--json prints one document with counts, skills and problems', async () => {
  const { code, output } = await check('--json', await folder('json', { 'skills/empty/SKILL.md': '' }));
  assert.equal(code, 1);
  const { sources } = JSON.parse(output);
  assert.equal(sources[0].counts.rejected, 1);
  assert.equal(sources[0].problems[0].reason, 'Empty');
});

test('versions are counted, and --json lists them from old to new', async () => {
  const pack = await folder('versions', {
    'skills/one/1.0.0/SKILL.md': skillText('one'),
    'skills/one/1.10.0/SKILL.md': skillText('one'),
    'skills/one/1.9.0/SKILL.md': skillText('one'),
    'skills/one/next/SKILL.md': skillText('one'),
    'rules/two/0.1.0/RULE.md': '# Two',
    'rules/two/0.2.0/RULE.md': '',
    'profiles/three/three.md': 'Three.',
  });
  const { code, output } = await check(pack);
  assert.equal(code, 1);
  assert.match(output, /: 1 skill, 1 rule, 1 profile of 3 would be served in 6 versions, 1 problem$/m);
  assert.match(output, /^rules\/two\/0\.2\.0\/RULE\.md: error Empty: /m);
  const [{ skills, rules, profiles }] = JSON.parse((await check('--json', pack)).output).sources;
  assert.deepEqual(skills, [
    {
      address: 'one',
      name: 'one',
      version: '1.10.0',
      versions: ['1.0.0', '1.9.0', '1.10.0', 'next'],
      folder: 'skills/one',
      advertised: true,
    },
  ]);
  assert.deepEqual([rules[0].version, rules[0].versions, rules[0].folder], ['0.1.0', ['0.1.0'], 'rules/two']);
  assert.deepEqual(profiles, [{ address: 'three', name: 'three', version: '0.0.0', folder: 'profiles/three' }]);
});

test('globs, excludes and a subdirectory can be tried from the command line', async () => {
  const pack = await folder('globs', {
    'packs/a/one/SKILL.md': skillText('one'),
    'packs/a/two/SKILL.md': skillText('two'),
    'packs/shared/x.md': 'x',
  });
  const { output } = await check(
    pack,
    '--subdirectory',
    'packs',
    '--skills',
    'a/*',
    '--exclude',
    'a/two/**',
    '--files',
    'shared/**',
  );
  assert.match(output, /1 skill of 1 would be served, 1 pack file/);
});

test('a repository is checked by its URL, a ref that is not there is exit 2', async () => {
  const git = await startGitServer({ root });
  try {
    const repository = await GitFixture.create(join(root, 'pack.git'));
    await repository.commitFiles({ 'skills/one/SKILL.md': skillText('one') });
    const good = await check(git.sourceUrl('pack.git'));
    assert.equal(good.code, 0);
    assert.match(good.output, /main@sha1:[0-9a-f]{40}\): 1 skill of 1/);
    const bad = await check(git.sourceUrl('pack.git'), '--ref', 'nowhere');
    assert.equal(bad.code, 2);
    assert.match(bad.output, /NotFound/);
  } finally {
    await git.close();
  }
});

test('manifests are checked: refused ones by file and line, good ones by what they would serve', async () => {
  const pack = await folder('manifests', {
    'pack/skills/one/SKILL.md': skillText('one'),
    'lyceum.yaml': [
      'apiVersion: lyceum.dev/v1alpha1\nkind: SkillSource\nmetadata: {name: pack}\nspec: {url: "file:///pack"}',
      'apiVersion: lyceum.dev/v1alpha1\nkind: SkillSource\nmetadata: {name: bad}\nspec: {url: "ftp://x", refresh: 1s}',
    ].join('\n---\n'),
  });
  for (const target of [pack, join(pack, 'lyceum.yaml')]) {
    const { code, output } = await check(target);
    assert.equal(code, 1);
    assert.match(output, /^lyceum\.yaml:\d+: SkillSource bad: /m);
    assert.match(output, /^pack \(file:\/\/\/pack, sha256:[0-9a-f]+\): 1 skill of 1 would be served/m);
  }
});

test('manifests without a SkillSource are said to have none', async () => {
  const gateway = 'apiVersion: lyceum.dev/v1alpha1\nkind: SkillGateway\nmetadata: {name: agents}';
  const { code, output } = await check(await folder('gateway-alone', { 'lyceum.yaml': gateway }));
  assert.equal(code, 0);
  assert.match(output, /^No SkillSource is here/);
});

test('a target that is nothing is said with what it may be', async () => {
  const { code, errors } = await check(join(root, 'nowhere'));
  assert.equal(code, 2);
  assert.match(errors, /neither a folder, nor a YAML file, nor a URL/);
});

test('a web address, an scp address and a ref for a folder are refused with what to write', async () => {
  for (const target of ['https://github.com/a/b', 'git@github.com:a/b', 'configmap://x']) {
    const { code, errors } = await check(target);
    assert.equal(code, 2);
    assert.match(errors, /github:\/\/OWNER\/REPOSITORY/);
  }
  const { code, errors } = await check(
    await folder('no-ref', { 'skills/one/SKILL.md': skillText('one') }),
    '--ref',
    'main',
  );
  assert.equal(code, 2);
  assert.match(errors, /--ref is for a git URL only/);
});
