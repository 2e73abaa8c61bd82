// What a SKILL.md says, however it is written: split, strict and lenient reading, and what clients would refuse.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitFrontmatter } from '../../catalogue/frontmatter.ts';
import { parseSkill } from '../../catalogue/skill-text.ts';
import { processorTime } from '../fixtures/processor-time.ts';

const parse = (text: string | Buffer) => parseSkill(Buffer.from(text as string), true);
const findings = (text: string) => parse(text).findings.map(({ reason, line }) => `${reason}:${line}`);

/** A parse whose duration is bounded, so that a hostile file cannot hold anything up. */
function quickly(text: string) {
  const spent = processorTime();
  const skill = parse(text);
  assert.ok(spent() < 150, 'it took more than 150 ms of processor time');
  return skill;
}

test('a conforming skill is advertised as it is', () => {
  const skill = parse('---\nname: pdf-forms\ndescription: Fills forms.\nlicense: MIT\n---\n# Body\n');
  assert.deepEqual(skill, {
    rejected: undefined,
    name: 'pdf-forms',
    description: 'Fills forms.',
    version: '0.0.0',
    tags: [],
    frontmatter: { name: 'pdf-forms', description: 'Fills forms.', license: 'MIT' },
    findings: [],
    unadvertised: [],
    line: undefined,
  });
});

test('a byte order mark, CRLF, blanks behind the fences and no text behind them are all fine', () => {
  for (const text of [
    '\uFEFF---\r\nname: a\r\ndescription: b\r\n---\r\nbody',
    '---   \nname: a\ndescription: b\n---\t\nbody',
    '---\nname: a\ndescription: b\n---',
  ]) {
    const { name, description, unadvertised, findings: found } = parse(text);
    assert.deepEqual([name, description, unadvertised, found], ['a', 'b', [], []], JSON.stringify(text));
  }
});

test('blank lines before the fence and `...` at the end are read, and not advertised: clients see no frontmatter there', () => {
  for (const [text, why, line] of [
    ['\n  \n---\nname: a\ndescription: b\n---\n', /^blank lines .*begin the file with ---/, 1],
    ['\uFEFF\r\n---\r\nname: a\r\ndescription: b\r\n---\r\n', /^blank lines .*begin the file with ---/, 1],
    ['---\nname: a\ndescription: b\n...\nbody', /ends with \.\.\.: end it with ---/, 4],
    ['---\r\nname: a\r\n\r\ndescription: b\r\n...', /ends with \.\.\.: end it with ---/, 5],
  ] as const) {
    const skill = parse(text);
    assert.deepEqual([skill.name, skill.description, skill.findings], ['a', 'b', []], JSON.stringify(text));
    assert.equal(skill.unadvertised.length, 1);
    assert.match(skill.unadvertised[0]!, why);
    assert.equal(skill.line, line);
  }
});

test('a name with blanks or line ends around it names the skill, and is not advertised: clients refuse the whole list for it', () => {
  for (const written of ['" a "', '"a\\n"', '|\n  a', '>\n  a', '"\\u00a0a"']) {
    const skill = parse(`---\ndescription: b\nname: ${written}\n---\n`);
    assert.equal(skill.name, 'a', written);
    assert.match(skill.unadvertised.join(), /^its name has blanks or line ends around it: write nothing but the name$/);
    assert.equal(skill.line, 3);
  }
  for (const written of ['a', '"a"', '>-\n  a', '   a   ']) {
    assert.deepEqual(parse(`---\ndescription: b\nname: ${written}\n---\n`).unadvertised, [], written);
  }
});

test('half of a pair of surrogates, which many clients cannot read, never comes into a catalogue', () => {
  for (const field of [
    'description: "x \\uD800 y"',
    'description: b\nmetadata: {k: "\\uDFFF"}',
    'description: b\ntags: ["\\uD83D"]',
    'description: b\ndeep: [{"\\uD800": 1}]',
    'description: b\n"\\uDC00": 1',
    'description: b\nx: &a "\\uDC00"\ny: *a',
  ]) {
    const skill = parse(`---\nname: a\n${field}\n---\n`);
    assert.doesNotMatch(JSON.stringify(skill), /[^\\]\\ud[89a-f]/i);
    assert.match(skill.unadvertised.join(), /stands for no character: write the character itself/, field);
    assert.equal(skill.name, 'a');
    assert.notEqual(skill.description, '');
  }
  assert.equal(parse('---\nname: a\ndescription: "\\uD83D\\uDE00"\n---\n').description, '😀');
});

