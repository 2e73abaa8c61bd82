// The harvest as a whole: what is read, what is remembered, the same result in any order, and the sum that always holds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf } from '../../catalogue/digest.ts';
import {
  artifactRowSchema,
  countsSchema,
  packFileRowSchema,
  problemRowSchema,
} from '../../catalogue/source-catalogue.ts';
import { type HarvestRules, harvest, type KnownContents } from '../../operator/harvest/harvest.ts';
import type { Tree } from '../../operator/source/source.ts';
import { type Files, harvested, MemoryBlobs, rulesOf, skillText, treeOf } from './support.ts';

/** Numbers from 0 to below 1, the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test('only what is wanted and not known is read, and main files are parsed again from what is stored', async () => {
  const files: Files = {
    'skills/a/SKILL.md': skillText('a'),
    'skills/a/x.md': 'x',
    'skills/b/SKILL.md': skillText('b'),
    'src/large.c': 'x',
  };
  const blobs = new MemoryBlobs();
  const first = treeOf(files);
  const before = await harvest(first, rulesOf(), new Map(), blobs);
  assert.deepEqual(first.reads.sort(), ['skills/a/SKILL.md', 'skills/a/x.md', 'skills/b/SKILL.md']);
  const second = treeOf({ ...files, 'skills/b/SKILL.md': skillText('b', 'Changed.') });
  const after = await harvest(second, rulesOf(), before.contents, blobs);
  assert.deepEqual(second.reads, ['skills/b/SKILL.md']);
  assert.equal(after.artifacts[0]!.description, 'Says what a does.');
  assert.equal(after.artifacts[1]!.description, 'Changed.');
  assert.deepEqual(
    [...after.contents.keys()].sort(),
    second.entries
      .slice(0, 3)
      .map(({ id }) => id)
      .sort(),
  );
});

test('what is known and no longer stored is read again', async () => {
  const files: Files = { 'skills/a/SKILL.md': skillText('a') };
  const { contents } = await harvest(treeOf(files), rulesOf(), new Map(), new MemoryBlobs());
  const tree = treeOf(files);
  const blobs = new MemoryBlobs();
  await harvest(tree, rulesOf(), contents, blobs);
  assert.deepEqual(tree.reads, ['skills/a/SKILL.md']);
  assert.equal(blobs.bytes.size, 1);
});

test('a raised fileSize reads what was too large, a lowered one rejects what was not', async () => {
  const files: Files = { 'skills/a/SKILL.md': skillText('a'), 'skills/a/x': 'x'.repeat(500) };
  const blobs = new MemoryBlobs();
  const run = async (fileSize: number, known: KnownContents) => {
    const tree = treeOf(files, { fileSize });
    const result = await harvest(tree, rulesOf({ limits: { files: 10, fileSize, totalSize: 10_000 } }), known, blobs);
    return { paths: result.artifacts[0]!.files.map(({ path }) => path), reads: tree.reads, contents: result.contents };
  };
  const small = await run(400, new Map());
  assert.deepEqual(small.paths, ['SKILL.md']);
  const again = await run(400, small.contents);
  assert.deepEqual([again.paths, again.reads], [['SKILL.md'], []]);
  const raised = await run(600, again.contents);
  assert.deepEqual([raised.paths, raised.reads], [['SKILL.md', 'x'], ['skills/a/x']]);
  const lowered = await run(400, raised.contents);
  assert.deepEqual([lowered.paths, lowered.reads], [['SKILL.md'], []]);
});

test('files with one id are read once, files without an id each', async () => {
  const files: Files = { 'skills/a/SKILL.md': skillText('a'), 'skills/a/x': 'same', 'skills/a/y': 'same' };
  const named = treeOf(files);
  await harvest(named, rulesOf(), new Map(), new MemoryBlobs());
  assert.equal(named.reads.length, 2);
  const unnamed = treeOf(files, { ids: false });
  const result = await harvest(unnamed, rulesOf(), new Map(), new MemoryBlobs());
  assert.equal(unnamed.reads.length, 3);
  assert.equal(result.contents.size, 0);
  assert.equal(result.artifacts[0]!.files.length, 3);
});

test('a file that was listed and does not arrive fails the harvest, it is never left out', async () => {
  const tree: Tree = { ...treeOf({ 'skills/a/SKILL.md': skillText('a') }), read: async () => {} };
  await assert.rejects(harvest(tree, rulesOf(), new Map(), new MemoryBlobs()), { reason: 'UpstreamInvalid' });
});

test('what a tree or a store throws is thrown on', async () => {
  const tree = treeOf({ 'skills/a/SKILL.md': skillText('a') });
  const full = new MemoryBlobs();
  full.add = () => {
    throw new Error('the volume is full');
  };
  await assert.rejects(harvest(tree, rulesOf(), new Map(), full), /volume is full/);
});

test('a harvest that is aborted ends with the reason of the abort', async () => {
  const files: Files = { 'skills/a/SKILL.md': skillText('a') };
  const blobs = new MemoryBlobs();
  const signal = AbortSignal.abort(new Error('time is up'));
  await assert.rejects(harvest(treeOf(files), rulesOf(), new Map(), blobs, signal), /time is up/);
  const { contents } = await harvest(treeOf(files), rulesOf(), new Map(), blobs);
  await assert.rejects(harvest(treeOf(files), rulesOf(), contents, blobs, signal), /time is up/);
});

test('no more than ten thousand problems are published, the worst first, and all are counted', async () => {
  const files: Files = { 'skills/a/SKILL.md': skillText('a'), 'z/_manifest/b\\c': 'x' };
  const pointer = 'version https://git-lfs.github.com/spec/v1\n';
  for (let at = 0; at < 10_005; at++) files[`x/${at}`] = pointer;
  const { problems, counts } = await harvested(files, { include: { files: ['x/*'] } });
  assert.equal(counts.problems, 10_006);
  assert.equal(problems.length, 10_000);
  assert.equal(problems[0]!.reason, 'BadFileName');
});

test('every byte that is served is stored under its digest', async () => {
  const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0x0d, 0x0a, 0, 0xff]);
  const blobs = new MemoryBlobs();
  const files: Files = { 'skills/a/SKILL.md': `\uFEFF${skillText('a').replaceAll('\n', '\r\n')}`, 'skills/a/b': bytes };
  const result = await harvest(treeOf(files), rulesOf(), new Map(), blobs);
  for (const { digest, path, size } of result.artifacts[0]!.files) {
    const stored = blobs.bytes.get(digest)!;
    assert.equal(digestOf(stored), digest);
    assert.deepEqual(stored, Buffer.from(files[`skills/a/${path}`] as string));
    assert.equal(stored.length, size);
  }
  assert.equal(result.fileCount, 2);
  assert.equal(
    result.size,
    [...blobs.bytes.values()].reduce((sum, { length }) => sum + length, 0),
  );
});

/** A tree out of a small vocabulary, so that names, folders and contents collide all the time. */
function randomFiles(random: () => number): Files {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const files: Files = {};
  const count = 5 + Math.floor(random() * 60);
  for (let at = 0; at < count; at++) {
    const folders = Array.from({ length: Math.floor(random() * 4) }, () =>
      pick(['skills', 'x', 'Y z', '.claude', '.hidden', '日', 'inner', 'node_modules', 'a_b', 'lib']),
    );
    const name = pick([
      'SKILL.md',
      'SKILL.md',
      'SKILL.md',
      'Skill.md',
      'a.md',
      '.env',
      '_manifest',
      'x',
      'b\\c',
      'link',
    ]);
    const path = [...folders, name].join('/');
    files[path] =
      name === 'link'
        ? { link: pick(['skills', '../x', '..', '../../../etc', 'gone', '/abs', 'link', '../.claude/skills']) }
        : pick<string | Buffer>([
            '',
            '# text',
            skillText('one'),
            skillText('one', 'Other.'),
            skillText('Not Valid'),
            '---\nname: two\n',
            '---\nname: a: b\n---\n',
            Buffer.from([0xff]),
            'x'.repeat(3000),
          ]);
  }
  return files;
}

