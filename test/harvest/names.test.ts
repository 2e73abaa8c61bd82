// Names, rivals, duplicates, rejections and what is not advertised.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { addresses, type Files, harvested, messageOf, skillText, told } from './support.ts';

const rows = async (files: Files, rules = {}) =>
  Object.fromEntries((await harvested(files, rules)).artifacts.map(({ address, folder }) => [address, folder]));

test("a skill is named by its frontmatter, else by its folder, else by the folder's slug", async () => {
  const result = await harvested({
    'skills/folder/SKILL.md': skillText('own-name'),
    'skills/other/SKILL.md': skillText('Not Valid'),
    'skills/Ünïcode Näme_1/SKILL.md': skillText('Neither'),
    'skills/plain/SKILL.md': '# no frontmatter',
  });
  assert.deepEqual(addresses(result), ['other', 'own-name', 'plain', 'unicode-name-1']);
  assert.deepEqual(
    result.artifacts.map(({ name }) => name),
    addresses(result),
  );
  assert.deepEqual(
    told(result).filter((line) => line.startsWith('NameMended')),
    ['NameMended skills/Ünïcode Näme_1/SKILL.md'],
  );
  assert.match(messageOf(result, 'NameMended'), /name: unicode-name-1/);
  assert.equal(result.counts.rejected, 0);
});

test('a slug is cut to 64 characters', async () => {
  const long = `A${'b'.repeat(70)}`;
  assert.deepEqual(addresses(await harvested({ [`skills/${long}/SKILL.md`]: '# x' })), [`a${'b'.repeat(63)}`]);
});

test('only a skill left with no name at all is rejected', async () => {
  const result = await harvested({
    'skills/日本/SKILL.md': skillText('日本'),
    'skills/日/SKILL.md': skillText('fine'),
  });
  assert.deepEqual(addresses(result), ['fine']);
  assert.deepEqual(told(result), ['BadFileName skills/日本/SKILL.md']);
  assert.deepEqual([result.counts.discovered, result.counts.rejected], [2, 1]);
});

test('empty, unreadable and oversized SKILL.md files are rejected by name; the rest goes on', async () => {
  const result = await harvested(
    {
      'skills/empty/SKILL.md': '',
      'skills/blank/SKILL.md': ' \n',
      'skills/utf16/SKILL.md': Buffer.from('\uFEFF---\nname: a\n', 'utf16le'),
      'skills/large/SKILL.md': skillText('large', 'd', 'x'.repeat(2000)),
      'skills/ok/SKILL.md': skillText('ok'),
    },
    { limits: { files: 100, fileSize: 1000, totalSize: 100_000 } },
  );
  assert.deepEqual(addresses(result), ['ok']);
  assert.deepEqual(told(result), [
    'Empty skills/blank/SKILL.md',
    'Empty skills/empty/SKILL.md',
    'NotText skills/utf16/SKILL.md',
    'TooLarge skills/large/SKILL.md',
  ]);
  assert.ok(result.problems.every(({ severity }) => severity === 'error'));
  assert.deepEqual([result.counts.discovered, result.counts.rejected, result.counts.skills], [5, 4, 1]);
});

test('what does not conform is served, not advertised, and told once with the line', async () => {
  const result = await harvested({
    'skills/a/SKILL.md': '---\nname: a\n---\n',
    'skills/b/SKILL.md': '---\nname: b\ndescription: x: y\n---\n',
    'skills/c/SKILL.md': skillText('c'),
  });
  assert.deepEqual(
    result.artifacts.map(({ advertised }) => advertised),
    [false, false, true],
  );
  assert.deepEqual(told(result), [
    'LenientYaml skills/b/SKILL.md:3',
    'NotAdvertised skills/a/SKILL.md',
    'NotAdvertised skills/b/SKILL.md:3',
  ]);
  assert.deepEqual(result.artifacts[1]!.frontmatter, { name: 'b', description: 'x: y' });
});

test('a skill of more than 512 files or 16 MiB is not advertised', async () => {
  const files: Files = { 'skills/many/SKILL.md': skillText('many'), 'skills/edge/SKILL.md': skillText('edge') };
  for (let at = 0; at < 512; at++) files[`skills/many/${at}`] = 'x';
  for (let at = 0; at < 511; at++) files[`skills/edge/${at}`] = 'x';
  files['skills/big/SKILL.md'] = skillText('big');
  for (let at = 0; at < 5; at++) files[`skills/big/${at}`] = Buffer.alloc(3.5 * 1024 * 1024, at);
  const result = await harvested(files);
  assert.deepEqual(
    result.artifacts.map(({ address, advertised }) => [address, advertised]),
    [
      ['big', false],
      ['edge', true],
      ['many', false],
    ],
  );
  assert.deepEqual(told(result), ['NotAdvertised skills/big/SKILL.md', 'NotAdvertised skills/many/SKILL.md']);
});

test('problems never repeat what a file says', async () => {
  const secret = 'hunter2: hunter2';
  const result = await harvested({
    'skills/a/SKILL.md': `---\nname: ${secret}\ndescription: ${secret}\nkey: *${secret}\n---\n${secret}`,
    'skills/b/SKILL.md': `---\nname: Hunter2 Name\ndescription: [hunter2\n---\n`,
  });
  assert.ok(result.problems.length > 0);
  assert.doesNotMatch(JSON.stringify(result.problems), /hunter2/i);
});

