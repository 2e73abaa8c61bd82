// Which files are served: those of skills, pack files, hidden and reserved ones, and the limits on them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf } from '../../catalogue/digest.ts';
import { problem } from '../../catalogue/problem.ts';
import { harvest } from '../../operator/harvest/harvest.ts';
import {
  addresses,
  type Files,
  filePaths,
  harvested,
  MemoryBlobs,
  messageOf,
  rulesOf,
  skillText,
  told,
  treeOf,
} from './support.ts';

const packPaths = ({ files }: Awaited<ReturnType<typeof harvested>>) => files.map(({ path }) => path);

test('pack files are those that include.files names outside every skill, none without it', async () => {
  const files: Files = {
    'skills/a/SKILL.md': skillText('a'),
    'skills/a/ref.md': 'r',
    'README.md': 'r',
    'shared/guide.md': 'g',
    'shared/nested/schema.json': '{}',
  };
  assert.deepEqual(packPaths(await harvested(files)), []);
  assert.deepEqual(packPaths(await harvested(files, { include: { files: ['**/*'] } })), [
    'README.md',
    'shared/guide.md',
    'shared/nested/schema.json',
  ]);
  assert.deepEqual(packPaths(await harvested(files, { include: { files: ['shared/*', 'skills/**'] } })), [
    'shared/guide.md',
  ]);
  assert.deepEqual(told(await harvested(files, { include: { files: ['shared/*', 'skills/**'] } })), []);
});

test("the files of skills that are rejected, duplicates or links are nobody's pack files", async () => {
  const files: Files = {
    'skills/a/SKILL.md': skillText('a'),
    'skills/a/x.md': 'x',
    '.claude/skills/a/SKILL.md': skillText('a'),
    '.claude/skills/a/x.md': 'x',
    'skills/empty/SKILL.md': '',
    'skills/empty/x.md': 'x',
    '.agents/skills/a': { link: '../../skills/a' },
  };
  assert.deepEqual(packPaths(await harvested(files, { include: { files: ['**/*'] } })), []);
});

test('hidden pack files are passed over in silence, unless their dot parts are named', async () => {
  const files: Files = {
    '.env': 'x',
    'a/.gitkeep': '',
    '.github/x.md': 'x',
    '.vscode/s.json': '{}',
    'docs/.nav/y.md': 'y',
    'z.md': 'z',
  };
  const off = { skills: [] };
  assert.deepEqual(packPaths(await harvested(files, { include: { ...off, files: ['**/*'] } })), [
    '.github/x.md',
    'z.md',
  ]);
  const named = await harvested(files, { include: { ...off, files: ['.env', '.vscode/**', 'docs/*/y.md'] } });
  assert.deepEqual(packPaths(named), ['.env', '.vscode/s.json']);
  assert.deepEqual(told(named), ['NothingMatched .']);
});

test('hidden files inside a skill are left out and counted once a skill', async () => {
  const files: Files = {
    'skills/a/SKILL.md': skillText('a'),
    'skills/a/.env': 'x',
    'skills/a/.claude/b.md': 'x',
    'skills/a/sub/.hidden/SKILL.md': skillText('hidden'),
    'skills/a/.zshrc': 'z',
  };
  const result = await harvested(files);
  assert.deepEqual(filePaths(result, 'a'), ['SKILL.md']);
  assert.deepEqual(told(result), ['HiddenFiles skills/a']);
  assert.match(messageOf(result, 'HiddenFiles'), /^4 hidden files/);
  const named = await harvested(files, { include: { files: ['**/.zshrc'] } });
  assert.deepEqual(filePaths(named, 'a'), ['.zshrc', 'SKILL.md']);
  assert.deepEqual(packPaths(named), []);
  assert.match(messageOf(named, 'HiddenFiles'), /^3 hidden files/);
});

test("a skill's own folder may stand below a dot folder", async () => {
  const result = await harvested({ '.claude/skills/a/SKILL.md': skillText('a'), '.claude/skills/a/x.md': 'x' });
  assert.deepEqual(filePaths(result, 'a'), ['SKILL.md', 'x.md']);
});

