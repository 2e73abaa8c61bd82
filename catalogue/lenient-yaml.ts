// YAML that is none, read as its author meant it: field by field, what does not parse taken as the text it is.
import { readYaml, type YamlFields } from './yaml.ts';

const mostFields = 256;

interface Field {
  name: string;
  /** Where the name stands, from 1. */
  line: number;
  /** The line with the name, and those that follow until the next name. */
  lines: string[];
}

/** @returns undefined where there is nothing that looks like a field, or too many of them */
export function readLeniently(yaml: string): YamlFields | undefined {
  const fields = splitFields(yaml.replaceAll('\t', '  '));
  if (fields.length === 0 || fields.length > mostFields) return undefined;
  const lines = new Map<string, number>();
  const kept: string[] = [];
  for (const field of fields) {
    if (lines.has(field.name)) continue;
    lines.set(field.name, field.line);
    const whole = field.lines.join('\n');
    kept.push(readYaml(whole).ok ? whole : `${field.name}: ${JSON.stringify(textOf(field))}`);
  }
  const result = readYaml(kept.join('\n'));
  return result.ok ? { ...result.fields, lines } : undefined;
}

/** A field begins at a name in the first column; whatever else follows belongs to it. */
function splitFields(yaml: string): Field[] {
  const fields: Field[] = [];
  for (const [at, line] of yaml.split('\n').entries()) {
    const name = /^(["']?)([\w.-]+)\1 *:(?: |$)/.exec(line)?.[2];
    const field = fields.at(-1);
    if (name !== undefined) fields.push({ name, line: at + 1, lines: [line] });
    else if (field !== undefined && !line.startsWith('#')) field.lines.push(line);
  }
  return fields;
}

/** What stands behind the name, on one line, without a block scalar's sign and without quotes around all of it. */
function textOf({ lines: [first = '', ...more] }: Field): string {
  const value = first.slice(first.indexOf(':') + 1).trim();
  const sign = more.length === 0 ? value : value.replace(/^[|>][-+0-9]*(?: +#.*)?$/, '');
  const text = [sign, ...more.map((line) => line.trim())].filter((part) => part !== '').join(' ');
  const [, quote, inner] = /^(["'])(.*)\1$/.exec(text) ?? [];
  return quote === undefined || inner === undefined || isEndedIn(inner, quote) ? text : inner;
}

/** Whether the first quote within a text ends a word, as in `"a", "b"`: then those at its ends are no pair. */
const isEndedIn = (inner: string, quote: string): boolean =>
  /[^\s,]/.test(inner.charAt(inner.indexOf(quote) - 1)) && /[\s,]/.test(inner.charAt(inner.indexOf(quote) + 1));
