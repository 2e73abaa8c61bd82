// A prompt's text with its arguments filled in: P11 to P13 of mcp-school's cases, and the other dialects.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PromptArgument, PromptDialect } from '../../catalogue/source-catalogue.ts';
import { argumentsGiven, PromptRefused, renderPrompt } from '../../server/answers/prompt-text.ts';

const optional = (name: string, more: Partial<PromptArgument> = {}): PromptArgument => ({
  name,
  required: false,
  ...more,
});

function rendered(
  text: string,
  declared: PromptArgument[],
  given: Record<string, unknown> = {},
  dialect: PromptDialect = 'placeholders',
): string {
  return renderPrompt({ dialect, arguments: declared }, text, argumentsGiven(given));
}

describe('rendering', () => {
  const greeting = [optional('who', { required: true }), optional('greeting', { default: 'Hello' }), optional('mark')];
  const text = '{{ greeting }}, {{who}}{{ mark }}\n';

  it('puts the given value, else the default, else nothing (P11)', () => {
    assert.equal(rendered(text, greeting, { who: 'Ada' }), 'Hello, Ada\n');
    assert.equal(rendered(text, greeting, { who: 'Ada', greeting: 'Hi', mark: '!' }), 'Hi, Ada!\n');
  });

  it('takes a blank text and null as absent (P11)', () => {
    assert.equal(rendered(text, greeting, { who: 'Ada', greeting: '', mark: null }), 'Hello, Ada\n');
  });

  it('names every required argument that is missing or blank (P12)', () => {
    const declared = [...greeting, optional('place', { required: true })];
    for (const given of [{}, { who: '' }, { who: null, place: '' }, { greeting: 'Hi' }]) {
      assert.throws(() => rendered(text, declared, given), {
        name: 'PromptRefused',
        message: 'Missing required arguments: who, place',
      });
    }
    assert.throws(() => rendered(text, declared, { who: 'Ada' }), { message: 'Missing required arguments: place' });
  });

  it('passes over arguments that the prompt has not', () => {
    assert.equal(rendered(text, greeting, { who: 'Ada', toolCallId: 'x', __proto__: { who: 'Eve' } }), 'Hello, Ada\n');
    assert.equal(rendered('{{ a }}', [optional('a')], JSON.parse('{"__proto__":"x","constructor":"y"}')), '');
  });

  it('leaves single braces and everything else as it is (P13)', () => {
    const query = '{app="{{app}}"} |= `x` | line_format "{{.msg}}" {{ 1 }} { { app } } {{-app}}';
    assert.equal(rendered(query, [optional('app')], { app: 'api' }), query.replace('{{app}}', 'api'));
  });

  it('is one pass: a placeholder inside a value is text', () => {
    const declared = [optional('a'), optional('b', { default: '{{ a }}' })];
    assert.equal(rendered('{{a}}-{{b}}', declared, { a: '{{ b }}{{a}}' }), '{{ b }}{{a}}-{{ a }}');
    assert.equal(rendered('{{{{a}}}}', declared, { a: 'b' }), '{{b}}');
    assert.equal(rendered('{{a}}', declared, { a: "$& $1 $' $$" }), "$& $1 $' $$");
  });

  it('keeps the text byte for byte around what it fills in', () => {
    assert.equal(
      rendered('\r\n{{a}}\t \u00e9e\u0301\ufeff\r\n\n', [optional('a')], { a: '1' }),
      '\r\n1\t \u00e9e\u0301\ufeff\r\n\n',
    );
    assert.equal(rendered('', [optional('a')], { a: '1' }), '');
  });

  it('leaves a placeholder that nothing is declared for', () => {
    assert.equal(rendered('{{a}} {{toString}}', [optional('a')], { a: '1', toString: 'x' }), '1 {{toString}}');
  });
});

describe("rendering in Claude's dialect", () => {
  const declared = [optional('arguments'), optional('issue'), optional('priority')];
  const fill = (text: string, given: Record<string, unknown>) => rendered(text, declared, given, 'claude');

  it('puts everything for $ARGUMENTS and a word of the hint for each position', () => {
    const given = { arguments: '12 high', issue: '12', priority: 'high' };
    assert.equal(fill('Fix $ARGUMENTS: $1, $2.', given), 'Fix 12 high: 12, high.');
  });

  it('puts nothing for what is left out, since all are optional', () => {
    assert.equal(fill('Fix [$ARGUMENTS] [$1]', {}), 'Fix [] []');
  });

  it('leaves the placeholders of other dialects, and dollars that are none', () => {
    const text = '{{ issue }} $100 $0 $x';
    assert.equal(fill(text, { issue: '12' }), text);
  });

  it('is one pass', () => {
    assert.equal(fill('$ARGUMENTS|$1', { arguments: '$1', issue: '$ARGUMENTS' }), '$1|$ARGUMENTS');
  });
});

describe("rendering in Copilot's dialect", () => {
  it('puts a value for each input, with or without a hint', () => {
    const declared = [optional('topic'), optional('depth')];
    const text = `On $${'{input:topic}'}, $${'{input:depth:how deep}'}; {{ topic }} $1 $${'{selection}'}`;
    const expected = `On rust, ; {{ topic }} $1 $${'{selection}'}`;
    assert.equal(rendered(text, declared, { topic: 'rust' }, 'copilot'), expected);
  });
});

describe('a prompt that would grow without bound', () => {
  it('is refused before it does', () => {
    const text = '{{a}}'.repeat(20_000);
    const begun = performance.now();
    assert.throws(() => rendered(text, [optional('a')], { a: 'x'.repeat(200_000) }), PromptRefused);
    assert.ok(performance.now() - begun < 1000);
    assert.equal(rendered(text, [optional('a')], { a: 'xy' }).length, 40_000);
    assert.throws(() => rendered(`${text}{{b}}`, [optional('a')], {}), PromptRefused);
  });
});

describe('arguments as clients send them', () => {
  const given = (sent: unknown) => Object.fromEntries(argumentsGiven(sent));

  it('are texts, numbers and booleans', () => {
    assert.deepEqual(given({ a: 'x', b: 7, c: 1.5, d: true, e: false, f: 0 }), {
      a: 'x',
      b: '7',
      c: '1.5',
      d: 'true',
      e: 'false',
      f: '0',
    });
  });

  it('may be all of them in one text, as JSON', () => {
    assert.deepEqual(given('{"a":"x","b":2}'), { a: 'x', b: '2' });
    for (const nothing of [undefined, null, '', '  ', 'null', '{}', {}]) assert.deepEqual(given(nothing), {});
  });

  it('are refused in words where they are anything else', () => {
    for (const sent of ['{"a":', 'who=Ada', '"text"', '7', '[]', 7, true, [], ['a']]) {
      assert.throws(() => argumentsGiven(sent), PromptRefused, JSON.stringify(sent));
    }
    for (const sent of [{ who: {} }, { who: ['Ada'] }, '{"who":[]}']) {
      assert.throws(() => argumentsGiven(sent), /'who' must be a text/);
    }
  });
});
