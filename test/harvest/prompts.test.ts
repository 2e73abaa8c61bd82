// Prompts: where they are found, what they are called, which dialect they are in, what they take, and what is rejected.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Files, harvested, messageOf, told } from './support.ts';

const body = 'Say something.\n';
const text = (description: string, more = body): string => `---\ndescription: ${description}\n---\n${more}`;

/** What a prompt is called below its library, with the file that it is. */
async function names(files: Files, rules: Parameters<typeof harvested>[1] = {}): Promise<Record<string, string>> {
  const { artifacts } = await harvested(files, rules);
  const prompts = artifacts.filter(({ kind }) => kind === 'prompt');
  return Object.fromEntries(prompts.map(({ address, folder, main }) => [address, `${folder} ${main}`]));
}

async function one(path: string, content: string | Buffer) {
  const result = await harvested({ [path]: content });
  return { ...result, prompt: result.artifacts[0]?.prompt, row: result.artifacts[0] };
}

test('conventions find prompts in their four places, and nothing beside them', async () => {
  const files: Files = {
    'prompts/hello.md': body,
    'prompts/deep/er/check.md': body,
    '.github/prompts/review.prompt.md': body,
    '.github/prompts/notes.md': body,
    'commands/fix.md': body,
    '.claude/commands/ship.md': body,
    'docs/prompts/no.md': body,
    'prompts/picture.png': 'x',
    'prompts/data.json': '{}',
  };
  assert.deepEqual(await names(files), {
    check: 'prompts/deep/er/check check.md',
    fix: 'commands/fix fix.md',
    hello: 'prompts/hello hello.md',
    review: '.github/prompts/review review.prompt.md',
    ship: '.claude/commands/ship ship.md',
  });
});

test('a list replaces the conventions, an empty one switches prompts off, and other kinds keep theirs', async () => {
  const files: Files = { 'prompts/a.md': body, 'ask/b.md': body, 'agents/c.md': body };
  assert.deepEqual(Object.keys(await names(files, { include: { prompts: ['ask/*.md'] } })), ['b']);
  const off = await harvested(files, { include: { prompts: [] } });
  assert.deepEqual(
    off.artifacts.map(({ kind, address }) => [kind, address]),
    [['profile', 'c']],
  );
  assert.deepEqual([told(off), off.counts.discovered], [[], 1]);
});

test('README and the like are no prompts, in whatever case, listed or not', async () => {
  const files: Files = { 'prompts/a.md': body };
  for (const name of ['README', 'readme', 'CHANGELOG', 'Contributing', 'RATIONALE', 'LICENSE', 'AGENTS', 'claude']) {
    files[`prompts/${name}.md`] = body;
  }
  files['prompts/README.zh-CN.md'] = body;
  for (const include of [{}, { prompts: ['prompts/**'] }]) {
    const result = await harvested(files, { include });
    assert.deepEqual(
      result.artifacts.map(({ address }) => address),
      ['a'],
    );
    assert.deepEqual([result.counts.discovered, result.problems.length], [1, 0]);
  }
});

test('a prompt that takes arguments in countless places is rejected', async () => {
  const places = (count: number) => `a ${'$1'.repeat(count)}`;
  const result = await harvested({ 'commands/a.md': places(20_000), 'commands/b.md': places(20_001) });
  assert.deepEqual([told(result), result.counts.prompts, result.counts.rejected], [['TooLarge commands/b.md'], 1, 1]);
});

test('a command whose name is that of a description is told, since its author may have meant it', async () => {
  const files: Files = { 'commands/changelog.md': body, 'commands/README.md': body, 'commands/a.md': body };
  assert.deepEqual(told(await harvested(files)), ['NotReached commands/changelog.md']);
  assert.deepEqual(told(await harvested(files, { exclude: ['commands/changelog.md'] })), []);
});

