// docs/reliability.md shows what full runs have found, and every proof that there is.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { page, readResults, withResults } from '../chaos/page.ts';
import { proofs } from '../chaos/proofs.ts';

test('the figures are those of the full runs whose results are kept, and each of these holds', async () => {
  const text = await readFile(page, 'utf8');
  const results = await readResults();
  assert.equal(text, withResults(text, results));
  assert.deepEqual(
    results.filter(({ holds }) => !holds).map(({ proof }) => proof),
    [],
  );
  const known = new Map(proofs.map(({ name, says }) => [name, says]));
  for (const { proof, bar } of results)
    assert.equal(bar, known.get(proof), `${proof} was another proof when it was run`);
});

test('each proof has its row', async () => {
  const text = await readFile(page, 'utf8');
  for (const { name } of proofs) assert.match(text, new RegExp(`^\\| \`${name}\` \\| `, 'm'));
});
