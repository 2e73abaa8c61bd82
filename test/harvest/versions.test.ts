// Versions of skills, rules and profiles: openkata's layout in any tree, which row comes first, and what is no version.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf } from '../../catalogue/digest.ts';
import { type HarvestResult, harvest } from '../../operator/harvest/harvest.ts';
import type { Tree } from '../../operator/source/source.ts';
import { heldUp } from '../fixtures/held-up.ts';
import {
  addresses,
  type Files,
  harvested,
  MemoryBlobs,
  messageOf,
  rulesOf,
  skillText,
  told,
  treeOf,
} from './support.ts';

/** `address version` of each row, in the order of the catalogue. */
const versions = ({ artifacts }: HarvestResult, kind = 'skill'): string[] =>
  artifacts.filter((row) => row.kind === kind).map(({ address, version }) => `${address} ${version}`);

const skillVersions = (name: string, ...all: string[]): Files =>
  Object.fromEntries(
    all.map((version) => [`skills/${name}/${version}/SKILL.md`, skillText(name, `Version ${version}.`)]),
  );

const ruleText = (title: string): string => `---\ntitle: ${title}\n---\nAlways.\n`;

test('each version folder of a skill, rule or profile is one version; counts count artifacts', async () => {
  const result = await harvested({
    ...skillVersions('deploy', '1.0.0', '1.10.0', '1.9.0'),
    ...skillVersions('test', '0.1.0'),
    'skills/deploy/1.9.0/references/why.md': 'Because.',
    'rules/review/1.0.0/RULE.md': ruleText('Review'),
    'rules/review/2.0.0/RULE.md': ruleText('Review'),
    'rules/review/2.0.0/CHANGELOG.md': '# 2.0.0',
    'profiles/architect/0.1.0/architect.md': 'You draw.',
    'profiles/architect/0.2.0/architect.md': 'You draw better.',
    'profiles/architect/0.2.0/RATIONALE.md': 'Why.',
  });
  assert.deepEqual(versions(result), ['deploy 1.10.0', 'deploy 1.9.0', 'deploy 1.0.0', 'test 0.1.0']);
  assert.deepEqual(versions(result, 'rule'), ['review 2.0.0', 'review 1.0.0']);
  assert.deepEqual(versions(result, 'profile'), ['architect 0.2.0', 'architect 0.1.0']);
  const { skills, rules, profiles, discovered, rejected, duplicates, problems } = result.counts;
  assert.deepEqual([skills, rules, profiles, discovered, rejected, duplicates, problems], [2, 1, 1, 4, 0, 0, 0]);
  assert.deepEqual(told(result), []);
  assert.equal(result.fileCount, 11);
  const why = result.artifacts.find(({ version }) => version === '1.9.0')!;
  assert.deepEqual(
    [why.folder, why.versionsIn, why.group, why.main, why.files.map(({ path }) => path)],
    ['skills/deploy/1.9.0', 'skills/deploy', undefined, 'SKILL.md', ['SKILL.md', 'references/why.md']],
  );
  const architect = result.artifacts.at(-2)!;
  assert.deepEqual([architect.main, architect.files.length], ['architect.md', 2]);
});

test('the first row is the highest SemVer, whatever else there is; then new to old', async () => {
  const mixed = await harvested(skillVersions('a', '1.0.0', 'latest', '2.0.0-rc.1', '2.0.0', 'v3.0.0', '10.0.0-beta'));
  assert.deepEqual(
    versions(mixed),
    ['10.0.0-beta', 'v3.0.0', 'latest', '2.0.0', '2.0.0-rc.1', '1.0.0'].map((version) => `a ${version}`),
  );
  assert.deepEqual(told(mixed), []);
  const odd = ['__proto__', 'constructor', 'ü b', '%2e%2e', '<script>', '_manifest', '\u202e1.0.0'];
  const named = await harvested(skillVersions('a', '1.0.0', ...odd));
  assert.deepEqual(new Set(named.artifacts.map(({ version }) => version)), new Set(['1.0.0', ...odd]));
  assert.deepEqual([named.artifacts[0]!.version, told(named)], ['1.0.0', []]);
});

