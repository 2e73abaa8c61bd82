// Marketplaces and plugins: what the manifests at a source's root add to the conventions, and what they are told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { harvest } from '../../operator/harvest/harvest.ts';
import { processorTime } from '../fixtures/processor-time.ts';
import { type Files, harvested, MemoryBlobs, messageOf, rulesOf, skillText, told, treeOf } from './support.ts';

const marketplace = (plugins: unknown, more: object = {}): string => JSON.stringify({ name: 'm', plugins, ...more });

const text = (description: string): string => `---\ndescription: ${description}\n---\nBody.\n`;

/** Kind and address to group. */
async function found(files: Files, rules: Parameters<typeof harvested>[1] = {}) {
  const { artifacts } = await harvested(files, rules);
  return Object.fromEntries(artifacts.map(({ kind, address, group }) => [`${kind} ${address}`, group]));
}

const plugin: Files = {
  'plugins/one/skills/a/SKILL.md': skillText('a'),
  'plugins/one/deep/er/b/SKILL.md': skillText('b'),
  'plugins/one/commands/git/tag.md': 'x',
  'plugins/one/agents/reviewer.md': 'x',
  'plugins/one/agents/README.md': 'x',
  'plugins/one/agents/deep/no.md': 'x',
  'plugins/one/rules/style.md': 'x',
  'plugins/one/rules/README.md': 'x',
  'plugins/one/rules/naming/RULE.md': 'x',
  'plugins/one/rules/naming/more.md': 'x',
  'plugins/one/prompts/no.md': 'x',
};

test('an entry inside the source is a plugin: its skills, commands, agents and rules are found, its name is their group', async () => {
  const files: Files = {
    ...plugin,
    '.claude-plugin/marketplace.json': marketplace([{ name: 'tools', source: './plugins/one' }]),
  };
  assert.deepEqual(await found(files), {
    'skill a': 'tools',
    'skill b': 'tools',
    'prompt git_tag': undefined,
    'rule naming': undefined,
    'rule style': undefined,
    'profile reviewer': undefined,
  });
  const result = await harvested(files);
  assert.deepEqual(told(result), []);
  assert.deepEqual([result.counts.discovered, result.counts.files], [6, 0]);
  assert.deepEqual(result.artifacts.find(({ address }) => address === 'git_tag')!.prompt!.dialect, 'claude');
});

test('manifests count at the source’s root alone, in the folders of the clients', async () => {
  const places = ['', '.claude-plugin/', '.agents/plugins/', '.codex-plugin/', '.cursor-plugin/', '.github/plugin/'];
  for (const place of places) {
    const files = { ...plugin, [`${place}marketplace.json`]: marketplace([{ name: 'tools', source: 'plugins/one' }]) };
    assert.equal((await harvested(files)).counts.skills, 2, place);
  }
  const nested = {
    ...plugin,
    'plugins/.claude-plugin/marketplace.json': marketplace([{ name: 't', source: './one' }]),
  };
  assert.equal((await harvested(nested)).counts.skills, 0);
  const below = await harvested(nested, { subdirectory: 'plugins' });
  assert.equal(below.counts.skills, 2, 'the root is the subdirectory');
});

test('a plugin.json makes the source itself a plugin, which adds what conventions do not know and is no group', async () => {
  const files: Files = {
    '.claude-plugin/plugin.json': JSON.stringify({ name: 'whole', skills: ['./packs/x'] }),
    'packs/x/SKILL.md': skillText('x'),
    'packs/y/SKILL.md': skillText('y'),
    'skills/team/z/SKILL.md': skillText('z'),
    'rules/style.md': 'x',
  };
  assert.deepEqual(await found(files), { 'skill x': 'packs', 'skill z': 'team', 'rule style': undefined });
  assert.deepEqual(told(await harvested(files)), ['NotReached packs']);
});

test('a plugin that is the whole source makes no group, whatever it is called', async () => {
  const files: Files = {
    'skills/a/SKILL.md': skillText('a'),
    'skills/team/b/SKILL.md': skillText('b'),
    '.claude-plugin/marketplace.json': marketplace([{ name: 'Every Thing', source: './' }]),
  };
  assert.deepEqual(await found(files), { 'skill a': undefined, 'skill b': 'team' });
  assert.deepEqual(told(await harvested(files)), []);
});