test('a name that says what the file is makes it a prompt, whatever stands in front of that', async () => {
  const names = ['readme', 'changelog', 'AGENTS', 'claude', 'skill'];
  const files = Object.fromEntries(names.map((name) => [`.github/prompts/${name}.prompt.md`, name]));
  const result = await harvested(files);
  assert.deepEqual(
    result.artifacts.map(({ kind, address }) => `${kind} ${address}`),
    ['prompt AGENTS', 'prompt changelog', 'prompt claude', 'prompt readme', 'prompt skill'],
  );
  assert.deepEqual(told(result), []);
});

test('hidden folders are passed over, but for those of clients and those that a glob names', async () => {
  const files: Files = { '.x/prompts/a.md': body, '.claude/prompts/b.md': body, 'prompts/.y/c.md': body };
  assert.deepEqual(await names(files), {});
  assert.deepEqual(Object.keys(await names(files, { include: { prompts: ['**/*.md'] } })), ['b']);
  assert.deepEqual(Object.keys(await names(files, { include: { prompts: ['.x/**', 'prompts/.y/*.md'] } })), ['a', 'c']);
});

test('a stem is the name; below a commands folder all folders count; what fits no name becomes a hyphen, with a problem', async () => {
  const files: Files = {
    'prompts/sub/plain.md': body,
    'prompts/v1.2.md': body,
    'commands/git/sub/commit.md': body,
    '.claude/commands/top.md': body,
    'prompts/mit (Umlaut) ä.md': body,
    'commands/a b/c.md': body,
  };
  assert.deepEqual(Object.keys(await names(files)).sort(), [
    'a-b_c',
    'git_sub_commit',
    'mit-Umlaut-',
    'plain',
    'top',
    'v1.2',
  ]);
  const result = await harvested(files);
  assert.deepEqual(told(result), ['NameMended commands/a b/c.md', 'NameMended prompts/mit (Umlaut) ä.md']);
});

test('a placeholder prompt takes what its frontmatter declares', async () => {
  const { prompt, row, problems } = await one(
    'prompts/hello.md',
    `---
description: >-
  Greets
  somebody.
title: A greeting
arguments:
  - name: who
    description: Whom to greet.
    required: true
  - name: greeting
    default: Hello
  - name: version
    default: 1.10
  - name: mood
---
{{greeting}}, {{ who }}! {{version}} {{ mood }}
`,
  );
  assert.deepEqual(prompt, {
    dialect: 'placeholders',
    arguments: [
      { name: 'who', description: 'Whom to greet.', required: true },
      { name: 'greeting', required: false, default: 'Hello' },
      { name: 'version', required: false, default: '1.10' },
      { name: 'mood', required: false },
    ],
  });
  assert.deepEqual(
    [row!.title, row!.description, row!.name, problems],
    ['A greeting', 'Greets somebody.', 'hello', []],
  );
});

test('P3: a placeholder that is not declared rejects the prompt, by name and line', async () => {
  const result = await one(
    'prompts/check.md',
    '---\ndescription: d\narguments: [{name: a}]\n---\nUse {{ a }}.\n{{ missing }}\n',
  );
  assert.equal(result.row, undefined);
  assert.deepEqual(told(result), ['UndeclaredPlaceholder prompts/check.md:6']);
  assert.match(messageOf(result, 'UndeclaredPlaceholder'), /missing/);
  assert.deepEqual([result.counts.discovered, result.counts.rejected], [1, 1]);
});

test('P4: an argument that is required and has a default rejects the prompt', async () => {
  for (const preset of ['x', '""', '0', 'false']) {
    const written = `---\narguments:\n  - name: a\n    required: true\n    default: ${preset}\n---\n{{a}}\n`;
    const result = await one('prompts/a.md', written);
    assert.deepEqual(told(result), ['RequiredWithDefault prompts/a.md:2'], preset);
    assert.equal(result.counts.rejected, 1);
  }
  const none = await one(
    'prompts/a.md',
    '---\narguments:\n  - name: a\n    required: true\n    default:\n---\n{{a}}\n',
  );
  assert.deepEqual(none.prompt!.arguments, [{ name: 'a', required: true }]);
});