test('a value that JSON cannot hold is null in the frontmatter, and keeps a skill from being advertised', () => {
  for (const value of ['.inf', '-.inf', '.nan', '1e999', '!!binary aGk=', '[1, {x: .inf}]']) {
    const { unadvertised, line, version } = parse(`---\nname: a\ndescription: b\nversion: "2"\nx: ${value}\n---\n`);
    assert.match(unadvertised.join(), /^it has a value, such as \.inf, .*put it in quotes$/, value);
    assert.deepEqual([line, version], [5, '2']);
  }
});

test('a rule in the body and an indented --- in a description end no frontmatter', () => {
  const skill = parse('---\nname: a\ndescription: |\n  one\n  ---\n  two\n---\nbody\n---\nmore: x\n');
  assert.equal(skill.description, 'one --- two');
  assert.deepEqual(skill.frontmatter, { name: 'a', description: 'one\n---\ntwo\n' });
});

test('`---js` begins nothing, and nothing runs', () => {
  const skill = parse('---js\nprocess.exit(7)\n---\n');
  assert.deepEqual(
    skill.findings.map(({ reason }) => reason),
    ['NoFrontmatter'],
  );
  assert.equal(skill.frontmatter, undefined);
});

test('no frontmatter and one that is not closed are told with the line', () => {
  assert.deepEqual(findings('# Title\n'), ['NoFrontmatter:1']);
  assert.deepEqual(findings('```\n---\nname: a\n---\n```\n'), ['NoFrontmatter:1']);
  assert.deepEqual(findings('\n---\nname: a\n\n# Title\n'), ['UnclosedFrontmatter:2']);
  assert.deepEqual(findings(`---\ndescription: ${'x'.repeat(70_000)}\n---\n`), ['UnclosedFrontmatter:1']);
  for (const text of ['# Title\n', '---\nname: a\n']) assert.equal(parse(text).unadvertised.length, 1);
});

test('a frontmatter of exactly 64 KiB is read', () => {
  const yaml = `name: a\ndescription: ${'x'.repeat(64 * 1024 - 'name: a\ndescription: \n'.length)}\n`;
  assert.equal(yaml.length, 64 * 1024);
  assert.equal(splitFrontmatter(`---\n${yaml}---\n`).kind, 'found');
  assert.equal(splitFrontmatter(`---\n#${yaml}---\n`).kind, 'tooLong');
});

test('an empty file, blanks only, and bytes that are no text are rejected', () => {
  assert.equal(parse('').rejected?.reason, 'Empty');
  assert.equal(parse('\uFEFF \r\n\t\n').rejected?.reason, 'Empty');
  assert.equal(parseSkill(Buffer.from([0xff, 0xfe, 0x2d, 0]), false).rejected?.reason, 'NotText');
});

test('two readings: numbers on the wire, what was written in Lyceum', () => {
  const skill = parse(
    '---\nname: 007\ndescription: d\nversion: 1.10\ntags: "a, b"\nallowed-tools: Read, Bash(git log *)\n---\n',
  );
  assert.equal(skill.name, '007');
  assert.equal(skill.version, '1.10');
  assert.deepEqual(skill.tags, ['a', 'b']);
  assert.deepEqual(skill.frontmatter, {
    name: 7,
    description: 'd',
    version: 1.1,
    tags: 'a, b',
    'allowed-tools': 'Read, Bash(git log *)',
  });
  assert.equal(skill.unadvertised.length, 1);
  assert.equal(skill.line, 2);
});

