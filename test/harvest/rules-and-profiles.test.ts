// Rules and profiles: where they are found, what they are called, which files belong to them.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { HarvestResult } from '../../operator/harvest/harvest.ts';
import { processorTime } from '../fixtures/processor-time.ts';
import { type Files, harvested, messageOf, skillText, told } from './support.ts';

const text = (description: string): string => `---\ndescription: ${description}\n---\nBody.\n`;

const ofKind = ({ artifacts }: HarvestResult, kind: string) => artifacts.filter((artifact) => artifact.kind === kind);

/** Address to folder and files. */
const rows = (result: HarvestResult, kind: string): Record<string, string> =>
  Object.fromEntries(
    ofKind(result, kind).map(({ address, folder, files }) => [
      address,
      `${folder}: ${files.map(({ path }) => path).join(' ')}`,
    ]),
  );

test('conventions find rules in their places, and AGENTS.md and CLAUDE.md at the root alone', async () => {
  const result = await harvested({
    'rules/no-secrets/RULE.md': text('a'),
    '.cursor/rules/TypeScript Style.mdc': text('b'),
    '.github/instructions/python.instructions.md': text('c'),
    '.github/copilot-instructions.md': '# Copilot\n',
    'AGENTS.md': '# Agents\n',
    'CLAUDE.md': '# Claude\n',
    'docs/AGENTS.md': 'x',
    'rules/loose.md': 'x',
    'rules/g/deep/RULE.md': 'x',
  });
  assert.deepEqual(rows(result, 'rule'), {
    agents: 'AGENTS: AGENTS.md',
    claude: 'CLAUDE: CLAUDE.md',
    'copilot-instructions': '.github/copilot-instructions: copilot-instructions.md',
    'no-secrets': 'rules/no-secrets: RULE.md',
    python: '.github/instructions/python: python.instructions.md',
    'typescript-style': '.cursor/rules/TypeScript Style: TypeScript Style.mdc',
  });
  assert.deepEqual(told(result), ['NotReached rules']);
  assert.match(messageOf(result, 'NotReached'), /include\.rules/);
  assert.deepEqual([result.counts.rules, result.counts.discovered], [6, 6]);
});

test('conventions find profiles in their places, those of a folder by its own name alone', async () => {
  const result = await harvested({
    'profiles/reviewer/reviewer.md': text('a'),
    'profiles/reviewer/checklist.md': 'x',
    'profiles/other/different.md': 'x',
    'agents/Code Writer.md': text('b'),
    'agents/README.md': 'x',
    'agents/AGENTS.md': 'x',
    'agents/deep/no.md': 'x',
    '.github/agents/planner.agent.md': text('c'),
    '.github/agents/notes.md': 'x',
    '.claude/agents/tester.md': '# Tester\n',
  });
  assert.deepEqual(rows(result, 'profile'), {
    'code-writer': 'agents/Code Writer: Code Writer.md',
    planner: '.github/agents/planner: planner.agent.md',
    reviewer: 'profiles/reviewer: checklist.md reviewer.md',
    tester: '.claude/agents/tester: tester.md',
  });
  assert.equal(ofKind(result, 'profile').find(({ address }) => address === 'reviewer')!.main, 'reviewer.md');
  assert.deepEqual(told(result), []);
});

test('a name that says what the file is makes it a rule or profile; one that describes a folder is told', async () => {
  const named: Files = {
    '.github/instructions/readme.instructions.md': 'a',
    '.cursor/rules/contributing.mdc': 'b',
    '.github/agents/claude.agent.md': 'c',
  };
  const result = await harvested(named);
  assert.deepEqual(
    [Object.keys(rows(result, 'rule')), Object.keys(rows(result, 'profile')), told(result)],
    [['contributing', 'readme'], ['claude'], []],
  );
  const described = await harvested({
    'agents/claude.md': 'x',
    'agents/CLAUDE.md': 'x',
    'profiles/agents/agents.md': 'x',
    'profiles/ann/claude.md': 'x',
    'agents/ann.md': 'x',
  });
  assert.deepEqual(told(described), ['NotReached agents/claude.md', 'NotReached profiles/agents/agents.md']);
  assert.match(messageOf(described, 'NotReached'), /no profile/);
});

