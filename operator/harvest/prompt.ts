// What a prompt's file says: its fields, the arguments it takes in its dialect, and whether its text asks for others. Pure.

import type { Finding } from '../../catalogue/finding.ts';
import { lineAt } from '../../catalogue/frontmatter.ts';
import {
  longestDescription,
  type MainText,
  nothingSaid,
  oneLine,
  type ParsedMain,
  readMain,
  scalar,
  shortened,
  unclosedFinding,
} from '../../catalogue/main-text.ts';
import { slug } from '../../catalogue/names.ts';
import { allArguments, argumentOf, mostPlaceholders, placeholdersIn } from '../../catalogue/prompt-placeholders.ts';
import type { PromptArgument, PromptDialect } from '../../catalogue/source-catalogue.ts';
import type { Text } from '../../catalogue/yaml.ts';
import { documentOf } from './document.ts';

const mostArguments = 64;
const longestName = 64;
const mostPositions = 9;

export function parsePrompt(bytes: Buffer, isText: boolean, dialect: PromptDialect): ParsedMain {
  const main = readMain(bytes, isText, 'prompt');
  if (main.kind === 'unclosed') {
    return { ...nothingSaid, rejected: unclosedFinding(main, ', so the prompt is rejected') };
  }
  const parsed = documentOf(main);
  if (main.kind === 'rejected') return parsed;
  if (hasTooMany(placeholdersIn(dialect, main.body))) {
    const message = `The prompt takes arguments in more than ${mostPlaceholders} places, so it is rejected: shorten it.`;
    return { ...parsed, rejected: { reason: 'TooLarge', message } };
  }
  const taken = argumentsOf(main, dialect);
  if ('rejected' in taken) return { ...parsed, rejected: taken.rejected };
  if (dialect === 'placeholders') {
    for (const placeholder of placeholdersIn(dialect, main.body)) {
      if (!('name' in placeholder) || argumentOf(placeholder, taken.arguments) !== undefined) continue;
      const line = lineAt(bytes.toString('utf8'), bytes.toString('utf8').length - main.body.length + placeholder.at);
      const name = shortened(placeholder.name, longestName);
      const message = `The placeholder ${name} is not among the prompt's arguments, so the prompt is rejected: declare it, or correct its name.`;
      return { ...parsed, rejected: { reason: 'UndeclaredPlaceholder', message, line } };
    }
  }
  return {
    ...parsed,
    prompt: { dialect, arguments: taken.arguments },
    findings: [...parsed.findings, ...taken.findings],
  };
}

function hasTooMany(placeholders: Iterable<unknown>): boolean {
  let count = 0;
  for (const _placeholder of placeholders) if (++count > mostPlaceholders) return true;
  return false;
}

type Taken = { arguments: PromptArgument[]; findings: Finding[] } | { rejected: Finding };
type Readable = Exclude<MainText, { kind: 'rejected' | 'unclosed' }>;

function argumentsOf(main: Readable, dialect: PromptDialect): Taken {
  switch (dialect) {
    case 'placeholders':
      return main.kind === 'fields' ? declared(main) : { arguments: [], findings: [] };
    case 'claude':
      return { arguments: positional(main), findings: [] };
    case 'copilot':
      return { arguments: inputs(main.body), findings: [] };
  }
}

/** The list `arguments` of the frontmatter. */
function declared({ fields, firstLine }: Extract<MainText, { kind: 'fields' }>): Taken {
  const written = fields.text.get('arguments');
  if (written === undefined || written === '') return { arguments: [], findings: [] };
  const at = fields.lines.get('arguments');
  const line = at === undefined ? {} : { line: firstLine + at - 1 };
  const taken: PromptArgument[] = [];
  const liberties = new Set<string>();
  for (const { item, plain } of itemsOf(written, fields.core.arguments)) {
    const argument = item instanceof Map ? argumentFrom(item, plain, liberties) : named(scalar(item), liberties);
    if (argument === undefined) liberties.add('an argument without a name is left out');
    else if (taken.some(({ name }) => name === argument.name))
      liberties.add('an argument that stands twice counts once');
    else if (taken.length === mostArguments) liberties.add(`those behind the first ${mostArguments} are left out`);
    else if (argument.required && argument.default !== undefined) {
      const message = `The argument ${shown(argument.name)} is required and has a default too, so the prompt is rejected: remove one of the two.`;
      return { rejected: { reason: 'RequiredWithDefault', message, ...line } };
    } else taken.push(argument);
  }
  const message = `The prompt's arguments were read as they seem to be meant: ${[...liberties].join('; ')}. Write a list of fields with name, description, required and default.`;
  return { arguments: taken, findings: liberties.size === 0 ? [] : [{ reason: 'LenientYaml', message, ...line }] };
}