test('`no`, dates and nothing at all are read as YAML 1.2 reads them', () => {
  const { frontmatter } = parse('---\nname: a\ndescription: b\nx: no\ny: 2026-01-01\nz:\nw: .inf\nv: true\n---\n');
  assert.deepEqual(frontmatter, { name: 'a', description: 'b', x: 'no', y: '2026-01-01', z: null, w: null, v: true });
});

test('a field that the specification gives a type to, and that has another, keeps a skill from being advertised', () => {
  const reasons = (fields: string) => parse(`---\nname: a\ndescription: b\n${fields}\n---\n`).unadvertised;
  for (const fields of [
    'metadata: {version: "1.0", author: me}',
    'metadata: {}',
    `compatibility: ${'ä'.repeat(500)}`,
    'allowed-tools: [Read]',
    'version: 1.0',
  ]) {
    assert.deepEqual(reasons(fields), [], fields);
  }
  for (const fields of [
    'metadata: {version: 1.0}',
    'metadata: [a]',
    'metadata: text',
    'metadata: {deep: {a: b}}',
    'metadata:',
  ]) {
    assert.match(reasons(fields).join(), /metadata .*quotes/, fields);
  }
  for (const fields of ['compatibility: 7', 'compatibility: ""', `compatibility: ${'a'.repeat(501)}`]) {
    assert.match(reasons(fields).join(), /compatibility/, fields);
  }
  assert.equal(parse('---\nname: a\ndescription: b\nlicense: MIT\nmetadata: {a: 1}\n---\n').line, 5);
});

test('version and tags may stand in metadata; lists, commas and brackets in a text are tags alike', () => {
  const skill = parse(
    '---\nname: a\ndescription: b\nmetadata:\n  version: "2.0"\n  tags: x, y ,, x\n  nested: {a: [1]}\ntags: "[ddd, domain]"\n---\n',
  );
  assert.equal(skill.version, '2.0');
  assert.deepEqual(skill.tags, ['ddd', 'domain', 'x', 'y']);
  assert.deepEqual(parse('---\nname: a\ntags:\n- one\n- 2.0\n- {x: 1}\n---\n').tags, ['one', '2.0']);
  assert.equal(parse('---\nname: a\nmetadata: text\nversion: a b\n---\n').version, '0.0.0');
});

test('a description is one line, its whitespace collapsed', () => {
  assert.equal(parse('---\nname: a\ndescription: >-\n  one\n  two\n\n  three\n---\n').description, 'one two three');
});

test('what keeps a skill from being advertised is said with its remedy', () => {
  const why = (yaml: string) => parse(`---\n${yaml}\n---\n`).unadvertised;
  assert.deepEqual(why('name: a\ndescription: b'), []);
  assert.match(why('description: b').join(), /has no name/);
  assert.match(why('name: ""\ndescription: b').join(), /has no name/);
  for (const name of ['Writing Rules', 'a/b', '-a', 'a--b', 'A', 'a_b', 'x'.repeat(65), 'é']) {
    assert.match(why(`name: ${name}\ndescription: b`).join(), /name is not valid/, name);
  }
  assert.match(why('name: a').join(), /no description/);
  assert.match(why('name: a\ndescription: "  "').join(), /no description/);
  assert.match(why('name: a\ndescription: [b]').join(), /no description/);
  assert.match(why('name: a\ndescription: 5').join(), /no text to YAML/);
  assert.match(why('name: true\ndescription: b').join(), /in quotes/);
  assert.match(why(`name: a\ndescription: ${'x'.repeat(1025)}`).join(), /more than 1024/);
  assert.deepEqual(why(`name: a\ndescription: ${'x'.repeat(1024)}`), []);
  assert.deepEqual(why(`name: a\ndescription: ${'😀'.repeat(1024)}`), []);
});

test('an unquoted colon is read whole, with the line and a warning', () => {
  const skill = parse('---\nname: a\nlicense: MIT\ndescription: Use when: the user asks\n---\n');
  assert.equal(skill.name, 'a');
  assert.equal(skill.description, 'Use when: the user asks');
  assert.deepEqual(skill.frontmatter, { name: 'a', license: 'MIT', description: 'Use when: the user asks' });
  assert.deepEqual(
    skill.findings.map(({ reason, line }) => [reason, line]),
    [['LenientYaml', 4]],
  );
  assert.match(skill.findings[0]!.message, /quotes/);
  assert.equal(skill.unadvertised.length, 1);
  assert.equal(skill.line, 4);
});