test("an artifact's name is the newest version's, or its folder's; what older ones are called changes nothing", async () => {
  const result = await harvested({
    'skills/old-name/1.0.0/SKILL.md': skillText('old-name'),
    'skills/old-name/2.0.0/SKILL.md': skillText('new-name'),
    'skills/Odd_Name/1.0.0/SKILL.md': '---\nname: fine\ndescription: x\n---\n',
    'skills/Odd_Name/1.1.0/SKILL.md': '---\ndescription: x\n---\n',
    'rules/Code_Style/1.0.0/RULE.md': 'Always.',
  });
  assert.deepEqual(versions(result), ['new-name 2.0.0', 'new-name 1.0.0', 'odd-name 1.1.0', 'odd-name 1.0.0']);
  assert.deepEqual(
    result.artifacts.map(({ name }) => name),
    ['new-name', 'new-name', 'odd-name', 'odd-name', 'code-style'],
  );
  assert.deepEqual(versions(result, 'rule'), ['code-style 1.0.0']);
  assert.deepEqual(told(result), [
    'NameMended skills/Odd_Name/1.1.0/SKILL.md',
    'NotAdvertised skills/Odd_Name/1.1.0/SKILL.md',
  ]);
});

test('that an older version would not be advertised is no problem, since none but the newest is', async () => {
  const files = { ...skillVersions('a', '2.0.0'), 'skills/a/1.0.0/SKILL.md': '---\nname: a\n---\n' };
  const result = await harvested(files);
  assert.deepEqual(told(result), []);
  assert.deepEqual(
    result.artifacts.map(({ advertised }) => advertised),
    [true, false],
  );
});

test("below a subdirectory the layout begins there, and the version is the folder's, whatever the frontmatter says", async () => {
  const files: Files = { 'catalogue/skills/a/1.0.0/SKILL.md': '---\nname: a\nversion: 9.9.9\ndescription: x\n---\n' };
  const inside = await harvested(files, { subdirectory: 'catalogue' });
  assert.deepEqual(versions(inside), ['a 1.0.0']);
  assert.equal(inside.artifacts[0]!.versionsIn, 'skills/a');
});

test("elsewhere an artifact has one version: its frontmatter's, its metadata's, else 0.0.0, as they are written", async () => {
  const skill = (fields: string): string => `---\nname: a\ndescription: x\n${fields}---\n`;
  for (const [fields, version] of [
    ['version: 1.10\n', '1.10'],
    ['version: "2.0.0"\nmetadata: {version: "3.0.0"}\n', '2.0.0'],
    ['metadata: {version: 1.0}\n', '1.0'],
    ['version: [1]\nmetadata: {version: "3.0.0"}\n', '3.0.0'],
    ['version: one two\n', '0.0.0'],
    ['', '0.0.0'],
  ] as const) {
    const result = await harvested({ 'skills/a/SKILL.md': skill(fields) });
    assert.deepEqual(versions(result), [`a ${version}`], fields);
    assert.equal(result.artifacts[0]!.versionsIn, undefined);
  }
  const others = await harvested({
    'rules/r/RULE.md': '---\nversion: 1.10\n---\nAlways.',
    'profiles/p/p.md': '---\nmetadata:\n  version: 2.0\n---\nYou.',
    'prompts/q.md': 'Do.',
  });
  assert.deepEqual(
    others.artifacts.map(({ kind, version }) => `${kind} ${version}`),
    ['prompt 0.0.0', 'rule 1.10', 'profile 2.0'],
  );
});