test('for the root a plugin without a list means what is below skills/, and never a template beside it', async () => {
  const files: Files = {
    '.claude-plugin/marketplace.json': marketplace([{ name: 'all', source: './' }]),
    'skills/a/SKILL.md': skillText('a'),
    'template/SKILL.md': skillText('template'),
  };
  assert.deepEqual(await found(files), { 'skill a': undefined });
});

test('a list of skills narrows a plugin; it may name a skill, its SKILL.md or a folder of skills', async () => {
  const files: Files = {
    'p/a/SKILL.md': skillText('a'),
    'p/b/SKILL.md': skillText('b'),
    'p/c/SKILL.md': skillText('c'),
    'p/many/d/SKILL.md': skillText('d'),
  };
  const entry = { name: 'p', source: './p', skills: ['./a', 'b/SKILL.md', './many/'] };
  const result = await harvested({ ...files, 'marketplace.json': marketplace([entry]) });
  assert.deepEqual(
    result.artifacts.map(({ address }) => address),
    ['a', 'b', 'd'],
  );
  const whole = await harvested({ ...files, 'marketplace.json': marketplace([{ ...entry, skills: [] }]) });
  assert.equal(whole.counts.skills, 4, 'an empty list declares none');
  const word = await harvested({ ...files, 'marketplace.json': marketplace([{ ...entry, skills: './many' }]) });
  assert.equal(word.counts.skills, 1);
  const odd = await harvested({
    ...files,
    'marketplace.json': marketplace([{ ...entry, skills: ['gone', '../q', './a'] }]),
  });
  assert.equal(odd.counts.skills, 1);
  assert.deepEqual(
    told(odd).filter((line) => !line.startsWith('NotReached')),
    ['LinkEscapes marketplace.json', 'NothingMatched marketplace.json'],
  );
});

test('three plugins over one folder of skills are one, and that is no fault', async () => {
  const files: Files = {
    'skills/a/SKILL.md': skillText('a'),
    'skills/b/SKILL.md': skillText('b'),
    '.claude-plugin/marketplace.json': marketplace([
      { name: 'one', source: './', strict: false, skills: ['./skills/a'] },
      { name: 'two', source: './', strict: false, skills: ['./skills/b'] },
    ]),
  };
  const result = await harvested(files);
  assert.deepEqual([result.counts.discovered, result.counts.skills, told(result)], [2, 2, []]);
});

test('a folder that is listed twice counts once, by its first name, and is told', async () => {
  const entries = [
    { name: 'first', source: './plugins/one' },
    { name: 'second', source: 'plugins/one/' },
    { name: 'third', source: './plugins/../plugins/one' },
  ];
  const files: Files = { ...plugin, '.claude-plugin/marketplace.json': marketplace(entries) };
  const result = await harvested(files);
  assert.deepEqual((await found(files))['skill a'], 'first');
  assert.deepEqual(told(result), ['Duplicate .claude-plugin/marketplace.json']);
  assert.match(messageOf(result, 'Duplicate'), /2 times/);
  assert.equal(result.counts.duplicates, 0, 'no artifact is there twice');
  const twice: Files = { ...files, '.agents/plugins/marketplace.json': marketplace([entries[0]]) };
  twice['.claude-plugin/marketplace.json'] = marketplace([entries[0]]);
  assert.deepEqual(told(await harvested(twice)), [], 'each client has its manifest');
});

test('entries that lead out of the source are told and never followed', async () => {
  const entries = ['../other', './a/../../b', '/etc', './plugins\\one', { source: 'local', path: '../..' }].map(
    (source, at) => ({ name: `p${at}`, source }),
  );
  const result = await harvested({ 'a/x.md': 'x', 'marketplace.json': marketplace(entries) });
  assert.deepEqual(
    told(result).filter((line) => line.includes('marketplace')),
    ['LinkEscapes marketplace.json'],
  );
  assert.match(messageOf(result, 'LinkEscapes'), /5 plugins/);
  assert.equal(result.problems[0]!.severity, 'error');
});

