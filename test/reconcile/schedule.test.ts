import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refreshDelay, retryDelay } from '../../operator/reconcile/schedule.ts';

test('a planned look is never later than its refresh, and at most a tenth earlier', () => {
  for (const chance of [0, 0.5, 0.999]) {
    const delay = refreshDelay(300, chance);
    assert.ok(delay <= 300 && delay >= 270, `${delay}`);
  }
});

test('a passing fault is retried with pauses that double, have jitter, and end at five minutes', () => {
  const longest = (failures: number): number => retryDelay('Unreachable', failures, 0.999999, 60)!;
  const shortest = (failures: number): number => retryDelay('Unreachable', failures, 0, 60)!;
  for (const failures of [1, 2, 3, 4, 5]) {
    assert.ok(Math.abs(longest(failures + 1) / longest(failures) - 2) < 0.01);
    assert.ok(shortest(failures) < longest(failures));
  }
  assert.ok(longest(1000) <= 300 && shortest(1000) >= 150);
});

test("a server's Retry-After is kept to, up to an hour", () => {
  assert.equal(retryDelay('RateLimited', 1, 0, undefined, 120), 120);
  assert.equal(retryDelay('RateLimited', 1, 0, undefined, 1e9), 3600);
});

test('a wrong spec waits for a human', () => {
  assert.equal(retryDelay('InvalidSpec', 1, 0.5, 60), undefined);
  assert.equal(retryDelay('FileRootNotAllowed', 1, 0.5, 60), undefined);
});

test('a refused address and a passed limit are looked at again at each refresh only', () => {
  for (const reason of ['AddressNotAllowed', 'LimitExceeded'] as const) {
    assert.ok(retryDelay(reason, 1, 0, 60)! >= 54);
    assert.equal(retryDelay(reason, 1, 0, undefined), undefined);
  }
});
