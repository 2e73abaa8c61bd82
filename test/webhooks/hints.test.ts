// How often webhooks make a source be looked at.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hints, pauseMilliseconds } from '../../operator/webhooks/hints.ts';
import { FakeClock } from '../kubernetes/fake-clock.ts';

function hints() {
  const clock = new FakeClock();
  const looks: string[] = [];
  return { clock, looks, hints: new Hints((source) => looks.push(source), clock) };
}

test('the first webhook makes the source be looked at, at once', () => {
  const { hints: all, looks } = hints();
  assert.equal(all.hint('a/one'), 'now');
  assert.deepEqual(looks, ['a/one']);
});

test('a burst of 1,000 webhooks within 10 s costs three looks, the last of them after the last webhook', () => {
  const { hints: all, looks, clock } = hints();
  for (let at = 0; at < 1000; at++) {
    all.hint('a/one');
    clock.advance(10);
  }
  const during = looks.length;
  clock.advance(pauseMilliseconds);
  assert.deepEqual([during, looks.length], [3, 3]);
  // One right behind a look is not taken for one that it has answered.
  assert.equal(all.hint('a/one'), 'now');
  assert.equal(all.hint('a/one'), 'soon');
  clock.advance(pauseMilliseconds);
  assert.equal(looks.length, 5);
});

test('one source does not hold up another', () => {
  const { hints: all, looks } = hints();
  assert.deepEqual([all.hint('a/one'), all.hint('a/two'), all.hint('b/one')], ['now', 'now', 'now']);
  assert.deepEqual(looks, ['a/one', 'a/two', 'b/one']);
});

test('after a pause without webhooks nothing is kept, and nothing is looked at', () => {
  const { hints: all, looks, clock } = hints();
  all.hint('a/one');
  clock.advance(pauseMilliseconds);
  assert.deepEqual([looks.length, clock.waiting], [1, []]);
});
