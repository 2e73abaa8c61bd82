// Figures and their bars, and that docs/benchmarks.md explains every figure that has one.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { atLeast, atMost, type Figure, figure, median, medianRatio, table } from '../../bench/figures.ts';
import { code, page, repository, tableRows } from '../docs/pages.ts';

test('a bar holds up to its own value, and is judged before the value is rounded', () => {
  assert.equal(figure('a', 0.1, 'ratio', atMost(0.1)).holds, true);
  assert.equal(figure('a', 0.8, 'ratio', atLeast(0.8)).holds, true);
  const above = figure('a', 0.10004, 'ratio', atMost(0.1));
  assert.deepEqual(above, { name: 'a', value: 0.1, unit: 'ratio', bar: '<= 0.1', holds: false });
  assert.equal(figure('a', 0.79996, 'ratio', atLeast(0.8)).holds, false);
});

test('a figure without a bar neither holds nor fails', () => {
  assert.deepEqual(figure('a', 1234.56, 'ms'), { name: 'a', value: 1235, unit: 'ms', bar: null, holds: null });
});

test('the median is the middle value, or the mean of the two in the middle; of nothing there is none', () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([9, 1, 5, 6]), 5.5);
  assert.throws(() => median([]));
});

test('a ratio compares the two sides of each round', () => {
  // In the second round the machine was ten times slower, for both.
  assert.equal(medianRatio([1, 10, 1], [2, 20, 4]), 0.5);
});

test('the table says NO where a bar does not hold', () => {
  const lines = table([figure('good', 1, 'ms', atMost(1)), figure('bad', 2, 'ms', atMost(1)), figure('free', 3, 'ms')]);
  const [, good, bad, free] = lines.split('\n');
  assert.match(good!, /^good .*yes$/);
  assert.match(bad!, /^bad .*NO$/);
  assert.match(free!, /^free .*ms$/);
});

test('docs/benchmarks.md explains every figure that has a bar, with that bar', async () => {
  const results: Figure[] = JSON.parse(await readFile(join(repository, 'bench/results.json'), 'utf8'));
  const explained = tableRows((await page('docs/benchmarks.md')).text).map(([name, bar]) => [code(name!), code(bar!)]);
  const measured = results.filter(({ bar }) => bar !== null).map(({ name, bar }) => [name, bar]);
  assert.deepEqual(explained.sort(), measured.sort());
});