test('values that look like YAML and are none are taken as the text they are', () => {
  const { frontmatter, findings: found } = parse(
    [
      '---',
      'name: a',
      'description: "say "hello" twice"',
      'argument-hint: [a] [b]',
      'globs: **/*.ts,**/*.tsx',
      'paths: "**/a.ts", "**/b.ts"',
      "apostrophe: 'don't: not'",
      'at: @user',
      'tick: `x`',
      'percent: %d',
      'flow: {a: [b',
      'list:',
      '  - fine',
      '  - too',
      'block: |',
      '  kept: as is',
      'folded: a',
      '  b: c',
      'stray',
      '\ttab:\tx',
      'name: second',
      '---',
      '',
    ].join('\n'),
  );
  assert.deepEqual(frontmatter, {
    name: 'a',
    description: 'say "hello" twice',
    'argument-hint': '[a] [b]',
    globs: '**/*.ts,**/*.tsx',
    paths: '"**/a.ts", "**/b.ts"',
    apostrophe: "don't: not",
    at: '@user',
    tick: '`x`',
    percent: '%d',
    flow: '{a: [b',
    list: ['fine', 'too'],
    block: 'kept: as is\n',
    folded: 'a b: c stray tab:  x',
  });
  assert.deepEqual(
    found.map(({ reason, line }) => [reason, line]),
    [['LenientYaml', 3]],
  );
});

test('a field that stands twice keeps its first value', () => {
  const skill = parse('---\nname: a\ndescription: first\ndescription: second\n---\n');
  assert.equal(skill.description, 'first');
  assert.deepEqual(
    skill.findings.map(({ reason, line }) => [reason, line]),
    [['LenientYaml', 4]],
  );
  assert.match(skill.findings[0]!.message, /twice/);
});

test('what no reading can save is served without frontmatter, and says where it went wrong', () => {
  for (const [yaml, line] of [
    ['just text', 2],
    ['- a\n- b', 2],
  ] as const) {
    const skill = parse(`---\n${yaml}\n---\n`);
    assert.equal(skill.frontmatter, undefined);
    assert.match(skill.unadvertised.join(), /cannot be read/);
    assert.equal(skill.line, line);
  }
});

test('an empty frontmatter is one without fields', () => {
  const skill = parse('---\n---\nbody');
  assert.deepEqual(skill.frontmatter, {});
  assert.equal(skill.unadvertised.length, 2);
});