test('P13: single braces and everything that is no placeholder are text', async () => {
  const logql = '{app="x"} |= "{{" | json {{ .level }} }} {{ 1 }} $1 $ARGUMENTS\n';
  const { prompt, problems } = await one('prompts/a.md', text('d', logql));
  assert.deepEqual([prompt!.arguments, problems], [[], []]);
});

test('without frontmatter the first heading is the title, and a placeholder rejects', async () => {
  const plain = await one('prompts/a.md', '```\n# no heading\n```\n\n# Audit a file #\n\n# Another\nText.\n');
  assert.deepEqual(
    [plain.row!.title, plain.row!.description, plain.prompt, plain.problems],
    ['Audit a file', '', { dialect: 'placeholders', arguments: [] }, []],
  );
  const asks = await one('prompts/a.md', '# Audit {{ file }}\n');
  assert.deepEqual(told(asks), ['UndeclaredPlaceholder prompts/a.md:1']);
});

test('P8: frontmatter that is begun and not closed rejects the prompt, in every dialect', async () => {
  for (const path of ['prompts/a.md', 'commands/a.md', '.github/prompts/a.prompt.md']) {
    const result = await one(path, '---\ndescription: d\n\n# Title\n');
    assert.deepEqual(told(result), [`UnclosedFrontmatter ${path}:1`]);
    assert.deepEqual([result.problems[0]!.severity, result.counts.rejected], ['error', 1]);
  }
});

test('frontmatter that is not YAML is read as it is meant, and told', async () => {
  const result = await one(
    'commands/fix.md',
    '---\ndescription: Fix: an issue\nargument-hint: [number] | [all]\n---\n$1 $2',
  );
  assert.deepEqual(told(result), ['LenientYaml commands/fix.md:2']);
  assert.equal(result.row!.description, 'Fix: an issue');
  assert.deepEqual(
    result.prompt!.arguments.map(({ name }) => name),
    ['number', 'all'],
  );
});

test('an empty file, bytes that are no text, and a file that is too large are rejected by name', async () => {
  const files: Files = {
    'prompts/empty.md': ' \n',
    'prompts/bytes.md': Buffer.from([0xff, 0xfe]),
    'prompts/large.md': 'x'.repeat(200),
    'prompts/ok.md': body,
  };
  const result = await harvested(files, { limits: { files: 10, fileSize: 100, totalSize: 1000 } });
  assert.deepEqual(told(result), ['Empty prompts/empty.md', 'NotText prompts/bytes.md', 'TooLarge prompts/large.md']);
  assert.deepEqual([result.counts.discovered, result.counts.prompts, result.counts.rejected], [4, 1, 3]);
});

test('a command takes all arguments, and single ones by the words of its hint; a {{x}} there is text', async () => {
  const written = '---\nargument-hint: "[pr-number] <Priority level> --dry-run"\n---\n$ARGUMENTS, $2, $1, $4 {{x}}\n';
  const { prompt, problems } = await one('commands/review.md', written);
  assert.deepEqual(prompt, {
    dialect: 'claude',
    arguments: [
      { name: 'arguments', description: '[pr-number] <Priority level> --dry-run', required: false },
      { name: 'pr-number', required: false },
      { name: 'priority-level', required: false },
      { name: 'dry-run', required: false },
      { name: 'arg4', required: false },
    ],
  });
  assert.deepEqual(problems, []);
});

test('a hint without quotes is a list to YAML and means the same; without a hint arguments are numbered', async () => {
  const listed = await one('commands/a.md', '---\nargument-hint: [number]\n---\n$1 $2');
  assert.deepEqual(
    listed.prompt!.arguments.map(({ name }) => name),
    ['number', 'arg2'],
  );
  const bare = await one('.claude/commands/a.md', 'Costs $100. $2\n');
  assert.deepEqual(
    bare.prompt!.arguments.map(({ name }) => name),
    ['arg1', 'arg2'],
  );
  assert.deepEqual((await one('commands/a.md', 'No arguments.')).prompt!.arguments, []);
  const same = await one('commands/a.md', '---\nargument-hint: "[x] [x] [arguments]"\n---\n$ARGUMENTS $1 $2 $3');
  assert.deepEqual(
    same.prompt!.arguments.map(({ name }) => name),
    ['arguments', 'x', 'arg2', 'arg3'],
    'no two arguments have one name',
  );
  const numbered = await one('commands/a.md', '---\nargument-hint: "[arg2] [arg2] [arg3]"\n---\n$1 $2 $3 $4');
  assert.deepEqual(
    numbered.prompt!.arguments.map(({ name }) => name),
    ['arg2', 'arg3', 'arg4', 'arg5'],
    'nor where a hint gives numbers away',
  );
});

