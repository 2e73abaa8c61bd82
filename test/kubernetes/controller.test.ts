import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { operatorMetrics } from '../../operator/metrics.ts';
import { Controller, type Reconcile } from '../../operator/reconcile/controller.ts';
import { FakeClock } from './fake-clock.ts';
import { until } from './until.ts';

interface Running {
  controller: Controller;
  clock: FakeClock;
  registry: Registry;
  log: string[];
  stop(): Promise<void>;
}

function running(context: TestContext, reconcile: Reconcile, workers = 2): Running {
  const clock = new FakeClock();
  const registry = new Registry();
  const log: string[] = [];
  const controller = new Controller({
    name: 'skillsource',
    workers,
    reconcile,
    metrics: operatorMetrics(registry).controller('skillsource'),
    log: pino({ level: 'debug' }, { write: (line: string) => void log.push(line) }),
    clock,
    random: () => 1,
  });
  const stopping = new AbortController();
  const run = controller.run(stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await run;
  };
  context.after(stop);
  return { controller, clock, registry, log, stop };
}

async function total(registry: Registry, result: string): Promise<number | undefined> {
  const { values } = await registry.getSingleMetric('controller_runtime_reconcile_total')!.get();
  return values.find(({ labels }) => (labels as { result?: string }).result === result)?.value;
}

test('an object is looked at again after the time its reconcile asked for', async (t) => {
  const seen: string[] = [];
  const { controller, clock, registry } = running(t, async (key) => {
    seen.push(key);
    return seen.length === 1 ? { requeueAfterSeconds: 300 } : {};
  });
  controller.enqueue('flow/a');
  await until(() => clock.waiting.length === 1, 'the plan');
  clock.advance(299_999);
  assert.deepEqual(seen, ['flow/a']);
  clock.advance(1);
  await until(() => seen.length === 2, 'the second look');
  await new Promise(setImmediate);
  assert.deepEqual(clock.waiting, []);
  assert.deepEqual([await total(registry, 'requeue_after'), await total(registry, 'success')], [1, 1]);
});

test('a reconcile that fails is tried again with growing pauses, others go on', async (t) => {
  let failures = 0;
  const seen: string[] = [];
  const { controller, clock, registry, log } = running(t, async (key) => {
    seen.push(key);
    if (key === 'flow/bad' && failures++ < 2) throw new Error('the disk is full');
    return {};
  });
  controller.enqueue('flow/bad');
  controller.enqueue('flow/good');
  assert.equal(await clock.pause(), 1_000);
  clock.advance(1_000);
  await until(() => failures === 2, 'the second try');
  assert.equal(await clock.pause(), 2_000);
  clock.advance(2_000);
  await until(() => failures === 3, 'the third try');
  assert.deepEqual(seen, ['flow/bad', 'flow/good', 'flow/bad', 'flow/bad']);
  assert.equal(await total(registry, 'error'), 2);
  assert.match(await registry.metrics(), /controller_runtime_reconcile_errors_total\{controller="skillsource"\} 2\n/);
  assert.equal(log.filter((line) => line.includes('the disk is full')).length, 2);
});

test('after a success the next failure counts as the first', async (t) => {
  const outcomes = ['bad', 'bad', 'good', 'bad'];
  const { controller, clock } = running(t, async () => {
    if (outcomes.shift() === 'bad') throw new Error('bad');
    return { requeueAfterSeconds: 60 };
  });
  controller.enqueue('flow/a');
  for (const pause of [1_000, 2_000, 60_000, 1_000]) {
    assert.equal(await clock.pause(), pause);
    clock.advance(pause);
  }
});

test("a server's wish to wait is kept to", async (t) => {
  const { controller, clock } = running(t, () =>
    Promise.reject(Object.assign(new Error('busy'), { retryAfterSeconds: 30 })),
  );
  controller.enqueue('flow/a');
  assert.equal(await clock.pause(), 30_000);
});

test('an unforeseen error, thrown at once or later or no error at all, ends nothing and is counted', async (t) => {
  let calls = 0;
  const { controller, registry, clock, log } = running(t, (key) => {
    calls++;
    if (key === 'flow/now') throw new TypeError('undefined is not a function');
    return key === 'flow/later' ? Promise.reject(new RangeError('too long')) : Promise.reject('a string');
  });
  for (const key of ['flow/now', 'flow/later', 'flow/string']) controller.enqueue(key);
  await until(() => clock.waiting.length === 3, 'three pauses');
  assert.equal(calls, 3);
  assert.match(await registry.metrics(), /controller_runtime_reconcile_panics_total\{controller="skillsource"\} 2\n/);
  assert.equal(log.filter((line) => JSON.parse(line).err?.stack !== undefined).length, 2);
});

test('as many objects are worked on at once as there are workers, and none by two', async (t) => {
  const active = new Map<string, number>();
  let most = 0;
  const release: (() => void)[] = [];
  const { controller, registry } = running(
    t,
    (key, signal) => {
      active.set(key, (active.get(key) ?? 0) + 1);
      most = Math.max(
        most,
        [...active.values()].reduce((sum, count) => sum + count, 0),
      );
      assert.equal(active.get(key), 1);
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({}));
        release.push(() => {
          active.set(key, 0);
          resolve({});
        });
      });
    },
    3,
  );
  for (let at = 0; at < 5; at++) controller.enqueue(`flow/${at}`);
  await until(() => release.length === 3, 'three at work');
  assert.match(await registry.metrics(), /controller_runtime_active_workers\{controller="skillsource"\} 3\n/);
  assert.match(
    await registry.metrics(),
    /controller_runtime_max_concurrent_reconciles\{controller="skillsource"\} 3\n/,
  );
  for (let done = 0; done < 5; done++) {
    await until(() => release.length > done, 'another one');
    controller.enqueue('flow/4');
    release[done]!();
  }
  await until(() => release.length === 6, 'the one that was added while at work');
  release[5]!();
  await new Promise(setImmediate);
  assert.equal(release.length, 6);
  assert.equal(most, 3);
});

test('a stop aborts the reconciles under way, waits for them, and begins no other', async (t) => {
  const ended: string[] = [];
  let begun = 0;
  const { controller, clock, stop, registry } = running(
    t,
    (key, signal) => {
      begun++;
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () =>
          setImmediate(() => {
            ended.push(key);
            reject(signal.reason);
          }),
        ),
      );
    },
    1,
  );
  controller.enqueue('flow/a');
  controller.enqueue('flow/b');
  await until(() => begun === 1, 'the first');
  await stop();
  assert.deepEqual(ended, ['flow/a']);
  assert.equal(begun, 1);
  assert.deepEqual(clock.waiting, []);
  assert.equal(await total(registry, 'error'), 0, 'a stop is no error');
});
