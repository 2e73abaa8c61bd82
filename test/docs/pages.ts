// The repository's Markdown as tests read it: pages, sections, tables, code blocks, links, anchors.
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

export const repository = join(import.meta.dirname, '../..');

export interface Page {
  /** From the repository's root: `docs/install.md`. */
  path: string;
  text: string;
}

/** The pages at the root and everything below docs/. */
export async function pages(): Promise<Page[]> {
  const atRoot = (await readdir(repository)).filter((name) => name.endsWith('.md'));
  const found = await readdir(join(repository, 'docs'), { recursive: true });
  const docs = found.filter((name) => name.endsWith('.md')).map((name) => join('docs', name));
  return Promise.all([...atRoot.sort(), ...docs.sort()].map(page));
}

export const page = async (path: string): Promise<Page> => ({
  path,
  text: await readFile(join(repository, path), 'utf8'),
});

/** What stands under a heading, down to the next one of its level or above. @throws Error where it is missing */
export function section({ path, text }: Page, heading: string): string {
  const lines = text.split('\n');
  const isHeading = headings(lines);
  const from = lines.findIndex((line, at) => isHeading[at] && titleOf(line) === heading);
  if (from === -1) throw new Error(`${path} has no heading "${heading}"`);
  const level = levelOf(lines[from]!);
  const to = lines.findIndex((line, at) => at > from && isHeading[at] && levelOf(line) <= level);
  return lines.slice(from + 1, to === -1 ? undefined : to).join('\n');
}

/** The rows of all tables in a text, heads left out, each as its trimmed cells. */
export function tableRows(text: string): string[][] {
  const lines = text.split('\n');
  return lines
    .filter((line, at) => line.startsWith('|') && !isRule(line) && !isRule(lines[at + 1] ?? ''))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const isRule = (line: string): boolean => /^\|[-|: ]+\|$/.test(line);

/** A cell without the backticks around it. */
export const code = (cell: string): string => cell.replace(/^`(.*)`$/, '$1');

export interface Block {
  language: string;
  line: number;
  text: string;
}

export function codeBlocks({ text }: Page): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; line: number; lines: string[] } | undefined;
  for (const [at, line] of text.split('\n').entries()) {
    const [, fence] = /^```(.*)$/.exec(line) ?? [];
    if (fence === undefined) open?.lines.push(line);
    else if (open === undefined) open = { language: fence.trim(), line: at + 1, lines: [] };
    else {
      blocks.push({ language: open.language, line: open.line, text: open.lines.join('\n') });
      open = undefined;
    }
  }
  return blocks;
}

/** Targets of links and pictures outside code. */
export const links = ({ text }: Page): string[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);

/** The anchors of a page's headings, as GitHub makes them. */
export function anchors({ text }: Page): Set<string> {
  const lines = text.split('\n');
  const isHeading = headings(lines);
  const titles = lines.filter((_, at) => isHeading[at]).map(titleOf);
  return new Set(
    titles.map((title) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\- _]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** `target` as a path from the repository's root. */
export const resolved = (from: Page, target: string): string =>
  relative(repository, join(repository, from.path, '..', target));

const withoutCode = (text: string): string => text.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, '');

/** Which lines are headings: those outside code blocks that begin with `#`. */
function headings(lines: readonly string[]): boolean[] {
  let inside = false;
  return lines.map((line) => {
    if (line.startsWith('```')) inside = !inside;
    return !inside && /^#{1,6} /.test(line);
  });
}

const levelOf = (line: string): number => /^#+/.exec(line)?.[0].length ?? 0;
const titleOf = (line: string): string => line.replace(/^#+ +/, '').replaceAll('`', '').trim();