test('groups are no versions: not without a SemVer in them, nor elsewhere than right below skills/', async () => {
  const result = await harvested({
    'skills/grafana/loki/SKILL.md': skillText('loki'),
    'skills/grafana/tempo/SKILL.md': skillText('tempo'),
    'skills/years/2024/SKILL.md': skillText('old'),
    'skills/years/2025/SKILL.md': skillText('new'),
    'skills/1.0.0/of-a-group/SKILL.md': skillText('of-a-group'),
    'skills/deep/group/1.0.0/SKILL.md': skillText('deeper'),
    '.claude/skills/2.0.0/SKILL.md': skillText('of-claude'),
  });
  assert.deepEqual(
    result.artifacts.map(({ address, group, version }) => `${address} ${group} ${version}`),
    [
      'deeper group 0.0.0',
      'loki grafana 0.0.0',
      'new years 0.0.0',
      'of-a-group undefined 0.0.0',
      'of-claude undefined 0.0.0',
      'old years 0.0.0',
      'tempo grafana 0.0.0',
    ],
  );
  assert.deepEqual(told(result), ['GroupName skills/1.0.0']);
});

test('a skill of a group is none of the versions that stand beside it, where it is called as its folder', async () => {
  const files = {
    ...skillVersions('tools', '1.0.0', 'next'),
    'skills/tools/helm/SKILL.md': skillText('helm'),
    'skills/Bad_Group/1.0.0/SKILL.md': skillText('bad'),
    'skills/Bad_Group/kubectl/SKILL.md': skillText('kubectl'),
  };
  const result = await harvested(files);
  assert.deepEqual(
    result.artifacts.map(({ address, group, version }) => `${address} ${group} ${version}`),
    [
      'bad undefined 1.0.0',
      'helm tools 0.0.0',
      'kubectl undefined 0.0.0',
      'tools undefined 1.0.0',
      'tools undefined next',
    ],
  );
  assert.equal(result.counts.discovered, 4);
});

test('a main file beside version folders makes them ordinary folders, which is told, and none is lost', async () => {
  const result = await harvested({
    ...skillVersions('a', '1.0.0', '2.0.0'),
    'skills/a/SKILL.md': skillText('a', 'The one in front.'),
    'rules/r/RULE.md': 'Always.',
    'rules/r/1.0.0/RULE.md': 'Never.',
    'profiles/p/p.md': 'You.',
    'profiles/p/1.0.0/p.md': 'You too.',
  });
  assert.deepEqual(versions(result), ['a 0.0.0', 'src--skills-a-1-0-0/a 0.0.0', 'src--skills-a-2-0-0/a 0.0.0']);
  assert.equal(result.artifacts[0]!.description, 'The one in front.');
  assert.deepEqual([versions(result, 'rule'), versions(result, 'profile')], [['r 0.0.0'], ['p 0.0.0']]);
  assert.deepEqual(told(result), [
    'Moved skills/a/1.0.0/SKILL.md',
    'Moved skills/a/2.0.0/SKILL.md',
    'NotReached rules',
    'NothingMatched profiles/p/p.md',
    'NothingMatched rules/r/RULE.md',
    'NothingMatched skills/a/SKILL.md',
  ]);
  assert.deepEqual(
    result.artifacts.at(-2)!.files.map(({ path }) => path),
    ['1.0.0/RULE.md', 'RULE.md'],
  );
});

test('what lies in the folder of a version is of that version, main files too', async () => {
  const result = await harvested(
    {
      ...skillVersions('a', '1.0.0', '2.0.0'),
      'skills/a/1.0.0/examples/inner/SKILL.md': skillText('inner'),
      'skills/a/2.0.0/examples/inner/SKILL.md': skillText('inner'),
      'rules/r/1.0.0/RULE.md': 'Always.',
      'rules/r/1.0.0/more/RULE.md': 'Never.',
    },
    { include: { rules: ['rules/**'] } },
  );
  assert.deepEqual(versions(result), ['a 2.0.0', 'a 1.0.0']);
  assert.deepEqual(versions(result, 'rule'), ['r 1.0.0']);
  assert.deepEqual(
    result.artifacts[0]!.files.map(({ path }) => path),
    ['SKILL.md', 'examples/inner/SKILL.md'],
  );
  assert.deepEqual(told(result), []);
});