/** Each item in the string reading and in the core one: a list, or a mapping of names to what is said of them. */
function* itemsOf(written: Text, core: unknown): Generator<{ item: Text; plain: unknown }> {
  if (Array.isArray(written)) {
    const plain = Array.isArray(core) ? core : [];
    for (const [at, item] of written.entries()) yield { item, plain: plain[at] };
  } else if (written instanceof Map) {
    for (const [name, said] of written) {
      const fields = said instanceof Map ? said : new Map([['description', said]]);
      const plain = (core as Record<string, unknown>)[name];
      yield { item: new Map<string, Text>([['name', name], ...fields]), plain };
    }
  } else yield { item: written, plain: core };
}

function argumentFrom(
  item: ReadonlyMap<string, Text>,
  plain: unknown,
  liberties: Set<string>,
): PromptArgument | undefined {
  const name = scalar(item.get('name'))?.trim() ?? '';
  if (name === '' || name.length > longestName) return undefined;
  const description = shortened(oneLine(scalar(item.get('description')) ?? ''), longestDescription);
  const preset = item.get('default');
  const isNull = (plain as Record<string, unknown> | undefined)?.default === null;
  if (preset !== undefined && typeof preset !== 'string')
    liberties.add('a default that is a list or has fields is left out');
  return {
    name,
    ...(description === '' ? {} : { description }),
    required: /^(?:true|yes|1)$/i.test(scalar(item.get('required'))?.trim() ?? ''),
    ...(typeof preset === 'string' && !isNull ? { default: preset } : {}),
  };
}

function named(text: string | undefined, liberties: Set<string>): PromptArgument | undefined {
  const name = text?.trim() ?? '';
  if (name === '' || name.length > longestName) return undefined;
  liberties.add('a mere name is an argument that may be left out');
  return { name, required: false };
}

/** A name that an author wrote, as a message may carry it. */
const shown = (name: string): string => (/^[A-Za-z_][\w-]*$/.test(name) ? name : 'of that line');

/** Claude's: all of it, then each by its position, called as `argument-hint` calls it. */
function positional(main: Readable): PromptArgument[] {
  let isWhole = false;
  let positions = 0;
  for (const placeholder of placeholdersIn('claude', main.body)) {
    if ('position' in placeholder) positions = Math.max(positions, placeholder.position);
    else isWhole = true;
  }
  const hint = main.kind === 'fields' ? hintOf(main.fields.text.get('argument-hint')) : '';
  const words = wordsOf(hint);
  const names = new Set(isWhole ? [allArguments] : []);
  const taken: PromptArgument[] = [];
  if (isWhole) taken.push({ name: allArguments, ...(hint === '' ? {} : { description: hint }), required: false });
  for (let at = 0; at < Math.min(positions, mostPositions + 1); at++) {
    const word = words[at] ?? '';
    const name = word === '' || word === allArguments || names.has(word) ? unusedName(at + 1, names) : word;
    names.add(name);
    taken.push({ name, required: false });
  }
  return taken;
}

/** `arg1`, `arg2` …: the first from a position on that no hint has given away. */
function unusedName(position: number, names: ReadonlySet<string>): string {
  for (let at = position; ; at++) if (!names.has(`arg${at}`)) return `arg${at}`;
}

/** `[number] [priority]` without quotes is a list to YAML, or a list in a list. */
function hintOf(written: Text | undefined): string {
  const text = Array.isArray(written) ? written.map((item) => `[${hintOf(item)}]`).join(' ') : scalar(written);
  return shortened(oneLine(text ?? ''), longestDescription);
}

/** The words of a hint as slugs; what stands in brackets is one. */
const wordsOf = (hint: string): string[] =>
  [...hint.matchAll(/\[([^\]]*)\]|<([^>]*)>|\{([^}]*)\}|([^\s[<{]+)/g)]
    .map((word) => slug(word.slice(1).find((text) => text !== undefined) ?? '', longestName))
    .filter((word) => word !== '');

function inputs(body: string): PromptArgument[] {
  const found = new Map<string, PromptArgument>();
  for (const placeholder of placeholdersIn('copilot', body)) {
    if (!('name' in placeholder) || found.has(placeholder.name) || found.size === mostArguments) continue;
    const description = shortened(oneLine(placeholder.hint ?? ''), longestDescription);
    found.set(placeholder.name, {
      name: placeholder.name,
      ...(description === '' ? {} : { description }),
      required: false,
    });
  }
  return [...found.values()];
}