test('a file that would answer where something else does is left out', async () => {
  const files: Files = {
    'skills/a/SKILL.md': skillText('a'),
    'skills/a/_manifest': 'x',
    'skills/a/sub/_manifest': 'fine',
    _files: 'x',
    '_rules/r.md': 'x',
    'docs/_files': 'fine',
  };
  const result = await harvested(files, { include: { files: ['**/*'] } });
  assert.deepEqual(filePaths(result, 'a'), ['SKILL.md', 'sub/_manifest']);
  assert.deepEqual(packPaths(result), ['docs/_files']);
  assert.deepEqual(told(result), [
    'ReservedName _files',
    'ReservedName _rules/r.md',
    'ReservedName skills/a/_manifest',
  ]);
});

test('a pack file at or below the address of a skill is rejected by name', async () => {
  const files: Files = {
    'skills/docs/SKILL.md': skillText('docs'),
    'docs/a/b.md': 'x',
    'docs2/a.md': 'y',
    'skills/x/SKILL.md': skillText('x'),
    x: 'x',
  };
  const result = await harvested(files, { include: { files: ['docs*/**', 'x'] } });
  assert.deepEqual(packPaths(result), ['docs2/a.md']);
  assert.deepEqual(told(result), ['AddressTaken docs/a/b.md', 'AddressTaken x']);
});

test('a pack file below the second address of a rival is rejected too', async () => {
  const files: Files = {
    'skills/a/SKILL.md': skillText('same'),
    'skills/b/SKILL.md': skillText('same', 'Another.'),
    'src--skills-b/same/x.md': 'x',
    'src--skills-b/other.md': 'x',
  };
  const result = await harvested(files, { include: { files: ['src--skills-b/**'] } });
  assert.deepEqual(addresses(result), ['same', 'src--skills-b/same']);
  assert.deepEqual(packPaths(result), ['src--skills-b/other.md']);
});

test('files are listed by code point, with digest, size, type and whether they are text', async () => {
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff]);
  const files: Files = {
    'skills/a/SKILL.md': skillText('a'),
    'skills/a/b/z.md': 'z',
    'skills/a/b.md': 'b',
    'skills/a/logo.png': png,
    'skills/a/\uFF5E': 'x',
    'skills/a/\u{1F600}': 'y',
  };
  const { artifacts } = await harvested(files);
  assert.deepEqual(
    artifacts[0]!.files.map(({ path }) => path),
    ['SKILL.md', 'b.md', 'b/z.md', 'logo.png', '\uFF5E', '\u{1F600}'],
  );
  assert.deepEqual(artifacts[0]!.files[3], {
    path: 'logo.png',
    digest: digestOf(png),
    size: 5,
    mediaType: 'image/png',
    text: false,
  });
});

test('NFC and NFD, a NO-BREAK SPACE, brackets and blanks are names like any other', async () => {
  const names = ['\u00e9.md', 'e\u0301.md', '\u00a0', 'SKILL (1).md', '[...type].astro', 'a#b?.md', '100%.md', '...'];
  const files: Files = {
    'skills/a/SKILL.md': skillText('a'),
    ...Object.fromEntries(names.filter((name) => name !== '...').map((name) => [`skills/a/${name}`, name])),
  };
  const result = await harvested(files);
  assert.equal(filePaths(result, 'a')!.length, names.length);
  assert.deepEqual(told(result), []);
});

test('unfit names are problems, the rest is harvested', async () => {
  const files: Files = {
    'skills/a/SKILL.md': skillText('a'),
    'skills/a/b\\c.md': 'x',
    'skills/a/d\ne': 'x',
    'skills/../../e': 'x',
  };
  const result = await harvested(files);
  assert.deepEqual(filePaths(result, 'a'), ['SKILL.md']);
  assert.deepEqual(told(result), [
    'BadFileName skills/../../e',
    'BadFileName skills/a/b\\c.md',
    'BadFileName skills/a/d\\u000ae',
  ]);
});

