// Deltas of git packs, good and damaged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDelta, DeltaDamaged, deltaHeader } from '../../../upstream/git/delta.ts';
import { newPace } from '../../../upstream/pace.ts';

const base = Buffer.from('0123456789abcdef');

const apply = async (bytes: number[]) => {
  const delta = Buffer.from(bytes);
  return (await applyDelta(base, delta, deltaHeader(delta), newPace())).toString();
};

test('copies and insertions follow one another', async () => {
  assert.equal(await apply([16, 9, 0x91, 10, 3, 2, 0x2d, 0x2d, 0x90, 4]), 'abc--0123');
});

test('a copy without a size copies 64 KiB', async () => {
  const large = Buffer.alloc(0x10000, 'x');
  const delta = Buffer.from([0x80, 0x80, 0x04, 0x80, 0x80, 0x04, 0x80]);
  assert.deepEqual(await applyDelta(large, delta, deltaHeader(delta), newPace()), large);
});

for (const [what, bytes] of [
  ['copies from outside its base', [16, 3, 0x91, 14, 3]],
  ['gives more than it states', [16, 2, 0x90, 3]],
  ['gives less than it states', [16, 4, 0x90, 3]],
  ['is for a base of another size', [15, 3, 0x90, 3]],
  ['ends within a copy', [16, 3, 0x91, 1]],
  ['ends within an insertion', [16, 3, 3, 0x2d]],
  ['has the reserved instruction', [16, 1, 0]],
  ['ends within its sizes', [0x80, 0x80]],
  ['states a size without end', Array(20).fill(0x80)],
  ['is empty', []],
] as const) {
  test(`a delta that ${what} is damaged`, async () => {
    await assert.rejects(apply([...bytes]), DeltaDamaged);
  });
}