test('what lies beside a main file in a folder of its own belongs to it, hidden and reserved files left out', async () => {
  const result = await harvested(
    {
      'rules/x/RULE.md': text('a'),
      'rules/x/examples/good.ts': 'x',
      'rules/x/notes.md': 'x',
      'rules/x/.env': 'x',
      'rules/x/_manifest': 'x',
      'shared/y.md': 'y',
    },
    { include: { files: ['**/*'] } },
  );
  assert.deepEqual(rows(result, 'rule'), { x: 'rules/x: RULE.md examples/good.ts notes.md' });
  assert.deepEqual(
    result.files.map(({ path }) => path),
    ['shared/y.md'],
  );
  assert.deepEqual(told(result), ['HiddenFiles rules/x', 'ReservedName rules/x/_manifest']);
  assert.deepEqual([result.fileCount, result.counts.files], [4, 1]);
});

test('a main file that a glob names is one of its own folder, dots and all', async () => {
  const result = await harvested({ '.x/.x.md': text('x'), '.x/.env': 'x' }, { include: { profiles: ['.x/.x.md'] } });
  assert.deepEqual(rows(result, 'profile'), { x: '.x: .x.md' });
  assert.deepEqual(told(result), ['HiddenFiles .x']);
});

test('a list takes the place of the conventions; a glob may name a folder with a main file', async () => {
  const files: Files = {
    'standards/a/RULE.md': text('a'),
    'standards/b.md': text('b'),
    'standards/b.txt': 'x',
    'AGENTS.md': 'x',
    'people/ann/ann.md': text('c'),
    'people/ann/cv.md': 'x',
  };
  const result = await harvested(files, { include: { rules: ['standards/*'], profiles: ['people/*'] } });
  assert.deepEqual(rows(result, 'rule'), { a: 'standards/a: RULE.md', b: 'standards/b: b.md' });
  assert.deepEqual(rows(result, 'profile'), { ann: 'people/ann: ann.md cv.md' });
  assert.deepEqual(told(result), []);
  const wide = await harvested(files, { include: { rules: ['standards/**', '.cursorrules', 'gone/*'] } });
  assert.deepEqual(Object.keys(rows(wide, 'rule')), ['a', 'b']);
  assert.deepEqual(told(wide), ['NothingMatched .', 'NothingMatched .']);
});

test('what lies in the folder of a RULE.md is of that rule, whatever wide glob matches it', async () => {
  const files: Files = { 'r/a/RULE.md': text('a'), 'r/a/more.md': 'x', 'r/a/deep/y.md': 'x', 'r/b/c.md': text('c') };
  const result = await harvested(files, { include: { rules: ['r/**'] } });
  assert.deepEqual(rows(result, 'rule'), { a: 'r/a: RULE.md deep/y.md more.md', c: 'r/b/c: c.md' });
  assert.equal(result.counts.discovered, 2);
});

test('a file of its folder’s name among others is one of many', async () => {
  const files: Files = { 'team/team.md': text('a'), 'team/ann.md': text('b') };
  const result = await harvested(files, { include: { profiles: ['team/*.md'] } });
  assert.deepEqual(rows(result, 'profile'), { ann: 'team/ann: ann.md', team: 'team/team: team.md' });
});

test('README and the like are rules only where a glob names them', async () => {
  const files: Files = { 'r/a.md': 'x', 'r/README.md': 'x', 'CONTRIBUTING.md': '# How\n' };
  const result = await harvested(files, { include: { rules: ['r/*.md', 'CONTRIBUTING.md'] } });
  assert.deepEqual(Object.keys(rows(result, 'rule')), ['a', 'contributing']);
});

test('a name is a slug; without one the artifact is rejected', async () => {
  const result = await harvested({
    'agents/Ünï_code  Name.md': 'x',
    'agents/日本.md': 'x',
    '.cursor/rules/日.mdc': 'x',
  });
  assert.deepEqual(Object.keys(rows(result, 'profile')), ['uni-code-name']);
  assert.deepEqual(told(result), ['BadFileName .cursor/rules/日.mdc', 'BadFileName agents/日本.md']);
  assert.deepEqual([result.counts.discovered, result.counts.rejected], [3, 2]);
  const long = await harvested({ [`agents/${'a'.repeat(70)}.md`]: 'x' });
  assert.deepEqual(Object.keys(rows(long, 'profile')), ['a'.repeat(64)]);
});

test('a heading is cut between characters, wherever its blanks end', async () => {
  for (let blanks = 1010; blanks < 1030; blanks++) {
    const { artifacts } = await harvested({ 'AGENTS.md': `# a${' '.repeat(blanks)}😀😀\n` });
    assert.ok(artifacts[0]!.title?.isWellFormed(), `${blanks} blanks`);
  }
});

