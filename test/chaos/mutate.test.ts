// Damaged inputs are damaged, bounded, and the same for the same seed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chanceOf, mutated } from './fuzz/mutate.ts';

const seeds = ['name: one\n', '{"skills":[]}'].map((text) => Buffer.from(text));
const row = (seed: number): Buffer[] => {
  const chance = chanceOf(seed);
  return Array.from({ length: 500 }, () => mutated(seeds, ['---\n', '\xff'], chance));
};

test('the same seed gives the same inputs, another one others', () => {
  assert.deepEqual(row(7), row(7));
  assert.notDeepEqual(row(7), row(8));
});

test('most of them are no seed any more, and none is longer than 256 KiB', () => {
  const inputs = row(7);
  assert.ok(inputs.filter((input) => !seeds.some((seed) => seed.equals(input))).length > 450);
  assert.ok(new Set(inputs.map((input) => input.toString('latin1'))).size > 400);
  assert.ok(inputs.every(({ length }) => length <= 256 * 1024));
});