test("Copilot's prompts take inputs, in the order of the text, the hint as description", async () => {
  const dollar = '$';
  const written = `---\nmode: agent\nname: Write docs\n---\n${dollar}{input:topic:What about?} ${dollar}{input:depth} ${dollar}{input:topic} {{x}} $1\n`;
  const { prompt, row } = await one('.github/prompts/docs.prompt.md', written);
  assert.deepEqual(prompt, {
    dialect: 'copilot',
    arguments: [
      { name: 'topic', description: 'What about?', required: false },
      { name: 'depth', required: false },
    ],
  });
  assert.deepEqual([row!.name, row!.title], ['docs', 'Write docs']);
});

test('the dialect hangs on the place: a commands folder first, then the extension', async () => {
  const dialects = async (path: string) =>
    (await harvested({ [path]: body }, { include: { prompts: ['**/*.md'] } })).artifacts[0]?.prompt?.dialect;
  assert.equal(await dialects('x/commands/a.md'), 'claude');
  assert.equal(await dialects('commands/a.prompt.md'), 'claude');
  assert.equal(await dialects('x/a.prompt.md'), 'copilot');
  assert.equal(await dialects('x/a.md'), 'placeholders');
  assert.equal(await dialects('my-commands/a.md'), 'placeholders');
});

test('arguments that are written otherwise are read as they are meant, and told once', async () => {
  const list = await one(
    'prompts/a.md',
    '---\narguments: [who, {description: no name}, {name: who}, {name: x, default: [1]}]\n---\n{{who}}',
  );
  assert.deepEqual(list.prompt!.arguments, [
    { name: 'who', required: false },
    { name: 'x', required: false },
  ]);
  assert.deepEqual(told(list), ['LenientYaml prompts/a.md:2']);
  const map = await one('prompts/a.md', '---\narguments:\n  who: Whom.\n  how: {required: yes}\n---\n{{who}} {{how}}');
  assert.deepEqual(map.prompt!.arguments, [
    { name: 'who', description: 'Whom.', required: false },
    { name: 'how', required: true },
  ]);
});

test('of two prompts with one name the earlier place keeps it, the other is called after source and path', async () => {
  const files: Files = {
    'prompts/b/x.md': text('b'),
    'prompts/a/x.md': text('a'),
    '.github/prompts/x.prompt.md': text('c'),
    'commands/git/x.md': text('d'),
  };
  assert.deepEqual(await names(files), {
    git_x: 'commands/git/x x.md',
    'src--github-prompts-x_x': '.github/prompts/x x.prompt.md',
    'src--prompts-b-x_x': 'prompts/b/x x.md',
    x: 'prompts/a/x x.md',
  });
  const result = await harvested(files);
  assert.deepEqual(told(result), ['Moved .github/prompts/x.prompt.md', 'Moved prompts/b/x.md']);
  assert.match(messageOf(result, 'Moved'), /lib_x is taken by prompts\/a\/x\.md.*lib_src--github-prompts-x_x/);
});

test('an author cannot name a prompt so that it meets the name of one that moved', async () => {
  const files: Files = {
    'prompts/a/x.md': text('a'),
    'prompts/b/x.md': text('b'),
    'prompts/src--prompts-b-x_x.md': text('c'),
  };
  const { artifacts, counts } = await harvested(files);
  assert.equal(new Set(artifacts.map(({ address }) => address)).size, 3);
  assert.equal(counts.prompts, 3);
});

