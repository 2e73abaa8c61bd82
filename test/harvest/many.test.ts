// A great many rivals and problems: they take their time, and hold nothing else up meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problem } from '../../catalogue/problem.ts';
import { Slices } from '../../catalogue/slices.ts';
import { settleRivals } from '../../operator/harvest/rivals.ts';
import { compileRules, concerning } from '../../operator/harvest/sieve.ts';
import { heldUp } from '../fixtures/held-up.ts';

test('50,000 skills of one name are told apart, and nothing else is held up', async () => {
  const claims = Array.from({ length: 50_000 }, (_, at) => ({
    name: 'same',
    isSingle: false,
    folder: `skills/group-${at % 100}/skill-${at}`,
    files: [{ path: 'SKILL.md', digest: `sha256:${at}`, size: 1, mediaType: 'text/markdown', text: true }],
    lost: '',
    of: undefined,
  }));
  const longest = await heldUp(async () => {
    const { served, moved } = await settleRivals(claims, 'source', '/', new Slices());
    assert.equal(served.length, claims.length);
    assert.equal(moved.length, claims.length - 1);
  });
  assert.ok(longest < 100, `held up for ${longest} ms`);
});

test('300,000 problems of a listing are sifted, and nothing else is held up', async () => {
  const problems = Array.from({ length: 300_000 }, (_, at) =>
    problem('BadFileName', `${at % 2 ? 'in' : 'out'}/folder-${at % 100}/file-${at}`, 'left out'),
  );
  const sieve = compileRules({ include: {}, exclude: ['folder-1/**'], subdirectory: 'in' });
  const longest = await heldUp(async () => {
    assert.equal((await concerning(problems, sieve, new Slices())).length, 147_000);
  });
  assert.ok(longest < 100, `held up for ${longest} ms`);
});