test('a thousand plugins: so many folders are looked at, and how many are left out is told', async () => {
  const files: Files = {};
  const entries = Array.from({ length: 1000 }, (_, at) => {
    files[`plugins/p${at}/skills/s${at}/SKILL.md`] = skillText(`s${at}`);
    return { name: `p${at}`, source: `./plugins/p${at}` };
  });
  const result = await harvested({ ...files, 'marketplace.json': marketplace(entries) });
  assert.equal(result.counts.skills, 512);
  assert.match(messageOf(result, 'TooLarge'), /488 are left out, "plugins\/p512" first/);
  assert.deepEqual(told(result), ['NotReached plugins', 'TooLarge marketplace.json']);
});

test('what is kept elsewhere is one problem a manifest, the last of all, with the SkillSources to write', async () => {
  const entries = [
    { name: 'a', source: { source: 'github', repo: 'Org/Tools', ref: 'v1' } },
    { name: 'b', source: { source: 'url', url: 'https://git.example.com/team/skills.git' } },
    {
      name: 'c',
      source: {
        source: 'git-subdir',
        url: 'git@github.com:o/r.git',
        path: './packs/x/',
        ref: 'main',
        sha: 'a'.repeat(40),
      },
    },
    { name: 'd', source: { source: 'npm', package: '@x/y' } },
    { name: 'e', source: 'https://github.com/o/later' },
  ];
  const result = await harvested({
    'skills/s/SKILL.md': skillText('s'),
    'skills/s/.x': 'x',
    'marketplace.json': marketplace(entries),
  });
  assert.deepEqual(result.problems.at(-1), {
    row: 'problem',
    path: 'marketplace.json',
    severity: 'info',
    reason: 'DefinedElsewhere',
    message:
      '5 plugins are kept elsewhere: write a SkillSource for each that is wanted, such as ' +
      `{url: github://Org/Tools, ref: v1}, {url: git+https://git.example.com/team/skills}, ` +
      `{url: github://o/r, subdirectory: packs/x, ref: ${'a'.repeat(40)}}.`,
  });
});

test('no credential and nothing odd of an address is repeated', async () => {
  const entries = [
    { name: 'a', source: { source: 'url', url: 'https://user:hunter2@git.example.com/o/r' } },
    { name: 'b', source: { source: 'url', url: 'https://git.example.com/o/r?token=hunter2' } },
    { name: 'c', source: { source: 'github', repo: 'o/r', ref: 'hunter2 }, {' } },
    { name: 'd', source: { source: 'url', url: `https://git.example.com/${'hunter2'.repeat(100)}` } },
    { name: 'hunter2', source: { source: 'what', password: 'hunter2' } },
  ];
  const result = await harvested({ 'marketplace.json': marketplace(entries) });
  assert.deepEqual(told(result), ['DefinedElsewhere marketplace.json', 'NothingMatched .']);
  assert.doesNotMatch(JSON.stringify(result.problems), /hunter2/);
});

test('the host and path of the source itself are inside it', async () => {
  const files: Files = { 'q/skills/a/SKILL.md': skillText('a') };
  const here = [
    { source: 'github', repo: 'ORG/repo', path: 'q' },
    { source: 'git-subdir', url: 'https://github.com/org/repo.git', path: 'q', ref: 'v2' },
    { source: 'url', url: 'git@github.com:org/repo', path: './q' },
    { source: 'url', url: 'ssh://git@github.com:22/org/repo.git', path: './q' },
    { source: 'local', path: './q' },
  ];
  for (const source of here) {
    const result = await harvested({ ...files, 'marketplace.json': marketplace([{ name: 'g', source }]) });
    assert.deepEqual([result.counts.skills, told(result)], [1, []], JSON.stringify(source));
  }
  const own = { source: 'url', url: 'https://git.example.com:8443/a/b.git', path: 'q' };
  const manifest = { ...files, 'marketplace.json': marketplace([{ name: 'g', source: own }]) };
  assert.equal((await harvested(manifest, { url: 'git+https://git.example.com:8443/a/b' })).counts.skills, 1);
  assert.equal((await harvested(manifest, { url: 'git+https://git.example.com/a/b' })).counts.skills, 0);
  const below = {
    'p/marketplace.json': marketplace([{ name: 'g', source: { source: 'github', repo: 'org/repo', path: 'p/q' } }]),
  };
  const sub = await harvested({ 'p/q/x/SKILL.md': skillText('x'), ...below }, { subdirectory: 'p', include: {} });
  assert.equal(sub.artifacts[0]!.group, 'g');
  const beside = marketplace([{ name: 'g', source: { source: 'github', repo: 'org/repo', path: 'q' } }]);
  const outside = await harvested(
    { 'p/x.md': 'x', 'q/x/SKILL.md': skillText('x'), 'p/marketplace.json': beside },
    { subdirectory: 'p' },
  );
  assert.deepEqual(told(outside), ['LinkEscapes p/marketplace.json', 'NothingMatched p']);
});

