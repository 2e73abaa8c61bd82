// What the main file of a rule or a profile says. Both are plain Markdown that may have a frontmatter. Pure.
import {
  commonFields,
  cutDescription,
  type MainText,
  nothingSaid,
  type ParsedMain,
  readLenientlyFinding,
  readMain,
  scalar,
  shortened,
  titleOf,
  unclosedFinding,
} from '../../catalogue/main-text.ts';

/** @param noun what the file is, for messages */
export function parseDocument(bytes: Buffer, isText: boolean, noun: string): ParsedMain {
  return documentOf(readMain(bytes, isText, noun));
}

/** Cursor's own format, in which a glob stands without quotes. */
export function parseCursorRule(bytes: Buffer, isText: boolean): ParsedMain {
  return documentOf(readMain(bytes, isText, 'rule', quoteGlobs));
}

/** A list and a text in quotes are YAML already. */
const quoteGlobs = (yaml: string): string =>
  yaml.replace(/^globs:(.*)$/m, (line, written: string) => {
    const globs = written.trim();
    return globs === '' || /^[["'#|>]/.test(globs) ? line : `globs: ${JSON.stringify(globs)}`;
  });

/** A frontmatter that is not closed begins nothing: the file may well begin with a rule of dashes. */
export function documentOf(main: MainText): ParsedMain {
  switch (main.kind) {
    case 'rejected':
      return { ...nothingSaid, rejected: main.finding };
    case 'unclosed':
      return { ...nothingSaid, findings: [unclosedFinding(main)] };
    case 'none':
      return { ...nothingSaid, ...titled(titleOf(firstHeading(main.body))) };
    case 'hopeless': {
      const message = `The frontmatter cannot be read, for ${main.why}; the file is served without what it says.`;
      return { ...nothingSaid, findings: [{ reason: 'LenientYaml', message, line: main.line }] };
    }
    case 'fields': {
      const { fields, firstLine, strict } = main;
      const { core, text } = fields;
      return {
        ...nothingSaid,
        ...titled(titleOf(scalar(text.get('title'))) ?? titleOf(scalar(text.get('name')))),
        ...commonFields(fields),
        frontmatter: core,
        findings: [
          ...(strict === undefined ? [] : [readLenientlyFinding(strict)]),
          ...cutDescription(fields, firstLine),
        ],
      };
    }
  }
}

const titled = (title: string | undefined): { title?: string } => (title === undefined ? {} : { title });

/** The text of the first `#` heading that stands outside fenced code. */
export function firstHeading(text: string): string | undefined {
  let fence: string | undefined;
  for (const [line] of text.matchAll(/^ {0,3}(?:`{3,}|~{3,}|# ).*$/gm)) {
    const mark = /^ *(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark === undefined) {
      if (fence === undefined) return headingOf(shortened(line, longestHeading));
    } else if (fence === undefined) fence = mark;
    else if (mark.startsWith(fence)) fence = undefined;
  }
  return undefined;
}

const longestHeading = 1024;

/** Without the signs around it: `# Title #`. */
const headingOf = (line: string): string =>
  line
    .replace(/^ *# /, '')
    .trim()
    .replace(/(?:^|[ \t])#+$/, '');
