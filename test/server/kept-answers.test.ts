// What is kept of answers: bounded by bytes, and the ones that are asked for stay.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KeptAnswers } from '../../server/mcp/fast/kept-answers.ts';

const answer = (bytes: number) => ({ bytes });

describe('kept answers', () => {
  it('take no more bytes than they may, however many there were', () => {
    const kept = new KeptAnswers(1_000_000, 100_000);
    const keys = Array.from({ length: 5000 }, (_, number) => `key ${number}`);
    for (const key of keys) kept.set(key, answer(10_000));
    const there = keys.filter((key) => kept.get(key) !== undefined);
    assert.ok(there.length > 20, `${there.length} are kept`);
    assert.ok(there.length <= 100, `${there.length} are kept`);
    assert.equal(there.at(-1), keys.at(-1));
  });

  it('count what a key takes, so that many small ones are bounded too', () => {
    const kept = new KeptAnswers(1_000_000, 100_000);
    const keys = Array.from({ length: 20_000 }, (_, number) => `${number}`.padStart(400, 'x'));
    for (const key of keys) kept.set(key, answer(0));
    assert.ok(keys.filter((key) => kept.get(key) !== undefined).length <= 1250);
  });

  it('stay while they are asked for, whatever passes by', () => {
    const kept = new KeptAnswers(1_000_000, 100_000);
    kept.set('hot', answer(1000));
    for (let number = 0; number < 5000; number++) {
      kept.set(`cold ${number}`, answer(10_000));
      assert.ok(kept.get('hot'), `after ${number}`);
    }
    assert.equal(kept.get('cold 0'), undefined);
  });

  it('hold none that is too long', () => {
    const kept = new KeptAnswers(1_000_000, 100_000);
    kept.set('long', answer(100_001));
    kept.set('longest', answer(100_000));
    assert.equal(kept.get('long'), undefined);
    assert.ok(kept.get('longest'));
  });
});