test('sources resolve below metadata.pluginRoot, and from the root where nothing is there', async () => {
  const files: Files = { 'plugins/one/skills/a/SKILL.md': skillText('a'), 'two/skills/b/SKILL.md': skillText('b') };
  const manifest = marketplace(
    [
      { name: 'one', source: 'one' },
      { name: 'two', source: './two' },
      { name: 'out', source: '../../x' },
      { name: 'gone', source: './gone' },
    ],
    { metadata: { pluginRoot: './plugins' } },
  );
  const result = await harvested({ ...files, 'marketplace.json': manifest });
  assert.deepEqual(await found({ ...files, 'marketplace.json': manifest }), { 'skill a': 'one', 'skill b': 'two' });
  assert.deepEqual(told(result), ['LinkEscapes marketplace.json', 'NothingMatched marketplace.json']);
  assert.match(messageOf(result, 'NothingMatched'), /"gone"/);
});

test('the deepest plugin gives the group; a name that can be none is told', async () => {
  const files: Files = {
    'a/x/SKILL.md': skillText('x'),
    'a/b/y/SKILL.md': skillText('y'),
    'c/z/SKILL.md': skillText('z'),
    'd/w/SKILL.md': skillText('w'),
    'marketplace.json': marketplace([
      { name: 'outer', source: 'a' },
      { name: 'inner', source: 'a/b' },
      { name: 'Not Valid', source: 'c' },
      { name: 'lib', source: 'd' },
    ]),
  };
  assert.deepEqual(await found(files), {
    'skill w': undefined,
    'skill x': 'outer',
    'skill y': 'inner',
    'skill z': undefined,
  });
  assert.deepEqual(told(await harvested(files)), ['GroupName marketplace.json']);
});

test('what conventions find goes first, then what plugins find, by path', async () => {
  const files: Files = {
    'skills/n/SKILL.md': skillText('n', '1'),
    'b/n/SKILL.md': skillText('n', '2'),
    'a/n/SKILL.md': skillText('n', '3'),
    'a/commands/c.md': text('1'),
    'commands/c.md': text('2'),
    'marketplace.json': marketplace([
      { name: 'pb', source: 'b' },
      { name: 'pa', source: 'a' },
    ]),
  };
  const result = await harvested(files);
  assert.deepEqual(
    result.artifacts.map(({ address, folder }) => [address, folder]),
    [
      ['n', 'skills/n'],
      ['src--a-n/n', 'a/n'],
      ['src--b-n/n', 'b/n'],
      ['c', 'commands/c'],
      ['src--a-commands-c_c', 'a/commands/c'],
    ],
  );
});

test('a list in include replaces the finds of plugins as well; with every kind listed no manifest is read', async () => {
  const files: Files = { ...plugin, 'marketplace.json': marketplace([{ name: 'tools', source: 'plugins/one' }]) };
  const skills = await harvested(files, { include: { skills: ['plugins/*/skills/*'] } });
  assert.deepEqual([skills.counts.skills, skills.counts.prompts], [1, 1]);
  assert.equal(skills.artifacts[0]!.group, 'skills', "the folder's, as everywhere");
  const none = { skills: [], prompts: [], rules: [], profiles: [] };
  const tree = treeOf({ ...files, 'marketplace.json': 'not json' });
  const result = await harvest(tree, rulesOf({ include: none }), new Map(), new MemoryBlobs());
  assert.deepEqual([tree.reads, result.problems], [[], []]);
});

