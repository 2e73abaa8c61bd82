// The pages for people who come from mcp-school: each case stands there once, with a test that there is or a reason.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { code, page, repository, section, tableRows } from './pages.ts';

/** The last number of each letter. */
const letters = { U: 28, H: 11, S: 24, P: 15, T: 34, V: 14, R: 29, L: 19, W: 25, G: 31, E: 11, I: 8, F: 12, K: 6 };
const every = Object.entries(letters).flatMap(([letter, last]) =>
  Array.from({ length: last }, (_, at) => `${letter}${at + 1}`),
);

/** `R1, R3` and `E3–E5` as single cases, in the order written. */
const casesIn = (cell: string): string[] =>
  [...cell.matchAll(/\b([A-Z])(\d+)(?:–[A-Z](\d+))?/g)].flatMap(([, letter, from, to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, at) => `${letter}${Number(from) + at}`),
  );

const givenUp = 'given up';
const rows = tableRows((await page('docs/mcp-school-cases.md')).text).map(([cases = '', holds = '', tests = '']) => ({
  cases: /^[A-Z]\d/.test(cases) ? casesIn(cases) : [],
  name: cases,
  holds,
  tests,
}));

/** What the tests of a file are called, as patterns: what a title is told at run time may be anything. */
async function titlesOf(path: string): Promise<RegExp[]> {
  const text = await readFile(join(repository, path), 'utf8');
  const written = text.matchAll(/(?:\b(?:test|it)\(\s*|\bwhat: )(?:'((?:\\.|[^'\\])*)'|"([^"]*)"|`([^`]*)`)/g);
  return [...written].flatMap(([, single, double, template]) => {
    const parts = (single ?? double ?? template)!
      .split(/\$\{.*?\}/)
      .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    // A title that is all told at run time says nothing here.
    return parts.join('').length < 8 ? [] : [new RegExp(`^${parts.join('.+')}$`)];
  });
}

test('every case stands on the page once', () => {
  assert.deepEqual(
    rows.flatMap(({ cases }) => cases),
    every,
  );
});

test('every title on the page is that of a test in its file', async () => {
  for (const { name, tests } of rows) {
    if (tests === givenUp) continue;
    for (const one of tests.split('<br>')) {
      const [, file, title] = /^(`[^`]+`): (.+)$/.exec(one) ?? [];
      assert.ok(file !== undefined && title !== undefined, `${name}: no file and title: ${one}`);
      const written = title.replaceAll(/\\([|<])/g, '$1');
      const titles = await titlesOf(code(file));
      assert.ok(
        titles.some((pattern) => pattern.test(written)),
        `${name}: ${code(file)} has no test "${written}"`,
      );
    }
  }
});

test('what is given up or otherwise, and nothing else, is explained to people who come from mcp-school', async () => {
  const school = await page('docs/mcp-school.md');
  const [otherwise, gone] = ['What behaves otherwise', 'What is given up'].map((heading) =>
    tableRows(section(school, heading)).flatMap(([first = '', second = '']) =>
      casesIn(heading === 'What is given up' ? second : first),
    ),
  );
  const told = rows.filter(({ holds, tests }) => tests === givenUp || holds.includes('Otherwise: '));
  assert.deepEqual([...otherwise!, ...gone!].toSorted(), told.flatMap(({ cases }) => cases).toSorted());
  for (const { cases, tests } of rows) {
    if (tests === givenUp) for (const one of cases) assert.ok(gone!.includes(one), one);
  }
});
