// What a SKILL.md says: name, description, version, tags, and why clients would refuse it. Pure.

import { splitFrontmatter } from '../../catalogue/frontmatter.ts';
import { isSkillName } from '../../catalogue/names.ts';
import type { ProblemReason } from '../../catalogue/problem.ts';
import { readLeniently } from './lenient-yaml.ts';
import { readYaml, type Text, type YamlFields } from './yaml.ts';

/** Something to say about the file; its path is added by whoever knows it. */
export interface Finding {
  reason: ProblemReason;
  message: string;
  line?: number;
}

export interface ParsedSkill {
  /** Why the file cannot be served at all. */
  rejected: Finding | undefined;
  /** The frontmatter's name, where it is a valid Agent Skills name. */
  name: string | undefined;
  /** Whitespace collapsed; empty when there is none. */
  description: string;
  version: string;
  tags: string[];
  /** The YAML 1.2 core reading. */
  frontmatter: Record<string, unknown> | undefined;
  findings: Finding[];
  /** Why the skill is not advertised, each with its remedy; empty for one that is. */
  unadvertised: string[];
  /** Where the first of these reasons stands. */
  line: number | undefined;
}

const longestDescription = 1024;
const longestCompatibility = 500;
const mostTags = 64;
const longestTag = 64;
const defaultVersion = '0.0.0';

/** One word without a slash, so that it can stand in a path. */
const versionPattern = /^[^\s/]{1,64}$/;

/** @param bytes of the SKILL.md */
export function parseSkill(bytes: Buffer, isText: boolean): ParsedSkill {
  if (!isText) return rejected('NotText', 'The file is not UTF-8, so it is rejected: save it as UTF-8.');
  const text = bytes.toString('utf8');
  if (text.replace(/^\uFEFF/, '').trim() === '') {
    return rejected('Empty', 'The file is empty, so it is rejected: write the skill, or remove the file.');
  }
  const split = splitFrontmatter(text);
  if (split.kind === 'found') return parseFields(split.yaml, split.line);
  if (split.kind === 'none') {
    const message = 'There is no frontmatter: begin the file with ---, a name, a description, and ---.';
    return bare({ reason: 'NoFrontmatter', message, line: 1 }, 'it has no frontmatter');
  }
  const message =
    split.kind === 'unclosed'
      ? 'The frontmatter is not closed: end it with a line that is ---.'
      : 'The frontmatter is longer than 64 KiB, so it is not read: close it with ---, or shorten it.';
  return bare({ reason: 'UnclosedFrontmatter', message, line: split.line }, 'its frontmatter is not closed');
}

function parseFields(yaml: string, firstLine: number): ParsedSkill {
  const strict = readYaml(yaml);
  if (strict.ok) return described(strict.fields, firstLine, []);
  const line = firstLine + strict.line - 1;
  const fields = readLeniently(yaml);
  if (fields === undefined) {
    const skill = bare(undefined, `its frontmatter cannot be read, for ${strict.why}`);
    return { ...skill, line };
  }
  const message = `The frontmatter is not valid YAML and was read as it seems to be meant: ${strict.why}.`;
  const skill = described(fields, firstLine, [{ reason: 'LenientYaml', message, line }]);
  return { ...skill, unadvertised: [`its frontmatter is not valid YAML: ${strict.why}`, ...skill.unadvertised], line };
}

