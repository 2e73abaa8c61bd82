// The end of a look that takes too long.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { deadlineOf } from '../../operator/reconcile/deadline.ts';
import { fault } from '../fixtures/http.ts';

test('a look ends after spec.timeout and not before, as TimedOut that says what to change', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const { signal } = deadlineOf('1m');
  mock.timers.tick(59_999);
  assert.equal(signal.aborted, false);
  mock.timers.tick(1);
  assert(fault('TimedOut', /longer than spec\.timeout \(1m\); raise it/)(signal.reason));
});

test('a look that is done is not ended any longer', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const deadline = deadlineOf('5s');
  deadline[Symbol.dispose]();
  mock.timers.tick(10_000);
  assert.equal(deadline.signal.aborted, false);
});