/** The same for the other kinds, with manifests of plugins over them. */
function randomPack(random: () => number): Files {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const folders = [
    'prompts',
    'commands',
    'agents',
    'rules',
    'profiles',
    '.github',
    '.claude',
    '.cursor',
    'instructions',
    'x',
    'p q',
  ];
  const names = [
    'a.md',
    'a.md',
    'A.md',
    'a.prompt.md',
    'RULE.md',
    'x.md',
    'x.mdc',
    'x.agent.md',
    'x.instructions.md',
    'README.md',
  ];
  const files: Files = {};
  const path = (): string =>
    [...Array.from({ length: Math.floor(random() * 4) }, () => pick(folders)), pick(names)].join('/');
  for (let at = 0; at < 5 + random() * 60; at++) {
    files[path()] = pick<Files[string]>([
      '',
      '# text',
      'Uses {{ x }}.',
      '---\narguments: [{name: x}]\n---\n{{ x }} $1',
      '---\narguments: [{name: x, required: true, default: 1}]\n---\n{{ x }}',
      '---\nnever closed\n',
      '---\nglobs: **/*\n---\n',
      Buffer.from([0xff]),
      'x'.repeat(3000),
      { link: pick(['a.md', '../x', '../prompts/a.md', 'gone']) },
    ]);
  }
  for (const at of ['AGENTS.md', 'CLAUDE.md', 'skills/s/SKILL.md']) if (random() < 0.5) files[at] = skillText('s');
  const plugins = folders
    .slice(3)
    .map((source) => ({ name: source, source: pick([source, `./${source}/`, `../${source}`, './']) }));
  files[pick(['marketplace.json', '.claude-plugin/marketplace.json', 'x/marketplace.json'])] = JSON.stringify({
    plugins,
  });
  return files;
}