test('a version that cannot be served is an error by its path, and the others are served', async () => {
  const result = await harvested(
    {
      ...skillVersions('a', '1.0.0'),
      'skills/a/1.1.0/SKILL.md': '',
      'skills/a/1.2.0/SKILL.md': Buffer.from([0x2d, 0xff, 0xfe]),
      'skills/a/1.3.0/SKILL.md': skillText('a', 'x', 'x'.repeat(300)),
      'skills/a/1.4.0/README.md': 'No main file.',
      'rules/r/1.0.0/RULE.md': ' \n',
      'rules/r/2.0.0/RULE.md': '',
    },
    { limits: { files: 100, fileSize: 200, totalSize: 10_000 } },
  );
  assert.deepEqual(versions(result), ['a 1.0.0']);
  assert.deepEqual(told(result), [
    'Empty rules/r/1.0.0/RULE.md',
    'Empty rules/r/2.0.0/RULE.md',
    'Empty skills/a/1.1.0/SKILL.md',
    'NotText skills/a/1.2.0/SKILL.md',
    'NothingMatched skills/a/1.4.0',
    'TooLarge skills/a/1.3.0/SKILL.md',
  ]);
  assert.ok(result.problems.every(({ severity }) => severity === 'error'));
  const { skills, rules, discovered, rejected } = result.counts;
  assert.deepEqual({ skills, rules, discovered, rejected }, { skills: 1, rules: 0, discovered: 2, rejected: 1 });
});

test('globs choose among versions', async () => {
  const files = {
    ...skillVersions('a', '1.0.0', '2.0.0', '3.0.0'),
    'rules/r/1.0.0/RULE.md': 'Always.',
    'rules/r/2.0.0/RULE.md': 'Never.',
    'profiles/p/1.0.0/p.md': 'You.',
    'profiles/p/1.0.0/notes.md': 'Notes.',
    'skills/a/4.0.0/README.md': 'No main file.',
  };
  const excluded = await harvested(files, { exclude: ['skills/*/3.*', 'rules/r/1.0.0/RULE.md'] });
  assert.deepEqual([versions(excluded), versions(excluded, 'rule')], [['a 2.0.0', 'a 1.0.0'], ['r 2.0.0']]);
  const without = await harvested(skillVersions('b', '1.0.0', 'next'), { exclude: ['skills/b/1.0.0'] });
  assert.deepEqual(
    without.artifacts.map(({ version, group }) => `${version} ${group}`),
    ['0.0.0 b'],
  );
  const listed = await harvested(files, {
    include: { skills: ['skills/a/1.0.0/SKILL.md'], rules: ['rules/*/2.*/RULE.md'], profiles: ['profiles/**/*.md'] },
  });
  assert.deepEqual(told(excluded), ['NothingMatched skills/a/4.0.0']);
  assert.deepEqual(told(listed), ['NotReached rules', 'NotReached skills']);
  assert.deepEqual(versions(listed), ['a 1.0.0']);
  assert.deepEqual(versions(listed, 'rule'), ['r 2.0.0']);
  assert.deepEqual(versions(listed, 'profile'), ['p 1.0.0']);
  assert.deepEqual(
    listed.artifacts.at(-1)!.files.map(({ path }) => path),
    ['notes.md', 'p.md'],
  );
});

test('two artifacts that want one address stay whole: all versions of one move together', async () => {
  const result = await harvested({
    'skills/a/1.0.0/SKILL.md': skillText('same', 'First.'),
    'skills/a/2.0.0/SKILL.md': skillText('same', 'First.'),
    'skills/b/1.0.0/SKILL.md': skillText('other', 'Second.'),
    'skills/b/9.0.0/SKILL.md': skillText('same', 'Second.'),
  });
  assert.deepEqual(versions(result), [
    'same 2.0.0',
    'same 1.0.0',
    'src--skills-b/same 9.0.0',
    'src--skills-b/same 1.0.0',
  ]);
  assert.deepEqual(told(result), ['Moved skills/b/9.0.0/SKILL.md']);
  assert.match(messageOf(result, 'Moved'), /lib\/same is taken by skills\/a\/2\.0\.0\/SKILL\.md/);
  assert.equal(result.counts.skills, 2);
});

