// An object as the operator reads it: its spec with defaults, or what is wrong with it in words that tell what to write.
import type { z } from 'zod';
import { skillGatewayRules } from './gateway-rules.ts';
import { type Rule, valuesAt } from './rule.ts';
import { type SkillGatewaySpec, skillGatewaySpecSchema } from './skill-gateway.ts';
import { type SkillSourceSpec, skillSourceSpecSchema } from './skill-source.ts';
import { skillSourceRules } from './source-rules.ts';

/** The message names every field to mend and the remedy. It repeats no value. */
export type Parsed<Spec> = { ok: true; spec: Spec } | { ok: false; message: string };

/** What is needed of an object: its name, since it may be a library's, and its spec as it came. */
export interface Unparsed {
  metadata: { name: string };
  spec?: unknown;
}

/** Fields that the schema does not have are dropped, as the API server drops them. */
export const parseSkillSource = (object: Unparsed): Parsed<SkillSourceSpec> =>
  parse(object, skillSourceSpecSchema, skillSourceRules);

export const parseSkillGateway = (object: Unparsed): Parsed<SkillGatewaySpec> =>
  parse(object, skillGatewaySpecSchema, skillGatewayRules);

function parse<Spec>(object: Unparsed, schema: z.ZodType<Spec>, rules: readonly Rule[]): Parsed<Spec> {
  const result = schema.safeParse(withoutNulls(object.spec));
  if (!result.success) return refuse(result.error.issues.map((issue) => `${pathOf(issue)}: ${remedyOf(issue)}`));
  const parsed = { metadata: object.metadata, spec: result.data };
  const broken = rules.flatMap(({ at, field = '', message, holds }) =>
    valuesAt(parsed, at)
      .filter(({ value }) => !holds(value))
      .map(({ path }) => `${(path + field).replace(/^\./, '')}: ${message}`),
  );
  return broken.length === 0 ? { ok: true, spec: result.data } : refuse(broken);
}

/** A field that is null is one that was left out, as the API server takes it. An item of a list stays. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => (item === null ? item : withoutNulls(item)));
  if (value === null) return undefined;
  if (typeof value !== 'object') return value;
  const given = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(given.map(([key, inner]) => [key, withoutNulls(inner)]));
}

/** A spec may be wrong in thousands of places, a condition's message has room for a few. */
const shown = 5;

function refuse(faults: string[]): { ok: false; message: string } {
  const rest = faults.length > shown ? `; and ${faults.length - shown} more` : '';
  return { ok: false, message: faults.slice(0, shown).join('; ') + rest };
}

function pathOf(issue: z.core.$ZodIssue): string {
  const steps = issue.path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  return `spec${steps.join('')}`;
}

function remedyOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.endsWith('undefined') ? 'required' : `must be ${article(issue.expected)}`;
    case 'invalid_union':
      return 'must be a number or a text';
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    case 'too_big':
      return issue.origin === 'array' ? `at most ${issue.maximum} items` : `at most ${issue.maximum}`;
    case 'too_small':
      return issue.origin === 'string' ? 'must not be empty' : `at least ${issue.minimum}`;
    default:
      return issue.message;
  }
}

const article = (type: string): string => {
  const name = { int: 'integer', record: 'object' }[type] ?? type;
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
};
