// The tables of reasons in the docs are those that scripts meet.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemReasons } from '../../catalogue/problem.ts';
import { gatewayFaultReasons, type Retry, sourceFaultReasons, sourcesReadyReasons } from '../../operator/reasons.ts';
import { code, page, section, tableRows } from './pages.ts';

const again: Record<Retry, string> = {
  human: 'after a change',
  refresh: 'at each refresh',
  backoff: 'with growing pauses',
};

async function rowsUnder(path: string, heading: string): Promise<string[][]> {
  return tableRows(section(await page(path), heading));
}

/** Every row has words in every cell. */
function assertFilled(rows: readonly string[][]): void {
  for (const row of rows) assert.ok(!row.includes(''), `${row[0]} has an empty cell`);
}

test('the reasons of a source are listed with when it is looked at again', async () => {
  const rows = await rowsUnder('docs/operations.md', 'Reasons of a SkillSource');
  const expected = Object.entries(sourceFaultReasons).map(([reason, retry]) => [reason, again[retry]]);
  assert.deepEqual(
    rows.map(([reason, retry]) => [code(reason!), retry]),
    expected,
  );
  assertFilled(rows);
});

test('the reasons of a gateway are listed', async () => {
  const rows = await rowsUnder('docs/operations.md', 'Reasons of a SkillGateway');
  assert.deepEqual(
    rows.map(([reason]) => code(reason!)),
    [...gatewayFaultReasons],
  );
  assertFilled(rows);
});

test('the reasons of SourcesReady are listed', async () => {
  const rows = await rowsUnder('docs/operations.md', 'Reasons of SourcesReady');
  assert.deepEqual(
    rows.map(([reason]) => code(reason!)),
    [...sourcesReadyReasons],
  );
  assertFilled(rows);
});

test('the reasons of problems are listed with their severity and a remedy', async () => {
  const rows = await rowsUnder('docs/authors.md', 'Problems');
  assert.deepEqual(
    rows.map(([reason, severity]) => [code(reason!), severity]),
    Object.entries(problemReasons),
  );
  assertFilled(rows);
});