test('nothing hidden becomes visible by a manifest', async () => {
  const files: Files = {
    '.secret/skills/a/SKILL.md': skillText('a'),
    '.secret/commands/c.md': 'x',
    'p/.hidden/b/SKILL.md': skillText('b'),
    'p/.claude/c/SKILL.md': skillText('c'),
    'marketplace.json': marketplace([
      { name: 's', source: './.secret' },
      { name: 'p', source: './p' },
    ]),
  };
  assert.deepEqual(await found(files), { 'skill c': 'p' });
});

test('a manifest that is none is told, and the rest is harvested', async () => {
  const skills: Files = { 'skills/a/SKILL.md': skillText('a') };
  for (const content of ['', '{', '[]', '"x"', '{"plugins": {}}', Buffer.from([0xff, 0xfe, 0])]) {
    const result = await harvested({ ...skills, '.claude-plugin/marketplace.json': content });
    assert.deepEqual(told(result), ['NothingMatched .claude-plugin/marketplace.json'], String(content));
    assert.equal(result.counts.skills, 1);
  }
  const large = await harvested({
    ...skills,
    'marketplace.json': marketplace([{ name: 'x'.repeat(2 ** 20), source: './' }]),
  });
  assert.deepEqual([told(large), large.counts.skills], [['TooLarge marketplace.json'], 1]);
  const huge = await harvested(
    { ...skills, 'marketplace.json': marketplace([{ name: 'x'.repeat(5000), source: './' }]) },
    { limits: { files: 10, fileSize: 1000, totalSize: 10_000 } },
  );
  assert.deepEqual([told(huge), huge.counts.skills], [['TooLarge marketplace.json'], 1]);
  const odd = await harvested({
    ...skills,
    'marketplace.json': `\uFEFF${marketplace([null, 7, {}, { name: 'x' }, { source: 3 }, { source: '' }, { name: {}, source: './skills' }])}`,
  });
  assert.deepEqual(told(odd), ['GroupName marketplace.json', 'NothingMatched marketplace.json']);
  assert.match(messageOf(odd, 'NothingMatched'), /6 entries/);
});

test('plugins in which nothing is found are only to be known', async () => {
  const files: Files = {
    ...plugin,
    'plugins/hooks/hooks.json': '{}',
    'plugins/more/x.md': 'x',
    'marketplace.json': marketplace([
      { name: 'one', source: 'plugins/one' },
      { name: 'two', source: 'plugins/hooks' },
      { name: 'three', source: 'plugins/more' },
    ]),
  };
  const result = await harvested(files);
  assert.deepEqual(
    result.problems.map(({ reason, severity, path }) => [reason, severity, path]),
    [['NothingMatched', 'info', 'marketplace.json']],
  );
  assert.match(messageOf(result, 'NothingMatched'), /2 plugins .*"plugins\/hooks" first/);
});

test("a SKILL.md right in a plugin's skills folder that holds others is rejected", async () => {
  const files: Files = {
    'p/skills/SKILL.md': skillText('all'),
    'p/skills/a/SKILL.md': skillText('a'),
    'marketplace.json': marketplace([{ name: 'p', source: './p' }]),
  };
  const result = await harvested(files);
  assert.deepEqual(told(result), ['SkillRoot p/skills/SKILL.md']);
  assert.deepEqual([result.counts.discovered, result.counts.skills, result.counts.rejected], [2, 1, 1]);
});

test('a SKILL.md that a list names says nothing of those below it', async () => {
  const files: Files = {
    'SKILL.md': skillText('top'),
    'p/a/SKILL.md': skillText('a'),
    'p/a/examples/e/SKILL.md': skillText('e'),
    'template/SKILL.md': skillText('template'),
  };
  const entries = [
    { name: 'x', source: './', skills: ['./SKILL.md'] },
    { name: 'p', source: './p', skills: ['./a/SKILL.md'] },
  ];
  const result = await harvested({ ...files, 'marketplace.json': marketplace(entries) });
  assert.deepEqual(
    result.artifacts.map(({ address }) => address),
    ['a', 'top'],
  );
  assert.deepEqual(told(result), ['NotReached p', 'NotReached template']);
});