test('of two rivals the earlier convention keeps the address, the other moves', async () => {
  const files: Files = {
    '.claude/skills/x/SKILL.md': skillText('x', 'Second.'),
    'skills/g/x/SKILL.md': skillText('x', 'First.'),
  };
  assert.deepEqual(await rows(files), { x: 'skills/g/x', 'src--claude-skills-x/x': '.claude/skills/x' });
  const result = await harvested(files);
  assert.deepEqual(told(result), ['Moved .claude/skills/x/SKILL.md']);
  assert.match(messageOf(result, 'Moved'), /lib\/x is taken by skills\/g\/x\/SKILL\.md.*lib\/src--claude-skills-x\/x/);
  assert.deepEqual([result.counts.discovered, result.counts.skills], [2, 2]);
});

test('within a convention the order is by folder, outer first, segment by segment', async () => {
  const files: Files = {
    'skills/b/SKILL.md': skillText('n', '1'),
    'skills/a/z/SKILL.md': skillText('n', '2'),
    'skills/b/inner/SKILL.md': skillText('n', '3'),
  };
  assert.deepEqual(await rows(files), {
    n: 'skills/a/z',
    'src--skills-b/n': 'skills/b',
    'src--skills-b-inner/n': 'skills/b/inner',
  });
  const dot: Files = { 'skills/a.b/SKILL.md': skillText('n', '1'), 'skills/a/z/SKILL.md': skillText('n', '2') };
  assert.equal((await rows(dot)).n, 'skills/a/z', '`a` is before `a.b`, though `.` is before `/`');
});

test('the order of a list is the order of rights', async () => {
  const files: Files = { 'a/x/SKILL.md': skillText('n', '1'), 'b/x/SKILL.md': skillText('n', '2') };
  assert.equal((await rows(files, { include: { skills: ['b/*', 'a/*'] } })).n, 'b/x');
  assert.equal((await rows(files, { include: { skills: ['{b,a}/*'] } })).n, 'a/x');
});

test('equal slugs get eight hex digits of the SHA-256 of their path', async () => {
  const hex = (folder: string) => createHash('sha256').update(folder).digest('hex').slice(0, 8);
  const files: Files = {
    'skills/0/SKILL.md': skillText('n', '0'),
    'skills/a b/SKILL.md': skillText('n', '1'),
    'skills/a-b/SKILL.md': skillText('n', '2'),
    'skills/a_b/SKILL.md': skillText('n', '3'),
  };
  assert.deepEqual(await rows(files), {
    n: 'skills/0',
    'src--skills-a-b/n': 'skills/a b',
    [`src--skills-a-b-${hex('skills/a-b')}/n`]: 'skills/a-b',
    [`src--skills-a-b-${hex('skills/a_b')}/n`]: 'skills/a_b',
  });
  const two: Files = { 'skills/a b/SKILL.md': skillText('n', '1'), 'skills/a-b/SKILL.md': skillText('n', '2') };
  assert.deepEqual(
    Object.keys(await rows(two)),
    ['n', `src--skills-a-b-${hex('skills/a-b')}/n`],
    "the holder's slug counts",
  );
});

test('a qualifier is made of the folder below the subdirectory, and is not cut', async () => {
  const long = 'x'.repeat(120);
  const files: Files = {
    'p/skills/a/SKILL.md': skillText('n', '1'),
    [`p/skills/${long}/SKILL.md`]: skillText('n', '2'),
  };
  assert.deepEqual(Object.keys(await rows(files, { subdirectory: 'p', source: 'my-pack' })).sort(), [
    `my-pack--skills-${long}/n`,
    'n',
  ]);
});

test('byte-identical copies are one artifact, and each is told', async () => {
  const files: Files = {
    'skills/x/SKILL.md': skillText('x'),
    'skills/x/a.md': 'a',
    '.claude/skills/x/SKILL.md': skillText('x'),
    '.claude/skills/x/a.md': 'a',
    '.agents/skills/x/SKILL.md': skillText('x'),
    '.agents/skills/x/a.md': 'b',
    '.agents/skills/y/SKILL.md': skillText('x'),
    '.agents/skills/y/a.md': 'b',
  };
  const result = await harvested(files);
  assert.deepEqual(addresses(result), ['src--agents-skills-x/x', 'x']);
  assert.deepEqual(told(result), [
    'Duplicate .agents/skills/y/SKILL.md',
    'Duplicate .claude/skills/x/SKILL.md',
    'Moved .agents/skills/x/SKILL.md',
  ]);
  assert.match(messageOf(result, 'Duplicate'), /\.agents\/skills\/x\/SKILL\.md/);
  assert.deepEqual([result.counts.discovered, result.counts.skills, result.counts.duplicates], [4, 2, 2]);
});

test('folders that differ in a file too large to be read are not taken for copies', async () => {
  const files: Files = {
    'skills/x/SKILL.md': skillText('x'),
    'skills/x/big': '1'.repeat(2000),
    '.claude/skills/x/SKILL.md': skillText('x'),
    '.claude/skills/x/big': '2'.repeat(2000),
  };
  const limits = { files: 10, fileSize: 1000, totalSize: 10_000 };
  assert.equal((await harvested(files, { limits })).counts.duplicates, 0);
});

test('version and tags of a row come from the frontmatter', async () => {
  const { artifacts } = await harvested({
    'skills/a/SKILL.md': '---\nname: a\ndescription: d\nversion: 1.10\ntags: [x]\n---\n',
  });
  assert.deepEqual([artifacts[0]!.version, artifacts[0]!.tags], ['1.10', ['x']]);
  assert.deepEqual(artifacts[0]!.frontmatter, { name: 'a', description: 'd', version: 1.1, tags: ['x'] });
});