test('frontmatter gives description, tags, version and title; without any the first heading is the title', async () => {
  const { artifacts } = await harvested({
    'agents/a.md':
      '---\nname: Accessibility expert\ndescription: >-\n  Finds\n  barriers.\ntags: [ux]\nversion: 1.10\n---\nx',
    'agents/b.md': '# The second\n',
    'agents/c.md': '---\nname: c\n---\n# Not this\n',
  });
  assert.deepEqual(
    artifacts.map(({ title, description, tags, version, advertised }) => [
      title,
      description,
      tags,
      version,
      advertised,
    ]),
    [
      ['Accessibility expert', 'Finds barriers.', ['ux'], '1.10', true],
      ['The second', '', [], '0.0.0', true],
      [undefined, '', [], '0.0.0', true],
    ],
  );
  assert.deepEqual(artifacts[0]!.frontmatter, {
    name: 'Accessibility expert',
    description: 'Finds\nbarriers.'.replace('\n', ' '),
    tags: ['ux'],
    version: 1.1,
  });
});

test("Cursor's globs without quotes are its own format; any other fault is read as it is meant, and told", async () => {
  const result = await harvested({
    '.cursor/rules/a.mdc': '---\ndescription: A.\nglobs: **/*.ts, *.tsx\nalwaysApply: false\n---\nx',
    '.cursor/rules/b.mdc': '---\ndescription: B: c\nglobs: *.ts\n---\nx',
    '.cursor/rules/c.mdc': '---\ndescription:\nglobs:\nalwaysApply: true\n---\nx',
    'agents/d.md': '---\nname: d\ndescription: Use it. Examples: one: two\nmodel: opus\n---\nx',
  });
  assert.deepEqual(told(result), ['LenientYaml .cursor/rules/b.mdc:2', 'LenientYaml agents/d.md:3']);
  assert.deepEqual(
    result.artifacts.map(({ address, description, frontmatter }) => [address, description, frontmatter?.globs]),
    [
      ['a', 'A.', '**/*.ts, *.tsx'],
      ['b', 'B: c', '*.ts'],
      ['c', '', null],
      ['d', 'Use it. Examples: one: two', undefined],
    ],
  );
});

test('a file that begins with a rule of dashes is served whole, with a problem', async () => {
  const result = await harvested({ 'AGENTS.md': '---\n\n# Agents\n\nBe kind.\n' });
  assert.deepEqual(Object.keys(rows(result, 'rule')), ['agents']);
  assert.deepEqual(told(result), ['UnclosedFrontmatter AGENTS.md:1']);
  assert.equal(result.problems[0]!.severity, 'warning');
});

test('of two with one name the earlier place keeps the address, the other moves; copies count once', async () => {
  const hex = createHash('sha256').update('agents/a-b').digest('hex').slice(0, 8);
  const result = await harvested({
    'profiles/r/r.md': text('1'),
    'agents/r.md': text('2'),
    '.claude/agents/r.md': text('2'),
    'agents/a b.md': text('3'),
    'agents/a-b.md': text('4'),
    'rules/r/RULE.md': text('5'),
  });
  assert.deepEqual(rows(result, 'profile'), {
    'a-b': 'agents/a b: a b.md',
    [`src--agents-a-b-${hex}/a-b`]: 'agents/a-b: a-b.md',
    r: 'profiles/r: r.md',
    'src--agents-r/r': 'agents/r: r.md',
  });
  assert.deepEqual(rows(result, 'rule'), { r: 'rules/r: RULE.md' });
  assert.deepEqual(told(result), ['Duplicate .claude/agents/r.md', 'Moved agents/a-b.md', 'Moved agents/r.md']);
  assert.match(
    result.problems.find(({ path }) => path === 'agents/r.md')!.message,
    /lib\/_profiles\/r is taken by profiles\/r\/r\.md.*lib\/_profiles\/src--agents-r\/r/,
  );
  assert.deepEqual([result.counts.discovered, result.counts.profiles, result.counts.duplicates], [6, 4, 1]);
});

test('single files are compared by their bytes, folders by the names in them too', async () => {
  const files: Files = {
    'agents/x.md': text('same'),
    '.github/agents/x.agent.md': text('same'),
    'a/r/RULE.md': text('same'),
    'a/r/one.md': 'x',
    'b/r/RULE.md': text('same'),
    'b/r/two.md': 'x',
  };
  const { counts } = await harvested(files, { include: { rules: ['a/*', 'b/*'] } });
  assert.deepEqual([counts.profiles, counts.rules, counts.duplicates], [1, 2, 1]);
});

