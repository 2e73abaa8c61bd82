// Where a prompt's text takes arguments, in each dialect.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argumentOf, placeholdersIn } from '../../catalogue/prompt-placeholders.ts';
import type { PromptDialect } from '../../catalogue/source-catalogue.ts';
import { processorTime } from '../fixtures/processor-time.ts';

/** Each placeholder as it stands and what it stands for; `§` is a dollar before a brace. */
function found(dialect: PromptDialect, written: string): string[] {
  const text = written.replaceAll('§', '$');
  return [...placeholdersIn(dialect, text)].map(({ at, length, ...what }) => {
    const which = 'name' in what ? `${what.name}${what.hint === undefined ? '' : ` (${what.hint})`}` : what.position;
    return `${text.slice(at, at + length).replaceAll('$', '§')} ${which}`;
  });
}

test('a placeholder is an ASCII word in double braces, blanks around it or not; all else is text', () => {
  assert.deepEqual(found('placeholders', 'Hello {{ who }}, {{greeting}}{{\n_x1\t}}'), [
    '{{ who }} who',
    '{{greeting}} greeting',
    '{{\n_x1\t}} _x1',
  ]);
  const text = '{app="x"} |= `a` {{ 1x }} {{ a-b }} {{naïve}} {{}} {{ $x }} $1 $ARGUMENTS §{input:a} { { x } }';
  assert.deepEqual(found('placeholders', text), []);
});

test("Claude's text takes $ARGUMENTS, single ones by position from 1, and in brackets from 0", () => {
  assert.deepEqual(found('claude', 'Fix $ARGUMENTS: $1 then $2, $ARGUMENTS[2].'), [
    '§ARGUMENTS arguments',
    '§1 1',
    '§2 2',
    '§ARGUMENTS[2] 3',
  ]);
  assert.deepEqual(found('claude', '{{ who }} costs $100, $0, $x, §{input:a}'), []);
});

test("Copilot's text takes inputs with or without a hint", () => {
  assert.deepEqual(found('copilot', 'For §{input:topic}, §{input:depth:how deep: 1-3} and §{input:a-b:}'), [
    '§{input:topic} topic',
    '§{input:depth:how deep: 1-3} depth (how deep: 1-3)',
    '§{input:a-b:} a-b',
  ]);
  assert.deepEqual(found('copilot', '§{selection} §{input:} §{input:a\n} {{ a }} $1'), []);
});

test('positions count the arguments that are not all of them', () => {
  const declared = [
    { name: 'arguments', required: false },
    { name: 'number', required: false },
    { name: 'arg2', required: false },
  ];
  const names = [...placeholdersIn('claude', '$2 $ARGUMENTS $1 $3')].map((one) => argumentOf(one, declared)?.name);
  assert.deepEqual(names, ['arg2', 'arguments', 'number', undefined]);
});

test('a crafted text takes no longer than a plain one', () => {
  for (const piece of ['{{ ', '{{a', '{{', '$ARGUMENTS[', '§{input:a:', `${'{{'}${' '.repeat(1000)}`]) {
    const text = piece.replace('§', '$').repeat(Math.floor(4_000_000 / piece.length));
    for (const dialect of ['placeholders', 'claude', 'copilot'] as const) {
      const spent = processorTime();
      assert.equal([...placeholdersIn(dialect, text)].filter((one) => 'position' in one).length, 0);
      assert.ok(spent() < 1500, `${JSON.stringify(piece.slice(0, 12))} in ${dialect}`);
    }
  }
});
