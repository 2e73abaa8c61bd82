// What a SKILL.md says: name, description, version, tags, and why clients would refuse it. Pure.
import type { Finding } from './finding.ts';
import {
  commonFields,
  cutDescription,
  longestDescription,
  type MainText,
  nothingSaid,
  oneLine,
  type ParsedMain,
  readLenientlyFinding,
  readMain,
  scalar,
  unclosedFinding,
} from './main-text.ts';
import { isSkillName } from './names.ts';
import type { FileRow } from './source-catalogue.ts';

const longestCompatibility = 500;

/** What a skill may hold and still be advertised: clients fetch it whole. */
const mostFiles = 512;
const mostBytes = 16 * 1024 * 1024;

/** Why a skill with these files is not advertised, whatever it says. */
export function tooMuch(files: readonly Pick<FileRow, 'size'>[]): string[] {
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return [
    ...(files.length > mostFiles ? [`it has more than ${mostFiles} files`] : []),
    ...(size > mostBytes ? [`it has more than ${mostBytes / 1024 / 1024} MiB`] : []),
  ];
}

type MainFields = Extract<MainText, { kind: 'fields' }>;

/** @param bytes of the SKILL.md */
export function parseSkill(bytes: Buffer, isText: boolean): ParsedMain {
  const main = readMain(bytes, isText, 'skill');
  switch (main.kind) {
    case 'rejected':
      return { ...nothingSaid, rejected: main.finding };
    case 'none': {
      const message = 'There is no frontmatter: begin the file with ---, a name, a description, and ---.';
      return bare({ reason: 'NoFrontmatter', message, line: 1 }, 'it has no frontmatter');
    }
    case 'unclosed':
      return bare(unclosedFinding(main), 'its frontmatter is not closed');
    case 'hopeless':
      return { ...bare(undefined, `its frontmatter cannot be read, for ${main.why}`), line: main.line };
    case 'fields': {
      const { strict } = main;
      if (strict === undefined) return described(main, []);
      const skill = described(main, [readLenientlyFinding(strict)]);
      const why = `its frontmatter is not valid YAML: ${strict.why}`;
      return { ...skill, unadvertised: [why, ...skill.unadvertised], line: strict.line };
    }
  }
}

function described({ fields, firstLine, dots }: MainFields, findings: Finding[]): ParsedMain {
  const { core, text, lines, lost } = fields;
  const unadvertised: string[] = [];
  let line: number | undefined;
  const refuseAt = (at: number | undefined, why: string): void => {
    unadvertised.push(why);
    line ??= at;
  };
  const refuse = (field: string, why: string): void => {
    const at = lines.get(field);
    refuseAt(at === undefined ? undefined : firstLine + at - 1, why);
  };
  if (firstLine > 2) refuseAt(1, 'blank lines stand above its frontmatter: begin the file with ---');
  const name = scalar(text.get('name'))?.trim() ?? '';
  if (name === '') refuse('name', 'its frontmatter has no name');
  else if (!isSkillName(name)) {
    refuse('name', 'its name is not valid: write at most 64 lower-case letters, digits and single hyphens');
  } else if (typeof core.name !== 'string') {
    refuse('name', 'its name is a number or the like to YAML: put it in quotes');
  } else if (core.name !== name) {
    refuse('name', 'its name has blanks or line ends around it: write nothing but the name');
  }

  if (oneLine(scalar(text.get('description')) ?? '') === '') refuse('description', 'it has no description');
  else if (typeof core.description !== 'string') {
    refuse('description', 'its description is no text to YAML: put it in quotes');
  } else if (core.description.length > longestDescription && [...core.description].length > longestDescription) {
    refuse('description', `its description has more than ${longestDescription} characters: shorten it`);
  }
  for (const [field, why] of unfitFields(core)) refuse(field, why);
  if (lost !== undefined) {
    refuseAt(firstLine + lost - 1, 'it has a value, such as .inf, that cannot be written in JSON: put it in quotes');
  }
  if (dots !== undefined) refuseAt(dots, 'its frontmatter ends with ...: end it with ---');
  return {
    rejected: undefined,
    name: isSkillName(name) ? name : undefined,
    ...commonFields(fields),
    frontmatter: core,
    findings: [...findings, ...cutDescription(fields, firstLine)],
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

const bare = (finding: Finding | undefined, why: string): ParsedMain => ({
  ...nothingSaid,
  findings: finding === undefined ? [] : [finding],
  unadvertised: [why],
  line: finding?.line,
});
