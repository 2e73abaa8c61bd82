import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LookQuestion, planLook } from '../../operator/reconcile/look-plan.ts';

const settled: LookQuestion = {
  memory: { looked: true, triggered: false, dueAt: 10_000 },
  publishedSpec: 'a',
  spec: 'a',
  generation: 1,
  lookedGeneration: 1,
  request: undefined,
  handledRequest: undefined,
  asked: false,
  now: 4_000,
};

test('a source that is not due is left alone, and it is known when it is', () => {
  assert.deepEqual(planLook(settled), { look: 'none', inSeconds: 6 });
});

test('a source without refresh is never looked at on its own', () => {
  const memory = { looked: true, triggered: false };
  assert.deepEqual(planLook({ ...settled, memory }), { look: 'none' });
});

test('an operator that starts probes each source once', () => {
  assert.deepEqual(planLook({ ...settled, memory: { ...settled.memory, looked: false } }), { look: 'probe' });
});

test('a refresh that is due asks only whether upstream moved', () => {
  assert.deepEqual(planLook({ ...settled, now: 10_000 }), { look: 'probe' });
});

test('a changed spec is fetched at once, even where upstream did not move', () => {
  assert.deepEqual(planLook({ ...settled, spec: 'b', generation: 2 }), { look: 'fetch' });
});

test('another refresh, timeout or Secret is tried at once, by a probe where the same would be harvested', () => {
  assert.deepEqual(planLook({ ...settled, generation: 2 }), { look: 'probe' });
  const withoutRefresh = { looked: true, triggered: false };
  assert.deepEqual(planLook({ ...settled, memory: withoutRefresh, generation: 2 }), { look: 'probe' });
});

test('a spec whose first look failed is not looked at again before its pause is over', () => {
  const failed = { ...settled, spec: 'b', generation: 2, lookedGeneration: 2 };
  assert.deepEqual(planLook(failed), { look: 'none', inSeconds: 6 });
  assert.deepEqual(planLook({ ...failed, now: 10_000 }), { look: 'fetch' });
});

test('a changed Secret or ConfigMap is looked at at once', () => {
  assert.deepEqual(planLook({ ...settled, memory: { ...settled.memory, triggered: true } }), { look: 'probe' });
});

test('who asks with lyceum.dev/requestedAt gets a look that skips the fingerprint check, once for each value', () => {
  assert.deepEqual(planLook({ ...settled, request: 'now' }), { look: 'fetch' });
  assert.deepEqual(planLook({ ...settled, request: 'now', handledRequest: 'now' }), { look: 'none', inSeconds: 6 });
  assert.deepEqual(planLook({ ...settled, request: 'again', handledRequest: 'now' }), { look: 'fetch' });
});

test('who waits for a look gets one that skips the fingerprint check', () => {
  assert.deepEqual(planLook({ ...settled, asked: true }), { look: 'fetch' });
});
