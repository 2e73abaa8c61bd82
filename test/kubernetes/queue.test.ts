import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { operatorMetrics } from '../../operator/metrics.ts';
import { WorkQueue } from '../../operator/reconcile/queue.ts';
import { FakeClock } from './fake-clock.ts';

function queueOf(random = 0): { queue: WorkQueue; clock: FakeClock; registry: Registry } {
  const clock = new FakeClock();
  const registry = new Registry();
  const metrics = operatorMetrics(registry).controller('skillsource').queue;
  return { queue: new WorkQueue({ clock, random: () => random, metrics }), clock, registry };
}

/** The keys that can be taken now, in order; each is given back at once. */
async function drain(queue: WorkQueue): Promise<(string | undefined)[]> {
  const taken: (string | undefined)[] = [];
  for (;;) {
    const key = await Promise.race([queue.get(), new Promise<'empty'>((resolve) => setImmediate(resolve, 'empty'))]);
    if (key === 'empty') return taken;
    taken.push(key);
    queue.done(key!);
  }
}

const value = async (
  registry: Registry,
  family: string,
  labels: Record<string, string> = {},
): Promise<number | undefined> => {
  const { values } = await registry.getSingleMetric(family)!.get();
  return values.find((row) => Object.entries(labels).every(([name, text]) => row.labels[name as never] === text))
    ?.value;
};

test('a key that is added many times waits once', async () => {
  const { queue } = queueOf();
  for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
  assert.deepEqual(await drain(queue), ['a', 'b']);
});

test('a key that is added while it is worked on is worked on once more, afterwards', async () => {
  const { queue } = queueOf();
  queue.add('a');
  assert.equal(await queue.get(), 'a');
  queue.add('a');
  queue.add('a');
  queue.add('b');
  assert.equal(await queue.get(), 'b', 'never two workers on one key');
  const next = queue.get();
  queue.done('a');
  assert.equal(await next, 'a');
  queue.done('a');
  queue.done('b');
  assert.deepEqual(await drain(queue), []);
});

test('what has changed goes before what only came round', async () => {
  const { queue, clock } = queueOf();
  queue.addAfter('round', 10);
  queue.addAfter('both', 10);
  clock.advance(10);
  queue.add('new');
  queue.add('both');
  assert.deepEqual(await drain(queue), ['new', 'both', 'round']);
});

test('a planned key comes when its time has come, and the last plan holds', async () => {
  const { queue, clock } = queueOf();
  queue.addAfter('a', 1_000);
  queue.addAfter('a', 5_000);
  queue.addAfter('far', 100 * 24 * 3_600_000);
  clock.advance(4_999);
  assert.deepEqual(clock.waiting.length, 2);
  const next = queue.get();
  clock.advance(1);
  assert.equal(await next, 'a');
  queue.done('a');
  const far = queue.get();
  clock.advance(100 * 24 * 3_600_000);
  assert.equal(await far, 'far');
});

test('work that begins voids what was planned', async () => {
  const { queue, clock } = queueOf();
  queue.addAfter('a', 1_000);
  queue.add('a');
  assert.deepEqual(await drain(queue), ['a']);
  assert.deepEqual(clock.waiting, []);
});

test('failures of a key hold it back from 1 s, doubling, to 10 min, less a random half; a success forgets them', () => {
  const pauses = (random: number, times: number): number[] => {
    const { queue, clock } = queueOf(random);
    return Array.from({ length: times }, () => {
      queue.addRateLimited('a');
      return clock.waiting[0]!;
    });
  };
  assert.deepEqual(
    pauses(1, 12).map((pause) => pause / 1000),
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600],
  );
  assert.deepEqual(pauses(0, 3), [500, 1_000, 2_000]);
  const { queue, clock } = queueOf(1);
  queue.addRateLimited('a');
  queue.addRateLimited('a');
  queue.forget('a');
  queue.addRateLimited('a');
  queue.addRateLimited('other');
  assert.deepEqual(clock.waiting, [1_000, 1_000]);
  queue.addRateLimited('a', 90_000);
  assert.deepEqual(clock.waiting, [1_000, 90_000], "a server's own wish");
});

test('a stopped queue gives nothing and has no timer', async () => {
  const { queue, clock } = queueOf();
  const waiting = [queue.get(), queue.get()];
  queue.add('taken');
  queue.add('x');
  queue.add('left');
  queue.addAfter('planned', 1_000);
  queue.stop();
  assert.deepEqual(await Promise.all(waiting), ['taken', 'x']);
  const after = queue.get();
  queue.add('late');
  queue.addAfter('late', 1);
  queue.addRateLimited('taken');
  queue.done('taken');
  assert.equal(await after, undefined);
  assert.deepEqual(clock.waiting, []);
});

test('workers that wait for a key are released by a stop', async () => {
  const { queue } = queueOf();
  const waiting = [queue.get(), queue.get()];
  queue.stop();
  assert.deepEqual(await Promise.all(waiting), [undefined, undefined]);
});

test('the queue is measured under the names of client-go', async () => {
  const { queue, clock, registry } = queueOf();
  const labels = { name: 'skillsource', controller: 'skillsource' };
  assert.equal(await value(registry, 'workqueue_depth', { ...labels, priority: '0' }), 0);
  assert.equal(await value(registry, 'workqueue_retries_total', labels), 0);
  queue.add('a');
  queue.add('a');
  queue.add('b');
  queue.addRateLimited('c');
  assert.equal(await value(registry, 'workqueue_depth', { ...labels, priority: '0' }), 2);
  assert.equal(await value(registry, 'workqueue_adds_total', labels), 2);
  assert.equal(await value(registry, 'workqueue_retries_total', labels), 1);
  clock.advance(1_000);
  assert.equal(await value(registry, 'workqueue_depth', { ...labels, priority: '-100' }), 1);
  await queue.get();
  clock.advance(2_000);
  await queue.get();
  clock.advance(1_000);
  assert.equal(await value(registry, 'workqueue_unfinished_work_seconds', labels), 4);
  assert.equal(await value(registry, 'workqueue_longest_running_processor_seconds', labels), 3);
  queue.done('a');
  queue.done('b');
  const text = await registry.metrics();
  assert.match(text, /workqueue_queue_duration_seconds_sum\{name="skillsource",controller="skillsource"\} 4\n/);
  assert.match(text, /workqueue_work_duration_seconds_sum\{name="skillsource",controller="skillsource"\} 4\n/);
  assert.match(text, /workqueue_work_duration_seconds_count\{name="skillsource",controller="skillsource"\} 2\n/);
});