test('discovered is served, duplicates and rejected, in the order of no list, whatever the tree', async () => {
  const random = randomOf(20261130);
  const limits = { files: 1000, fileSize: 2000, totalSize: 1_000_000 };
  let discovered = 0;
  let duplicates = 0;
  let moved = 0;
  const seen = { skill: 0, prompt: 0, rule: 0, profile: 0 };
  for (let round = 0; round < 400; round++) {
    const files = round % 4 === 3 ? randomPack(random) : randomFiles(random);
    const lists: HarvestRules['include'][] = [
      {},
      { skills: ['**'], prompts: ['**/*.md'], rules: ['**', '.cursor/**'], profiles: ['**/*'] },
      { skills: ['**/SKILL.md', 'SKILL.md'], files: ['**/*', '.hidden/**'] },
    ];
    const include = lists[Math.floor(random() * lists.length)]!;
    const result = await harvested(files, { include, limits });
    const { counts, artifacts, files: pack, problems } = result;
    const served = counts.skills + counts.prompts + counts.rules + counts.profiles;
    assert.equal(counts.discovered, served + counts.duplicates + counts.rejected, JSON.stringify(files));
    assert.equal(served, artifacts.length);
    assert.equal(counts.files, pack.length);
    assert.equal(counts.problems, problems.length);
    const keys = artifacts.map(({ kind, address }) => `${kind} ${address}`);
    assert.equal(new Set(keys).size, artifacts.length, 'every artifact has an address of its own');
    for (const artifact of artifacts) {
      artifactRowSchema.parse(artifact);
      assert.ok(artifact.files.some(({ path }) => path === artifact.main));
      assert.equal(artifact.prompt !== undefined, artifact.kind === 'prompt');
      seen[artifact.kind as keyof typeof seen]++;
      assert.equal(new Set(artifact.files.map(({ path }) => path)).size, artifact.files.length);
    }
    pack.map((row) => packFileRowSchema.parse(row));
    problems.map((row) => problemRowSchema.parse(row));
    countsSchema.parse(counts);
    const shuffled = Object.fromEntries(Object.entries(files).sort(() => random() - 0.5));
    assert.deepEqual(
      await harvested(shuffled, { include, limits }).then(({ contents: _, ...rest }) => rest),
      (({ contents: _, ...rest }) => rest)(result),
    );
    discovered += counts.discovered;
    duplicates += counts.duplicates;
    moved += problems.filter(({ reason }) => reason === 'Moved').length;
  }
  assert.ok(discovered > 500 && duplicates > 20 && moved > 20, `${discovered} ${duplicates} ${moved}`);
  for (const [kind, count] of Object.entries(seen)) assert.ok(count > 200, `${count} of kind ${kind}`);
});

test('fifty thousand entries are harvested quickly, and nothing else is held up', async () => {
  const files: Files = {};
  for (let skill = 0; skill < 2000; skill++) {
    const folder = `skills/group-${skill % 40}/skill-${skill}`;
    files[`${folder}/SKILL.md`] = skillText(`skill-${skill}`);
    for (let at = 0; at < 24; at++) files[`${folder}/references/file-${at}.md`] = `${skill % 100} ${at}`;
  }
  const tree = treeOf(files);
  const blobs = new MemoryBlobs();
  const before = await harvest(
    {
      ...tree,
      read: async (wanted, sink) => {
        for (const entry of wanted) await sink.take(entry, Buffer.from(files[entry.path] as string));
      },
    },
    rulesOf(),
    new Map(),
    blobs,
  );
  assert.equal(before.counts.skills, 2000);
  let longest = 0;
  let last = process.threadCpuUsage();
  const timer = setInterval(() => {
    longest = Math.max(longest, process.threadCpuUsage(last).user);
    last = process.threadCpuUsage();
  }, 1);
  const cpu = process.cpuUsage();
  try {
    const after = await harvest(
      { ...tree, read: () => assert.fail('nothing is read') },
      rulesOf(),
      before.contents,
      blobs,
    );
    assert.equal(after.fileCount, 50_000);
  } finally {
    clearInterval(timer);
  }
  const { user } = process.cpuUsage(cpu);
  assert.ok(user < 2_500_000, `${user / 1000} ms of CPU`);
  assert.ok(longest < 100_000, `held up for ${longest / 1000} ms of its CPU`);
});
