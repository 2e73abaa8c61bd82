// What full runs have found, as docs/reliability.md shows it.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Result {
  proof: string;
  /** What must hold. */
  bar: string;
  holds: boolean;
  figures: Record<string, number>;
  seconds: number;
  /** Of the machine. */
  node: string;
  processors: number;
}

export const results = join(import.meta.dirname, 'results');
export const page = join(import.meta.dirname, '../../docs/reliability.md');

const [begin, end] = ['<!-- what full runs have found -->\n', '<!-- end -->\n'];

/** `make chaos PART=kills`, in the order of the proofs' names. */
export async function readResults(): Promise<Result[]> {
  const files = (await readdir(results).catch(() => [])).filter((name) => name.endsWith('.json')).sort();
  return Promise.all(files.map(async (name) => JSON.parse(await readFile(join(results, name), 'utf8')) as Result));
}

export const figuresOf = (figures: Record<string, number>): string =>
  Object.entries(figures)
    .map(([what, amount]) => `${amount.toLocaleString('en')} ${what}`)
    .join(', ');

export function table(all: readonly Result[]): string {
  const rows = all.map(
    ({ proof, figures, seconds, processors }) =>
      `| \`make chaos PART=${proof}\` | ${figuresOf(figures)} | ${Math.max(1, Math.round(seconds / 60))} min, ${processors} processors |`,
  );
  return ['| command | found | took |', '|---|---|---|', ...rows, ''].join('\n');
}

/** The page with these results in it. @throws Error where it has no place for them */
export function withResults(text: string, all: readonly Result[]): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error('docs/reliability.md has no place for what full runs have found');
  return `${text.slice(0, from + begin.length)}\n${table(all)}\n${text.slice(to)}`;
}

export async function writePage(): Promise<void> {
  await writeFile(page, withResults(await readFile(page, 'utf8'), await readResults()));
}
