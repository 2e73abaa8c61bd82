// The budget of bytes in memory that large answers share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Budget } from '../../server/budget.ts';

const MiB = 1024 * 1024;
const never = (): void => assert.fail('nobody is overdue');

/** Whether a promise is still waiting after everything that can happen has happened. */
async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  let waiting = true;
  promise.then(() => {
    waiting = false;
  });
  await turn();
  return waiting;
}

test('bytes are given in the order in which they are asked for, and never more than there are', async () => {
  const budget = new Budget(8 * MiB);
  const first = await budget.take(6 * MiB, never);
  const second = budget.take(4 * MiB, never);
  const third = budget.take(MiB, never);
  assert.ok(await isWaiting(second));
  assert.ok(await isWaiting(third), 'one that would fit does not overtake');
  first();
  first();
  const [giveSecond, giveThird] = await Promise.all([second, third]);
  const fourth = budget.take(5 * MiB, never);
  assert.ok(await isWaiting(fourth), 'what was given back twice counts once');
  giveSecond();
  giveThird();
  (await fourth)();
});

test('whoever needs more than there is gets it when nobody has any; small answers never wait', async () => {
  const budget = new Budget(2 * MiB);
  const small = await budget.take(MiB, never);
  const huge = budget.take(100 * MiB, never);
  assert.ok(await isWaiting(huge));
  small();
  const giveHuge = await huge;
  (await budget.take(64 * 1024, never))();
  giveHuge();
});

test('who holds bytes too long is ended where others wait, and only there', async () => {
  const budget = new Budget(2 * MiB, 50);
  let giveBack = (): void => {};
  let ended = 0;
  giveBack = await budget.take(2 * MiB, () => {
    ended += 1;
    giveBack();
  });
  await new Promise((resolve) => setTimeout(resolve, 150));
  assert.equal(ended, 0);
  (await budget.take(MiB, never))();
  assert.equal(ended, 1);
});
