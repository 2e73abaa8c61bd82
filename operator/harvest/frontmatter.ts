// Where a Markdown file's frontmatter begins and ends. Only `---` alone on the first line begins one: `---js` never runs.

/** In bytes: a frontmatter that is longer is not looked for any further. */
export const largestFrontmatter = 64 * 1024;

export type Frontmatter =
  | { kind: 'none' }
  /** `line`: where it begins, from 1. */
  | { kind: 'unclosed'; line: number }
  | { kind: 'tooLong'; line: number }
  /** `line`: of the first line of `yaml`, from 1. Line ends are `\n`. */
  | { kind: 'found'; yaml: string; line: number };

/**
 * Splits off the frontmatter. A byte order mark and blank lines may stand before it; it ends at a line that is `---` or
 * `...`, so a rule in the body or an indented `---` in a description does not end it.
 */
export function splitFrontmatter(text: string): Frontmatter {
  const lead = /^\uFEFF?(?:[ \t]*\r?\n)*/.exec(text)![0];
  const fence = /^---[ \t]*(?:\r?\n|$)/.exec(text.slice(lead.length));
  if (fence === null) return { kind: 'none' };
  const begin = lead.split('\n').length;
  const start = lead.length + fence[0].length;
  const window = text.slice(start, start + largestFrontmatter + 16);
  const end = /^(?:---|\.\.\.)[ \t]*\r?$/m.exec(window);
  if (end === null) {
    const whole = text.length - start <= largestFrontmatter;
    return { kind: whole ? 'unclosed' : 'tooLong', line: begin };
  }
  const yaml = window.slice(0, end.index).replaceAll('\r\n', '\n');
  if (Buffer.byteLength(yaml) > largestFrontmatter) return { kind: 'tooLong', line: begin };
  return { kind: 'found', yaml, line: begin + 1 };
}