test('AGENTS.md as a link to CLAUDE.md is one rule', async () => {
  const result = await harvested({ 'CLAUDE.md': '# Rules\n', 'AGENTS.md': { link: 'CLAUDE.md' } });
  assert.deepEqual(Object.keys(rows(result, 'rule')), ['claude']);
  assert.deepEqual([result.counts.discovered, told(result)], [1, []]);
});

test('a rule outside the root is not followed', async () => {
  const result = await harvested({ 'AGENTS.md': { link: '../AGENTS.md' }, 'CLAUDE.md': 'x' });
  assert.deepEqual(Object.keys(rows(result, 'rule')), ['claude']);
  assert.deepEqual(told(result), ['LinkEscapes AGENTS.md']);
});

test("a skill's own files stay the skill's, and only what a glob names is more", async () => {
  const files: Files = {
    'skills/s/SKILL.md': skillText('s'),
    'skills/s/agents/a.md': 'x',
    'skills/s/rules/x.mdc': 'x',
    'skills/s/rules/y/RULE.md': 'x',
  };
  const plain = await harvested(files);
  assert.deepEqual([plain.counts.discovered, told(plain)], [1, []]);
  const named = await harvested(files, { include: { profiles: ['skills/*/agents/*.md'] } });
  assert.deepEqual(Object.keys(rows(named, 'profile')), ['a']);
  assert.equal(rows(named, 'skill').s, 'skills/s: SKILL.md agents/a.md rules/x.mdc rules/y/RULE.md');
  assert.equal(named.fileCount, 4, 'a file in two manifests is one file');
  assert.equal(named.size, Buffer.byteLength(skillText('s')) + 3);
});

test('conventions are relative to the subdirectory, problems start at the root', async () => {
  const files: Files = { 'p/AGENTS.md': 'x', 'p/agents/a.md': '---\n', 'AGENTS.md': 'x', 'p/q/x.agent.md': 'x' };
  const result = await harvested(files, { subdirectory: 'p' });
  assert.deepEqual(
    result.artifacts.map(({ kind, address, folder }) => [kind, address, folder]),
    [
      ['rule', 'agents', 'AGENTS'],
      ['profile', 'a', 'agents/a'],
    ],
  );
  assert.deepEqual(told(result), ['NotReached p/q', 'UnclosedFrontmatter p/agents/a.md:1']);
});

test('exclude holds for every kind', async () => {
  const files: Files = {
    'AGENTS.md': 'x',
    'agents/a.md': 'x',
    'agents/old/b.md': 'x',
    'prompts/p.md': 'x',
    'rules/r/RULE.md': 'x',
  };
  const result = await harvested(files, { exclude: ['AGENTS.md', 'agents', 'prompts/**', 'rules/*/RULE.md'] });
  assert.deepEqual([result.artifacts, told(result)], [[], ['NothingMatched .']]);
});

test('a list of globs, and globs in quotes, are YAML as they stand', async () => {
  const result = await harvested({
    '.cursor/rules/a.mdc': '---\nglobs: ["*.ts", "b"]\n---\n',
    '.cursor/rules/b.mdc': "---\nglobs: '**/*.ts'\n---\n",
    '.cursor/rules/c.mdc': '---\nglobs: src/**, lib/** # all\n---\n',
  });
  assert.deepEqual(
    result.artifacts.map(({ frontmatter }) => frontmatter!.globs),
    [['*.ts', 'b'], '**/*.ts', 'src/**, lib/** # all'],
  );
  assert.deepEqual(told(result), []);
});

test('crafted files are read as fast as others', async () => {
  const blanks = ' '.repeat(60_000);
  const files: Files = {
    '.cursor/rules/a.mdc': `---\nglobs: *${blanks}x\n---\n`,
    '.cursor/rules/b.mdc': `# ${blanks}#${blanks}x`,
    '.cursor/rules/c.mdc': `# ${'#'.repeat(500_000)}x`,
    '.cursor/rules/d.mdc': `${'```\n~~~\n'.repeat(50_000)}# x`,
    'prompts/e.md': `---\narguments:\n${'  - {name: a}\n'.repeat(900)}---\n${'{{ a }} {{'.repeat(50_000)}`,
    'commands/f.md': `---\nargument-hint: ${'[<{'.repeat(10_000)}\n---\n${'$1 $ARGUMENTS['.repeat(50_000)}`,
  };
  const spent = processorTime();
  const { counts } = await harvested(files);
  assert.ok(spent() < 3000, `${spent()} ms`);
  assert.equal(counts.discovered, 6);
});