function described({ core, text, lines, cut }: YamlFields, firstLine: number, findings: Finding[]): ParsedSkill {
  const unadvertised: string[] = [];
  let line: number | undefined;
  const refuse = (field: string, why: string): void => {
    unadvertised.push(why);
    const at = lines.get(field);
    line ??= at === undefined ? undefined : firstLine + at - 1;
  };
  const name = scalar(text.get('name'))?.trim() ?? '';
  if (name === '') refuse('name', 'its frontmatter has no name');
  else if (!isSkillName(name)) {
    refuse('name', 'its name is not valid: write at most 64 lower-case letters, digits and single hyphens');
  } else if (typeof core.name !== 'string')
    refuse('name', 'its name is a number or the like to YAML: put it in quotes');

  const written = scalar(text.get('description')) ?? '';
  const description = written.replace(/\s+/g, ' ').trim();
  if (description === '') refuse('description', 'it has no description');
  else if (typeof core.description !== 'string') {
    refuse('description', 'its description is no text to YAML: put it in quotes');
  } else if (core.description.length > longestDescription && [...core.description].length > longestDescription) {
    refuse('description', `its description has more than ${longestDescription} characters: shorten it`);
  }
  for (const [field, why] of unfitFields(core)) refuse(field, why);
  if (cut.has('description')) {
    const message = 'The description is cut at a #, which begins a comment in YAML: put the description in quotes.';
    findings.push({ reason: 'LenientYaml', message, line: firstLine + (lines.get('description') ?? 1) - 1 });
  }
  const metadata = text.get('metadata');
  const inMetadata = (field: string): Text | undefined => (metadata instanceof Map ? metadata.get(field) : undefined);
  return {
    rejected: undefined,
    name: isSkillName(name) ? name : undefined,
    description: shortened(description),
    version: versionOf(text.get('version')) ?? versionOf(inMetadata('version')) ?? defaultVersion,
    tags: tagsOf(text.get('tags'), inMetadata('tags')),
    frontmatter: core,
    findings,
    unadvertised,
    line,
  };
}

/** Fields that the specification gives a type to: clients refuse a skill, and some its whole listing, where one has another. */
function* unfitFields({ metadata, compatibility }: Record<string, unknown>): Generator<[field: string, why: string]> {
  if (metadata !== undefined && !isTextMap(metadata)) {
    yield ['metadata', 'its metadata is not a list of fields with texts: put numbers and the like in quotes'];
  }
  if (compatibility !== undefined) {
    const length = typeof compatibility === 'string' ? [...compatibility].length : 0;
    if (length === 0 || length > longestCompatibility) {
      yield ['compatibility', `its compatibility is not a text of 1 to ${longestCompatibility} characters`];
    }
  }
}

const isTextMap = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((item) => typeof item === 'string');

const scalar = (value: Text | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

/** What listings carry of a description. The frontmatter keeps it whole. */
function shortened(description: string): string {
  const characters = [...description.slice(0, 2 * (longestDescription + 1))];
  if (characters.length <= longestDescription) return description;
  return `${characters.slice(0, longestDescription - 1).join('')}…`;
}

function versionOf(value: Text | undefined): string | undefined {
  const version = scalar(value)?.trim() ?? '';
  return versionPattern.test(version) ? version : undefined;
}

/** Lists, or texts with commas, brackets around them or not; each tag once, in the order written. */
function tagsOf(...values: (Text | undefined)[]): string[] {
  const words = values.flatMap((value) => {
    if (typeof value === 'string') return value.replace(/^\s*\[(.*)\]\s*$/s, '$1').split(',');
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  });
  const tags = words
    .map((word) => word.replace(/\s+/g, ' ').trim())
    .filter((tag) => tag !== '' && tag.length <= longestTag);
  return [...new Set(tags)].slice(0, mostTags);
}

const nothing = {
  rejected: undefined,
  name: undefined,
  description: '',
  version: defaultVersion,
  tags: [],
  frontmatter: undefined,
  findings: [],
  unadvertised: [],
  line: undefined,
} satisfies ParsedSkill;

const rejected = (reason: ProblemReason, message: string): ParsedSkill => ({
  ...nothing,
  rejected: { reason, message },
});

const bare = (finding: Finding | undefined, why: string): ParsedSkill => ({
  ...nothing,
  findings: finding === undefined ? [] : [finding],
  unadvertised: [why],
  line: finding?.line,
});