test('what the listing had to leave out is told where the harvest looks', async () => {
  const files: Files = { 'p/skills/a/SKILL.md': skillText('a') };
  const problems = ['p/lib', 'other', 'p/x/node_modules/y'].map((path) => problem('Submodule', path, 'Not followed.'));
  const result = await harvest(
    treeOf(files, { problems }),
    rulesOf({ subdirectory: 'p' }),
    new Map(),
    new MemoryBlobs(),
  );
  assert.deepEqual(told(result), ['Submodule p/lib']);
});

test('a supporting file over fileSize is left out by name, the skill is served', async () => {
  const files: Files = {
    'skills/a/SKILL.md': skillText('a'),
    'skills/a/big.bin': 'x'.repeat(101),
    'pack.bin': 'x'.repeat(200),
  };
  const limits = { files: 10, fileSize: 100, totalSize: 1000 };
  const result = await harvested(files, { limits, include: { files: ['*.bin'] } });
  assert.deepEqual(filePaths(result, 'a'), ['SKILL.md']);
  assert.equal(result.counts.files, 0);
  assert.deepEqual(told(result), ['TooLarge pack.bin', 'TooLarge skills/a/big.bin']);
  assert.match(messageOf(result, 'TooLarge'), /200 bytes.*spec\.limits\.fileSize/);
});

test('limits.files counts what is wanted, not what is there', async () => {
  const files: Files = { 'skills/a/SKILL.md': skillText('a') };
  for (let at = 0; at < 30; at++) files[`other/${at}.md`] = 'x';
  const limits = { files: 10, fileSize: 1000, totalSize: 100_000 };
  assert.equal((await harvested(files, { limits })).counts.skills, 1);
  await assert.rejects(harvested(files, { limits, include: { files: ['other/*'] } }), {
    name: 'SourceFault',
    reason: 'LimitExceeded',
    message: /10 files.*spec\.limits\.files/,
  });
});

test('limits.totalSize counts what is wanted, known or not', async () => {
  const files: Files = {
    'skills/a/SKILL.md': skillText('a'),
    'skills/a/x': 'x'.repeat(600),
    'skills/a/y': 'y'.repeat(600),
    z: 'z'.repeat(5000),
  };
  const tight = { files: 10, fileSize: 1000, totalSize: 1000 };
  const roomy = { ...tight, totalSize: 2000 };
  const exceeded = { reason: 'LimitExceeded', message: /1000 bytes.*spec\.limits\.totalSize/ };
  await assert.rejects(harvested(files, { limits: tight }), exceeded);
  const blobs = new MemoryBlobs();
  const first = await harvest(treeOf(files, { fileSize: 1000 }), rulesOf({ limits: roomy }), new Map(), blobs);
  await assert.rejects(harvest(treeOf(files), rulesOf({ limits: tight }), first.contents, blobs), exceeded);
});

test('skills nested in each other cannot multiply their files without bound', async () => {
  const files: Files = {};
  let folder = 'skills';
  for (let depth = 0; depth < 40; depth++) {
    folder += `/s${depth}`;
    files[`${folder}/SKILL.md`] = skillText(`s${depth}`);
  }
  for (let at = 0; at < 50; at++) files[`${folder}/${at}.md`] = 'x';
  await assert.rejects(harvested(files, { limits: { files: 100, fileSize: 1000, totalSize: 100_000 } }), {
    reason: 'LimitExceeded',
    message: /inside skills/,
  });
});

test('LFS pointers are served as they are, and told', async () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 12345\n`;
  const result = await harvested({ 'skills/a/SKILL.md': skillText('a'), 'skills/a/x.png': pointer });
  assert.deepEqual(filePaths(result, 'a'), ['SKILL.md', 'x.png']);
  assert.deepEqual(told(result), ['LfsPointer skills/a/x.png']);
});