test('artifacts that are the same in every version are one; a difference in an old version makes two', async () => {
  const copy = (folder: string, changed = ''): Files => ({
    [`skills/${folder}/1.0.0/SKILL.md`]: skillText('same', `One.${changed}`),
    [`skills/${folder}/2.0.0/SKILL.md`]: skillText('same', 'Two.'),
  });
  const same = await harvested({ ...copy('a'), ...copy('b') });
  assert.deepEqual(versions(same), ['same 2.0.0', 'same 1.0.0']);
  assert.deepEqual(told(same), ['Duplicate skills/b/2.0.0/SKILL.md']);
  const { skills, discovered, duplicates } = same.counts;
  assert.deepEqual([skills, discovered, duplicates], [1, 2, 1]);
  const changed = await harvested({ ...copy('a'), ...copy('b', ' But.') });
  assert.deepEqual(told(changed), ['Moved skills/b/2.0.0/SKILL.md']);
  const fewer = await harvested({ ...copy('a'), 'skills/b/2.0.0/SKILL.md': skillText('same', 'Two.') });
  assert.deepEqual(told(fewer), ['Moved skills/b/2.0.0/SKILL.md']);
  const renumbered = await harvested({
    'skills/a/1.0.0/SKILL.md': skillText('same'),
    'skills/b/1.0.1/SKILL.md': skillText('same'),
  });
  assert.deepEqual(told(renumbered), ['Moved skills/b/1.0.1/SKILL.md']);
  const sameBytes = await harvested({
    'skills/a/1.0.0/SKILL.md': skillText('a'),
    'skills/a/1.0.1/SKILL.md': skillText('a'),
  });
  assert.deepEqual([versions(sameBytes), sameBytes.counts.duplicates], [['a 1.0.1', 'a 1.0.0'], 0]);
});

test('what versions share is read once and stored once, and hidden files of all are one problem', async () => {
  const files: Files = {};
  for (let at = 0; at < 20; at++) {
    files[`skills/a/1.${at}.0/SKILL.md`] = skillText('a', `Version ${at}.`);
    files[`skills/a/1.${at}.0/template.bin`] = Buffer.alloc(1000, 7);
    files[`skills/a/1.${at}.0/.tesslignore`] = 'evals';
  }
  const tree = treeOf(files);
  const blobs = new MemoryBlobs();
  const result = await harvest(tree, rulesOf(), new Map(), blobs);
  assert.equal(result.artifacts.length, 20);
  assert.deepEqual([tree.reads.length, blobs.bytes.size], [21, 21]);
  assert.equal(result.fileCount, 40);
  assert.deepEqual(told(result), ['HiddenFiles skills/a']);
  assert.match(messageOf(result, 'HiddenFiles'), /^20 hidden files/);
});

test('a pack file below the address of a skill is rejected, however many versions others have', async () => {
  const files = { ...skillVersions('a', '1.0.0', '2.0.0', '3.0.0'), ...skillVersions('z', '1.0.0'), 'z/x.md': 'x' };
  const result = await harvested(files, { include: { files: ['z/**'] } });
  assert.deepEqual([told(result), result.files], [['AddressTaken z/x.md'], []]);
});

test('the main file of a version may be spelt as that of any skill', async () => {
  const result = await harvested({
    'skills/a/1.0.0/skill.md': skillText('a'),
    'skills/a/2.0.0/Skill.md': skillText('a'),
    'skills/b/Skill.md': skillText('b'),
    'skills/b/1.0.0/SKILL.md': skillText('c'),
  });
  assert.deepEqual(versions(result), ['a 2.0.0', 'a 1.0.0', 'b 0.0.0', 'c 0.0.0']);
});

test('a hidden folder has no versions', async () => {
  const result = await harvested({
    'skills/.curated/1.0.0/SKILL.md': skillText('a'),
    'skills/.curated/2.0.0/SKILL.md': skillText('b'),
  });
  assert.deepEqual(versions(result), ['a 0.0.0', 'b 0.0.0']);
});