test('a description that a # cuts is told', () => {
  const skill = parse('---\nname: a\ndescription: Port C to F # later\nlicense: MIT # a comment\n---\n');
  assert.equal(skill.description, 'Port C to F');
  assert.deepEqual(
    skill.findings.map(({ reason, line }) => [reason, line]),
    [['LenientYaml', 3]],
  );
  assert.match(skill.findings[0]!.message, /#/);
  assert.deepEqual(skill.unadvertised, []);
  assert.deepEqual(findings('---\nname: a\ndescription: "C# # x" # y\n---\n'), []);
  assert.deepEqual(findings('---\nname: a\ndescription: use C# now\n# a comment\nx: 1\n---\n'), []);
});

test('an alias bomb and __proto__ harm nobody', () => {
  let yaml = 'name: a\ndescription: b\na0: &a0 [x, x, x, x, x, x, x, x, x]\n';
  for (let level = 1; level < 9; level++)
    yaml += `a${level}: &a${level} [${Array(9)
      .fill(`*a${level - 1}`)
      .join(', ')}]\n`;
  const skill = quickly(`---\n${yaml}__proto__: {x: 1}\n---\n`);
  assert.equal(skill.name, 'a');
  assert.ok(JSON.stringify(skill.frontmatter).length < 64 * 1024);
  assert.deepEqual(
    skill.findings.map(({ reason }) => reason),
    ['LenientYaml'],
  );
  assert.equal(({} as Record<string, unknown>).x, undefined);
  const own = parse('---\nname: a\ndescription: b\n__proto__: {x: 1}\n---\n').frontmatter!;
  assert.equal(Object.getPrototypeOf(own), Object.prototype);
  assert.ok(Object.hasOwn(own, '__proto__'));
  assert.equal(own.x, undefined);
});

test('a long text that is repeated by aliases does not grow beyond bounds', () => {
  const skill = quickly(`---\nname: a\nx: &x ${'y'.repeat(50_000)}\nz: [${Array(100).fill('*x').join(', ')}]\n---\n`);
  assert.ok(JSON.stringify(skill.frontmatter).length < 128 * 1024);
  assert.deepEqual(
    skill.findings.map(({ reason }) => reason),
    ['LenientYaml'],
  );
});

test('a few aliases are what they stand for, and a value may not hold itself', () => {
  assert.deepEqual(parse('---\nname: &n a\ndescription: *n\n---\n').frontmatter, { name: 'a', description: 'a' });
  assert.match(quickly('---\nname: a\ndescription: b\nx: &x [*x]\n---\n').unadvertised.join(), /not valid YAML/);
});

test('no frontmatter takes long, whatever is in it', () => {
  const big = 60_000;
  for (const yaml of [
    '? '.repeat(big / 2),
    Array.from({ length: 340 }, (_, at) => `${' '.repeat(at)}?`).join('\n'),
    '[,'.repeat(big / 2),
    '[,'.repeat(350),
    `a: "${'\\x'.repeat(700)}"`,
    `a: ${'['.repeat(big)}`,
    `a: ${'{a: '.repeat(big / 4)}`,
    '- '.repeat(big / 2),
    Array.from({ length: 8000 }, (_, at) => `k${at}: 1`).join('\n'),
    `a: {${Array.from({ length: 7000 }, (_, at) => `k${at}: 1`).join(',')}}`,
    Array.from({ length: 5000 }, (_, at) => `k${at}: &a${at} 1`).join('\n'),
    `a: "${'\\x'.repeat(big / 2)}"`,
    `a: ${'! '.repeat(big / 2)}`,
    `a: ${']'.repeat(big)}`,
    'a: b: c\n'.repeat(big / 8),
    Array.from({ length: 5000 }, (_, at) => `k${at}: [a] b`).join('\n'),
    `a: ${'x '.repeat(big / 2)}`,
    `a:${' '.repeat(big)}`,
    `a: >\n${' x\n\n'.repeat(big / 4)}`,
    `a: ${'"'.repeat(big)}`,
    `a: ${'"x" '.repeat(big / 4)}`,
    `a: ${'-\t'.repeat(big / 2)}`,
  ]) {
    quickly(`---\nname: a\n${yaml}\n---\n`);
    quickly(`---\n${yaml}\n---\n`);
  }
});

test('a large body is no matter', () => {
  quickly(`---\nname: a\ndescription: b\n---\n${'x\n'.repeat(2_000_000)}`);
  quickly(' '.repeat(4_000_000));
  quickly(`${' '.repeat(2_000_000)}x`);
  quickly(`${'\n'.repeat(2_000_000)}x`);
  quickly(`${'\n'.repeat(20_000_000)}---\nname: a\n---\n`);
  quickly(' \r\n'.repeat(1_300_000));
  quickly(`---\n${'-'.repeat(4_000_000)}`);
});

test('a description longer than the specification allows is cut in listings and whole in the frontmatter', () => {
  const long = '𝒹'.repeat(60_000 / 4);
  const skill = parse(`---\nname: a\ndescription: ${long}\n---\n`);
  assert.equal([...skill.description].length, 1024);
  assert.ok(skill.description.endsWith('…'));
  assert.equal(skill.frontmatter?.description, long);
  const fitting = 'x'.repeat(1024);
  assert.equal(parse(`---\nname: a\ndescription: ${fitting}\n---\n`).description, fitting);
});
