// What every main file has in common: text, a frontmatter that is read strictly or as it seems to be meant, its fields. Pure.
import type { Finding } from './finding.ts';
import { splitFrontmatter } from './frontmatter.ts';
import { readLeniently } from './lenient-yaml.ts';
import type { ArtifactRow } from './source-catalogue.ts';
import { readYaml, type Text, type YamlFault, type YamlFields } from './yaml.ts';

/** What a main file says, whatever its kind. */
export interface ParsedMain {
  /** Why the file cannot be served at all. */
  rejected: Finding | undefined;
  /** Of skills alone: the frontmatter's name, where it is a valid Agent Skills name. */
  name: string | undefined;
  /** What people read instead of the name. */
  title?: string;
  /** Whitespace collapsed; empty when there is none. */
  description: string;
  version: string;
  tags: string[];
  /** The YAML 1.2 core reading. */
  frontmatter: Record<string, unknown> | undefined;
  /** Of prompts alone. */
  prompt?: NonNullable<ArtifactRow['prompt']>;
  findings: Finding[];
  /** Of skills alone: why it is not advertised, each with its remedy; empty for one that is. */
  unadvertised: string[];
  /** Where the first of these reasons stands. */
  line: number | undefined;
}

export type MainText =
  | { kind: 'rejected'; finding: Finding }
  | { kind: 'none'; body: string }
  /** `line`: where it begins. */
  | { kind: 'unclosed'; line: number; tooLong: boolean }
  /** `line`: of the fault. */
  | { kind: 'hopeless'; line: number; why: string; body: string }
  /**
   * `firstLine`: of the YAML. `dots`: the line that closes it, where that is `...`. `strict`: what is wrong with it, where
   * it was read leniently.
   */
  | {
      kind: 'fields';
      fields: YamlFields;
      firstLine: number;
      dots: number | undefined;
      strict: YamlFault | undefined;
      body: string;
    };

/**
 * @param noun what the file is, for messages
 * @param format how this kind of file writes what is not quite YAML, taken as what it means
 */
export function readMain(bytes: Buffer, isText: boolean, noun: string, format = (yaml: string) => yaml): MainText {
  if (!isText) {
    const message = 'The file is not UTF-8, so it is rejected: save it as UTF-8.';
    return { kind: 'rejected', finding: { reason: 'NotText', message } };
  }
  const text = bytes.toString('utf8');
  if (text.replace(/^\uFEFF/, '').trim() === '') {
    const message = `The file is empty, so it is rejected: write the ${noun}, or remove the file.`;
    return { kind: 'rejected', finding: { reason: 'Empty', message } };
  }
  const split = splitFrontmatter(text);
  if (split.kind === 'none') return { kind: 'none', body: text };
  if (split.kind !== 'found') return { kind: 'unclosed', line: split.line, tooLong: split.kind === 'tooLong' };
  const { line: firstLine, dots, body } = split;
  const yaml = format(split.yaml);
  const strict = readYaml(yaml);
  if (strict.ok) return { kind: 'fields', fields: strict.fields, firstLine, dots, strict: undefined, body };
  const fault = { line: firstLine + strict.line - 1, why: strict.why };
  const fields = readLeniently(yaml);
  if (fields === undefined) return { kind: 'hopeless', ...fault, body };
  return { kind: 'fields', fields, firstLine, dots, strict: fault, body };
}

/** @param so what follows from it, behind a comma */
export function unclosedFinding({ line, tooLong }: Extract<MainText, { kind: 'unclosed' }>, so = ''): Finding {
  const message = tooLong
    ? `The frontmatter is longer than 64 KiB, so it is not read${so}: close it with ---, or shorten it.`
    : `The frontmatter is not closed${so}: end it with a line that is ---.`;
  return { reason: 'UnclosedFrontmatter', message, line };
}

export const readLenientlyFinding = ({ line, why }: YamlFault): Finding => ({
  reason: 'LenientYaml',
  message: `The frontmatter is not valid YAML and was read as it seems to be meant: ${why}.`,
  line,
});

/** Characters that a listing carries of a description. The frontmatter keeps it whole. */
export const longestDescription = 1024;
const longestTitle = 256;
const mostTags = 64;
const longestTag = 64;
export const defaultVersion = '0.0.0';

/** One word without a slash, so that it can stand in a path. */
const versionPattern = /^[^\s/]{1,64}$/;

/** Description, version and tags of the string reading. */
export function commonFields({ text }: YamlFields): Pick<ParsedMain, 'description' | 'version' | 'tags'> {
  const metadata = text.get('metadata');
  const inMetadata = (field: string): Text | undefined => (metadata instanceof Map ? metadata.get(field) : undefined);
  return {
    description: shortened(oneLine(scalar(text.get('description')) ?? ''), longestDescription),
    version: versionOf(text.get('version')) ?? versionOf(inMetadata('version')) ?? defaultVersion,
    tags: tagsOf(text.get('tags'), inMetadata('tags')),
  };
}

/** @returns what a text says as a title, or undefined for none */
export const titleOf = (text: string | undefined): string | undefined =>
  shortened(oneLine(text ?? ''), longestTitle) || undefined;

export const scalar = (value: Text | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

export const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

export function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const characters = [...text.slice(0, 2 * (longest + 1))];
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join('')}…`;
}

/** A description that ` #` cuts, since a comment begins there in YAML. */
export function cutDescription({ cut, lines }: YamlFields, firstLine: number): Finding[] {
  if (!cut.has('description')) return [];
  const message = 'The description is cut at a #, which begins a comment in YAML: put the description in quotes.';
  return [{ reason: 'LenientYaml', message, line: firstLine + (lines.get('description') ?? 1) - 1 }];
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
  const tags = words.map(oneLine).filter((tag) => tag !== '' && tag.length <= longestTag);
  return [...new Set(tags)].slice(0, mostTags);
}

/** What is known of a file that says nothing. */
export const nothingSaid: ParsedMain = {
  rejected: undefined,
  name: undefined,
  description: '',
  version: defaultVersion,
  tags: [],
  frontmatter: undefined,
  findings: [],
  unadvertised: [],
  line: undefined,
};
