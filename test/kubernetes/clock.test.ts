import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { sleep, systemClock } from '../../operator/clock.ts';
import { FakeClock } from './fake-clock.ts';

test('a time of months is waited for, and not over at once', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let calls = 0;
  const months = 100 * 24 * 3_600_000;
  systemClock.after(months, () => calls++);
  const forget = systemClock.after(months, () => calls++);
  const longest = 2 ** 31 - 1;
  for (let passed = 0; passed < 4; passed++) t.mock.timers.tick(longest);
  forget();
  t.mock.timers.tick(months - 4 * longest - 1);
  assert.equal(calls, 0);
  t.mock.timers.tick(1);
  assert.equal(calls, 1);
});

test('a sleep ends with its time or with the signal, and leaves nothing behind', async () => {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const slept = sleep(clock, 1_000, stopping.signal);
  clock.advance(1_000);
  await slept;
  assert.equal(getEventListeners(stopping.signal, 'abort').length, 0);
  const interrupted = sleep(clock, 1_000, stopping.signal);
  stopping.abort();
  await interrupted;
  await sleep(clock, 1_000, stopping.signal);
  assert.deepEqual(clock.waiting, []);
});
