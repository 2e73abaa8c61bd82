// A rule on a custom resource, once in CEL for the API server and once in TypeScript for `lyceum run` and `check`; patterns and
// helpers that rules are written with.
import { libraryNamePattern } from '../../catalogue/names.ts';

export interface Rule {
  /** The node it stands on, from the object's root: ``, `spec`, `spec.tags[]` (each of them). */
  at: string;
  /** The field to mend, from that node, where it is not the node itself: `.url`. */
  field?: string;
  /** CEL over `self`, the node's value after defaults. */
  cel: string;
  /** What to write instead. It is the same whatever was written, so it repeats nothing. */
  message: string;
  /** The twin of `cel`, over the same value. */
  holds(self: unknown): boolean;
}

interface RuleOn<Self> {
  at: string;
  field?: string;
  cel: string;
  message: string;
  holds(self: Self): boolean;
}

export const rule = <Self>(on: RuleOn<Self>): Rule => on as Rule;

/** Every pattern is read by RE2 in the server and by JavaScript here: no look-around, no back references, explicit classes. */
export const matches = (pattern: string): ((value: string) => boolean) => {
  const expression = new RegExp(pattern, 'u');
  return (value) => expression.test(value);
};

/** `value` matches the pattern, in CEL. */
export const celMatches = (value: string, pattern: string): string =>
  `${value}.matches('${pattern.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}')`;

/** A rule that a text matches a pattern, where the text is neither secret nor a URL. */
export const textRule = (at: string, pattern: string, message: string): Rule =>
  rule<string>({ at, cel: celMatches('self', pattern), message, holds: matches(pattern) });

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
export const dnsName = `${label}(\\.${label})*`;
export const objectName = `^${dnsName}$`;
export const libraryName = libraryNamePattern.source;
const labelName = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
export const labelKey = `^(${dnsName}/)?${labelName}$`;
export const labelValue = `^(${labelName})?$`;
export const libraryMessage =
  'a library is named in lower-case letters, digits and hyphens, with no hyphen at either end';
export const tagPattern = '^[^,\\x00-\\x20\\x7f]+$';
export const tagMessage = 'a tag is one word, without commas and blanks: write each tag as an item of its own';
export const quantityMessage = 'write bytes, or a quantity such as 512Ki, 4Mi or 1Gi';

/** What stands at a rule's node in an object: the values that are there, each with its own path. */
export function valuesAt(object: unknown, at: string): { path: string; value: unknown }[] {
  let found = [{ path: '', value: object }];
  for (const step of at === '' ? [] : at.split('.')) {
    const name = step.replace(/(\[\])?$/, '');
    found = found.flatMap(({ path, value }) => {
      const inner = (value as Record<string, unknown>)[name];
      const at = path === '' ? name : `${path}.${name}`;
      if (inner === undefined) return [];
      if (!step.endsWith('[]')) return [{ path: at, value: inner }];
      return (inner as unknown[]).map((item, index) => ({ path: `${at}[${index}]`, value: item }));
    });
  }
  return found;
}
