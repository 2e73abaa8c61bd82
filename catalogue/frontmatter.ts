// Where a Markdown file's frontmatter begins and ends. Only `---` alone on the first line begins one: `---js` never runs.

/** In bytes: a frontmatter that is longer is not looked for any further. */
export const largestFrontmatter = 64 * 1024;

export type Frontmatter =
  | { kind: 'none' }
  /** `line`: where it begins, from 1. */
  | { kind: 'unclosed'; line: number }
  | { kind: 'tooLong'; line: number }
  /**
   * `line`: of the first line of `yaml`, from 1, whose line ends are `\n`. `body`: everything behind the line that closes
   * it, as it stands. `dots`: the line that closes it, where that is `...`.
   */
  | { kind: 'found'; yaml: string; line: number; body: string; dots?: number };

/**
 * Splits off the frontmatter. A byte order mark and blank lines may stand before it; it ends at a line that is `---` or
 * `...`, so a rule in the body or an indented `---` in a description does not end it.
 */
export function splitFrontmatter(text: string): Frontmatter {
  const at = firstLineWithText(text);
  const fence = at === undefined ? null : /^---[ \t]*(?:\r?\n|$)/.exec(text.slice(at));
  if (at === undefined || fence === null) return { kind: 'none' };
  const begin = lineAt(text, at);
  const start = at + fence[0].length;
  const window = text.slice(start, start + largestFrontmatter + 16);
  const end = /^(?:---|\.\.\.)[ \t]*\r?$/m.exec(window);
  if (end === null) {
    const whole = text.length - start <= largestFrontmatter;
    return { kind: whole ? 'unclosed' : 'tooLong', line: begin };
  }
  const yaml = window.slice(0, end.index).replaceAll('\r\n', '\n');
  if (Buffer.byteLength(yaml) > largestFrontmatter) return { kind: 'tooLong', line: begin };
  const body = text.slice(start + end.index + end[0].length).replace(/^\n/, '');
  const dots = end[0].startsWith('.') ? { dots: lineAt(text, start + end.index) } : {};
  return { kind: 'found', yaml, line: begin + 1, body, ...dots };
}

/** Where the first line begins that is not blank; undefined where it is indented, there is none, or it comes very late. */
function firstLineWithText(text: string): number | undefined {
  const ink = /[^ \t\r\n]/g;
  ink.lastIndex = text.startsWith('\uFEFF') ? 1 : 0;
  const begin = ink.lastIndex;
  const at = ink.exec(text.slice(0, largestFrontmatter))?.index;
  return at === undefined || at === begin || text[at - 1] === '\n' ? at : undefined;
}

/** The line that a position is on, from 1. */
export function lineAt(text: string, position: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < position; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