test('a link to a version is that version, and no second one', async () => {
  const files = { ...skillVersions('a', '1.0.0', '2.0.0'), 'skills/a/latest': { link: '2.0.0' } };
  const result = await harvested(files);
  assert.deepEqual([versions(result), told(result)], [['a 2.0.0', 'a 1.0.0'], []]);
});

test('a version whose main file is a link to that of another one is a version, with its own files', async () => {
  const result = await harvested({
    ...skillVersions('a', '1.0.0'),
    'skills/a/2.0.0/SKILL.md': { link: '../1.0.0/SKILL.md' },
    'skills/a/2.0.0/references/new.md': 'New.',
    'rules/r/1.0.0/RULE.md': ruleText('R'),
    'rules/r/2.0.0/RULE.md': { link: '../1.0.0/RULE.md' },
    'rules/r/2.0.0/new.md': 'New.',
  });
  assert.deepEqual(versions(result), ['a 2.0.0', 'a 1.0.0']);
  assert.deepEqual(versions(result, 'rule'), ['r 2.0.0', 'r 1.0.0']);
  assert.deepEqual(
    result.artifacts[0]!.files.map(({ path }) => path),
    ['SKILL.md', 'references/new.md'],
  );
  assert.deepEqual(told(result), []);
});

test('the same tree gives the same versions, in whatever order it is listed', async () => {
  const files = { ...skillVersions('a', '1.0.0', '1.0.0+a', '1.0.0+b', 'x', '2.0.0'), ...skillVersions('b', '1.0.0') };
  const backwards = Object.fromEntries(Object.entries(files).reverse());
  assert.deepEqual(await harvested(backwards), await harvested(files));
});

test('versions.json says which artifacts have versions, where no SemVer does', async () => {
  const files = {
    ...skillVersions('dated', '2024-01', '2025-02'),
    'rules/r/one/RULE.md': 'Always.',
    'profiles/p/beta/p.md': 'You.',
    ...skillVersions('group', 'x'),
  };
  const named = {
    skills: { dated: { version: '2025-02', description: 'x', tags: 'a, b', models: {} } },
    rules: { r: {} },
    profiles: { p: { version: 'beta' } },
    prompts: { q: { version: '1.0.0' } },
    generated: 12,
  };
  const result = await harvested({ ...files, 'versions.json': JSON.stringify(named) });
  assert.deepEqual(
    result.artifacts.map(({ kind, address, group, version }) => `${kind} ${address} ${group} ${version}`),
    [
      'skill dated undefined 2025-02',
      'skill dated undefined 2024-01',
      'skill group group 0.0.0',
      'rule r undefined one',
      'profile p undefined beta',
    ],
  );
  assert.deepEqual(told(result), []);
  const beta = { 'skills/tool/beta/SKILL.md': skillText('beta'), 'versions.json': '{"skills": {"tool": {}}}' };
  assert.deepEqual(versions(await harvested(beta)), ['beta beta']);
  const without = await harvested(files);
  assert.deepEqual(addresses(without), ['dated', 'group', 'src--skills-dated-2025-02/dated']);
  const below = Object.fromEntries(Object.entries(files).map(([path, text]) => [`sub/${path}`, text]));
  const inside = await harvested({ ...below, 'sub/versions.json': JSON.stringify(named) }, { subdirectory: 'sub' });
  assert.deepEqual(versions(inside), versions(result));
});

