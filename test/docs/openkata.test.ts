// The page for people who come from openkata says which test holds what it says.
import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pages, repository } from './pages.ts';

test('every test that docs/openkata.md names is there, and every row names one', async () => {
  const page = (await pages()).find(({ path }) => path === 'docs/openkata.md');
  assert.ok(page !== undefined);
  const rows = page.text.split('\n').filter((line) => /^\| (?!openkata \|)/.test(line));
  assert.ok(rows.length >= 20);
  for (const row of rows) {
    const named =
      row
        .split(' | ')
        .at(-1)!
        .match(/`test\/[^`]+`/g) ?? [];
    assert.ok(named.length > 0, row);
    for (const path of named) await assert.doesNotReject(access(join(repository, path.slice(1, -1))), path);
  }
});