test('a SKILL.md at the root counts beside others where a plugin lists it', async () => {
  const files: Files = { 'SKILL.md': skillText('top'), 'skills/a/SKILL.md': skillText('a') };
  const manifest = (skills: string[]) => marketplace([{ name: 'x', source: './', skills }]);
  assert.equal((await harvested({ ...files, 'marketplace.json': manifest(['./']) })).counts.skills, 2);
  assert.equal((await harvested({ ...files, 'marketplace.json': manifest(['./skills/a']) })).counts.skills, 1);
});

test('an unchanged manifest is not read again, and is stored though no row names it', async () => {
  const files: Files = { ...plugin, 'marketplace.json': marketplace([{ name: 'one', source: 'plugins/one' }]) };
  const blobs = new MemoryBlobs();
  const first = treeOf(files);
  const before = await harvest(first, rulesOf(), new Map(), blobs);
  assert.ok(first.reads.includes('marketplace.json'));
  assert.deepEqual(
    before.kept.map((digest) => blobs.bytes.get(digest)?.toString()),
    [files['marketplace.json']],
  );
  const second = treeOf(files);
  const after = await harvest(second, rulesOf(), before.contents, blobs);
  assert.deepEqual([second.reads, after.counts, after.kept], [[], before.counts, before.kept]);
});

test('a manifest that is a pack file too is read once', async () => {
  const files: Files = { ...plugin, 'marketplace.json': marketplace([{ name: 'one', source: 'plugins/one' }]) };
  for (const ids of [true, false]) {
    const tree = treeOf(files, { ids });
    const include = { files: ['marketplace.json'] };
    const result = await harvest(tree, rulesOf({ include }), new Map(), new MemoryBlobs());
    assert.deepEqual(
      result.files.map(({ path }) => path),
      ['marketplace.json'],
    );
    assert.equal(tree.reads.filter((path) => path === 'marketplace.json').length, 1);
  }
});

test('a copy of a manifest is not read for a second time', async () => {
  const manifest = marketplace([{ name: 'one', source: 'plugins/one' }]);
  const tree = treeOf({ ...plugin, 'marketplace.json': manifest, 'copy.json': manifest });
  const include = { files: ['copy.json'] };
  const { files } = await harvest(tree, rulesOf({ include }), new Map(), new MemoryBlobs());
  assert.deepEqual([files.length, tree.reads.includes('copy.json')], [1, false]);
});

test('an excluded manifest is not heard, a linked one is heard once', async () => {
  const manifest = marketplace([
    { name: 'one', source: 'plugins/one' },
    { name: 'gone', source: 'gone' },
  ]);
  const files: Files = { ...plugin, 'marketplace.json': manifest };
  assert.equal((await harvested(files, { exclude: ['marketplace.json'] })).counts.skills, 0);
  const linked = await harvested({ ...files, '.claude-plugin/marketplace.json': { link: '../marketplace.json' } });
  assert.deepEqual([linked.counts.skills, told(linked)], [2, ['NothingMatched marketplace.json']]);
});

test('a crafted manifest is read as fast as others', async () => {
  const long = '/'.repeat(300_000);
  const sources = [
    `./${long}x`,
    `${'../'.repeat(50_000)}x`,
    { source: 'url', url: `https://example.com/${long}x` },
    { source: 'git-subdir', url: 'https://example.com/a/b', path: `${long.slice(0, 100_000)}x` },
  ];
  const spent = processorTime();
  for (const source of sources) {
    const result = await harvested({ 'marketplace.json': marketplace([{ name: 'p', source }]), 'a.md': 'x' });
    assert.ok(result.problems.every(({ message }) => message.length < 1000));
  }
  const skills = Array.from({ length: 60_000 }, (_, at) => `s/${at}`);
  const many = await harvested({ 'marketplace.json': marketplace([{ name: 'p', source: './', skills }]), 'a.md': 'x' });
  assert.deepEqual(told(many), ['NothingMatched .', 'NothingMatched marketplace.json']);
  assert.ok(spent() < 3000, `${spent()} ms`);
});