test('a versions.json that names what is not there says so once, and nothing that is there is lost', async () => {
  const files: Files = { ...skillVersions('a', '1.0.0'), 'skills/plain/SKILL.md': skillText('plain') };
  const tell = async (content: unknown, rules = {}): Promise<HarvestResult> => {
    const result = await harvested({ ...files, 'versions.json': JSON.stringify(content) }, rules);
    assert.deepEqual(versions(result), ['a 1.0.0', 'plain 0.0.0']);
    return result;
  };
  const one = await tell({ skills: { a: { version: '2.0.0' } } });
  assert.deepEqual(told(one), ['NothingMatched versions.json']);
  assert.match(messageOf(one, 'NothingMatched'), /a version whose folder is not there, "skills\/a\/2\.0\.0"/);
  const several = await tell({ skills: { '../..': { version: '1' }, gone: {} }, rules: { r: { version: '1.0.0' } } });
  assert.match(messageOf(several, 'NothingMatched'), /^It names 3 versions .* "skills\/\.\.\/\.\.\/1" first/);
  const plain = await tell({ skills: { plain: { version: '3.0.0' }, a: { version: '1.0.0' } } });
  assert.deepEqual(told(plain), []);
  const excluded = await tell({ skills: { old: { version: '1.0.0' } } }, { exclude: ['skills/old'] });
  assert.deepEqual(told(excluded), []);
  const listed = await tell({ skills: { gone: {} } }, { include: { skills: ['skills/**'] } });
  assert.deepEqual(told(listed), []);
  const off = await tell({ rules: { r: { version: '1.0.0' } } }, { include: { rules: [] } });
  assert.deepEqual(told(off), []);
});

test('a versions.json that is none is told, and versions are found without it', async () => {
  const files = skillVersions('a', '1.0.0', '2.0.0');
  for (const [content, expected] of [
    ['<!doctype html><title>Sign in</title>', ['NothingMatched versions.json']],
    ['', ['NothingMatched versions.json']],
    [' \n', ['NothingMatched versions.json']],
    ['[1, 2]', ['NothingMatched versions.json']],
    ['"skills"', ['NothingMatched versions.json']],
    ['{}{}', ['NothingMatched versions.json']],
    ['{} x', ['NothingMatched versions.json']],
    [`{"skills": ${'['.repeat(5000)}`, ['NothingMatched versions.json']],
    [`{"skills": {"a": ${'{"a": '.repeat(100)}1${'}'.repeat(100)}}}`, ['NothingMatched versions.json']],
    ['{"skills": {"a": {"version": "1.0.0"}}}\r\n\n', []],
    ['{"skills": {"a": {"version": "1.0.0"', ['NothingMatched versions.json']],
    [Buffer.from([0xff, 0xfe, 0x00]), ['NothingMatched versions.json']],
    [Buffer.alloc(5 * 1024 * 1024, 0x20), ['TooLarge versions.json']],
    ['\uFEFF{"skills": {"a": {"version": "1.0.0"}}}', []],
    ['{"skills": [], "rules": 7, "profiles": {"x": null, "y": "1.0.0"}}', []],
    ['{"__proto__": {"skills": {"z": {"version": "1.0.0"}}}, "skills": {"a": {"__proto__": {"version": "7"}}}}', []],
    [`{"skills": {"a": {"version": {"toString": 1}}, "a/1.0.0": 1}, "constructor": {"prototype": 1}}`, []],
    ['{"skills": {"__proto__": {"version": "1.0.0"}}}', ['NothingMatched versions.json']],
  ] as const) {
    const result = await harvested({ ...files, 'versions.json': content as string | Buffer });
    assert.deepEqual(
      [versions(result), told(result)],
      [['a 2.0.0', 'a 1.0.0'], expected],
      String(content).slice(0, 80),
    );
  }
  const large = treeOf({ ...files, 'versions.json': Buffer.alloc(10_000_000, 0x20) }, { fileSize: 20_000_000 });
  const entry = large.entries.find(({ path }) => path === 'versions.json')!;
  entry.size = 10_000_000;
  const rules = rulesOf({ limits: { files: 100, fileSize: 20_000_000, totalSize: 20_000_000 } });
  const result = await harvest(large, rules, new Map(), new MemoryBlobs());
  assert.deepEqual(told(result), ['TooLarge versions.json']);
  assert.ok(!large.reads.includes('versions.json'), 'it is not even read');
});

