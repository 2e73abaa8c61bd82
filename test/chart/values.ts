// The chart's values as its page must have them: one row each, with the default of values.yaml and the schema's words.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

export const chart = join(import.meta.dirname, '../../charts/lyceum');

interface Schema {
  $ref?: string;
  description?: string;
  properties?: Record<string, Schema>;
}

interface Value {
  path: string;
  default: unknown;
  description: string | undefined;
}

const read = (name: string): Promise<string> => readFile(join(chart, name), 'utf8');

/** Everything that may be set, as values.yaml has it: what the schema describes is one value, the rest is looked into. */
export async function values(): Promise<Value[]> {
  const schema: Schema = JSON.parse(await read('values.schema.json'));
  return valuesOf(parse(await read('values.yaml')), schema, '');
}

function valuesOf(defaults: Record<string, unknown>, schema: Schema, above: string): Value[] {
  return Object.entries(defaults).flatMap(([name, value]) => {
    const path = above + name;
    const own = schema.properties?.[name];
    const open = own?.description === undefined && value !== null && typeof value === 'object';
    if (open) return valuesOf(value as Record<string, unknown>, own ?? {}, `${path}.`);
    return [{ path, default: value, description: own?.description }];
  });
}

/** A value's row in the README. */
export const rowOf = ({ path, default: value, description }: Value): string =>
  `| \`${path}\` | ${value === '' ? '–' : `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``} | ${description} |`;