test('copies of one name are one prompt where they render alike, whatever their extensions', async () => {
  const files: Files = {
    'prompts/x.md': text('d'),
    'prompts/sub/x.md': text('d'),
    '.claude/commands/x.md': text('d'),
  };
  const result = await harvested(files);
  assert.deepEqual(told(result), ['Duplicate prompts/sub/x.md', 'Moved .claude/commands/x.md']);
  assert.deepEqual([result.counts.discovered, result.counts.prompts, result.counts.duplicates], [3, 2, 1]);
});

test('a link to a prompt that is harvested is not discovered a second time, and is no pack file', async () => {
  const files: Files = { 'prompts/x.md': text('d'), '.claude/commands': { link: '../prompts' } };
  const result = await harvested(files, { include: { files: ['**/*'] } });
  assert.deepEqual([result.counts.discovered, result.counts.files], [1, 0]);
  assert.deepEqual(result.artifacts[0]!.prompt!.dialect, 'placeholders');
});

test('prompts are no pack files, and files that no kind wants are', async () => {
  const files: Files = { 'prompts/a.md': body, 'prompts/README.md': 'r', 'prompts/a.png': 'x' };
  const result = await harvested(files, { include: { files: ['prompts/**'] } });
  assert.deepEqual(
    result.files.map(({ path }) => path),
    ['prompts/README.md', 'prompts/a.png'],
  );
  assert.deepEqual([result.fileCount, told(result)], [3, []]);
});

test("a prompt's row has its file alone, byte for byte, and no group", async () => {
  const written = '\uFEFF---\r\ndescription: d\r\n---\r\nBody\r\n';
  const { row } = await one('commands/a.md', written);
  assert.deepEqual(
    row!.files.map(({ path, size, mediaType }) => [path, size, mediaType]),
    [['a.md', Buffer.byteLength(written), 'text/markdown']],
  );
  assert.deepEqual([row!.group, row!.advertised, row!.description], [undefined, true, 'd']);
});

test('prompts, rules and profiles count as wanted files', async () => {
  const files: Files = { 'prompts/a.md': body, 'agents/b.md': body, 'rules/c/RULE.md': body, 'rules/c/d.md': body };
  const limits = { files: 4, fileSize: 1000, totalSize: 10_000 };
  assert.equal((await harvested(files, { limits })).fileCount, 4);
  await assert.rejects(harvested({ ...files, 'AGENTS.md': body }, { limits }), { reason: 'LimitExceeded' });
});

test('prompts that no glob reaches are told where their names say what they are', async () => {
  const files: Files = { 'x/a.prompt.md': body, 'x/y/b.prompt.md': body, 'z/c.md': body, 'prompts/d.md': body };
  const result = await harvested(files);
  assert.deepEqual(told(result), ['NotReached x']);
  assert.match(messageOf(result, 'NotReached'), /^2 files .*include\.prompts/);
  assert.deepEqual(told(await harvested(files, { include: { prompts: [] } })), ['NothingMatched .'].slice(1));
  const unmatched = await harvested(files, { include: { prompts: ['**/*.prompt.md', 'gone/*.md'] } });
  assert.deepEqual(told(unmatched), ['NothingMatched .']);
  assert.match(messageOf(unmatched, 'NothingMatched'), /include\.prompts has "gone\/\*\.md"/);
});

test('problems of prompts never repeat what a file says, but for the word of a placeholder', async () => {
  const result = await harvested({
    'prompts/a.md':
      '---\ndescription: hunter2: x\narguments: [{name: hunter2 x, required: true, default: hunter2}]\n---\n',
    'prompts/b.md': '---\nhunter2\n',
    'commands/c.md': '---\nargument-hint: *hunter2\n---\n$1 hunter2',
  });
  assert.ok(result.problems.length > 0);
  assert.doesNotMatch(JSON.stringify(result.problems), /hunter2/);
});

test('a source without a folder of prompts has none, and that is no fault', async () => {
  const skill = '---\nname: a\ndescription: Does a.\n---\nDo it.\n';
  const result = await harvested({ 'skills/a/SKILL.md': skill });
  assert.deepEqual([result.counts.prompts, result.counts.skills, told(result)], [0, 1, []]);
});