test('a versions.json where nothing has versions is nobody’s business', async () => {
  const tree = treeOf({ 'docs/a/SKILL.md': skillText('a'), 'versions.json': '<html>' });
  const result = await harvest(tree, rulesOf({ include: { skills: ['docs/**'] } }), new Map(), new MemoryBlobs());
  assert.deepEqual([told(result), tree.reads], [[], ['docs/a/SKILL.md']]);
  const served = await harvested(
    { 'skills/a/SKILL.md': skillText('a'), 'versions.json': '<html>' },
    { exclude: ['versions.json'] },
  );
  assert.deepEqual(told(served), []);
});

test('a versions.json of 4 MiB is read, and nothing else is held up', async () => {
  const names = Array.from({ length: 320_000 }, (_, at) => `"x${at}":{}`);
  const text = `{"skills":{"dated":{"version":"b"},${names.join(',')}}}`;
  const files = { ...skillVersions('dated', 'a', 'b'), 'versions.json': text };
  assert.ok(text.length > 3.5 * 1024 * 1024 && text.length < 4 * 1024 * 1024);
  const tree = treeOf(files);
  const longest = await heldUp(async () => {
    const result = await harvest(tree, rulesOf(), new Map(), new MemoryBlobs());
    assert.deepEqual([versions(result), told(result)], [['dated b', 'dated a'], ['NothingMatched versions.json']]);
  });
  assert.ok(longest < 100, `held up for ${longest} ms`);
});

test('versions.json is read again only when it changes', async () => {
  const files = { ...skillVersions('a', '1.0.0'), 'versions.json': '{"skills": {"a": {"version": "1.0.0"}}}' };
  const blobs = new MemoryBlobs();
  const first = await harvest(treeOf(files), rulesOf(), new Map(), blobs);
  assert.equal(first.kept.length, 1);
  const again = treeOf(files);
  const second = await harvest(again, rulesOf(), first.contents, blobs);
  assert.deepEqual(again.reads, []);
  assert.deepEqual(second.artifacts, first.artifacts);
});

/** A tree whose reading takes no more time for each file where there are many. */
function treeOfMany(versionCount: number): Tree {
  const contents = new Map<string, Buffer>();
  for (let at = 0; at < versionCount; at++) {
    const folder = `skills/busy/${at >> 8}.${at & 255}.0`;
    contents.set(`${folder}/SKILL.md`, Buffer.from(skillText('busy', `Version ${at}.`)));
    contents.set(`${folder}/references/a.md`, Buffer.from(`# ${at}\n`));
    contents.set(`${folder}/references/b.md`, Buffer.from('# The same\n'));
    contents.set(`${folder}/scripts/run.sh`, Buffer.from('echo\n'));
  }
  return {
    ...treeOf({}),
    entries: [...contents].map(([path, bytes]) => ({ path, id: digestOf(bytes) })),
    async read(wanted, sink) {
      for (const entry of wanted) await sink.take(entry, contents.get(entry.path)!);
    },
  };
}

test('3,000 versions of one skill are served, newest first, and nothing else is held up', async () => {
  const tree = treeOfMany(3000);
  let result: HarvestResult | undefined;
  const longest = await heldUp(async () => {
    result = await harvest(tree, rulesOf(), new Map(), new MemoryBlobs());
  });
  assert.equal(result?.artifacts.length, 3000);
  assert.deepEqual(versions(result).slice(0, 2), ['busy 11.183.0', 'busy 11.182.0']);
  assert.deepEqual([result.counts.skills, result.counts.discovered, result.counts.problems], [1, 1, 0]);
  assert.ok(longest < 100, `held up for ${longest} ms`);
});

test('the time that versions take grows with their number, not with its square', async () => {
  const time = async (versionCount: number): Promise<number> => {
    const tree = treeOfMany(versionCount);
    const began = performance.now();
    await harvest(tree, rulesOf(), new Map(), new MemoryBlobs());
    return performance.now() - began;
  };
  await time(1000);
  let ratio = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 3; attempt++) ratio = Math.min(ratio, (await time(4000)) / (await time(1000)));
  assert.ok(ratio < 8, `four times as many took ${ratio} times as long`);
});
