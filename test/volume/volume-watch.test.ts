// What the operator concludes of looks at its volume: what failed on it is done again as soon as that can be of use, not before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { watchVolume } from '../../operator/publish/volume-watch.ts';
import { SourceFault } from '../../operator/reasons.ts';
import { FakeClock } from '../kubernetes/fake-clock.ts';

/** What each look finds, one after the other: the bytes that are free, or why nothing can be written. */
async function recoveriesOf(looks: readonly (number | string)[]): Promise<number[]> {
  const clock = new FakeClock();
  const stop = new AbortController();
  const recoveries: number[] = [];
  let look = -1;
  const watching = watchVolume(
    {
      volume: {
        async checkWritable() {
          look += 1;
          const found = looks[look];
          if (look === looks.length - 1) stop.abort();
          if (typeof found === 'string') throw new SourceFault('StorageFailed', found);
        },
        space: async () => ({ capacity: 1000, free: Number(looks[look]) || 0 }),
      },
      metrics: { space: () => {}, failed: () => {} },
      recovered: () => recoveries.push(look),
      clock,
      log: pino({ level: 'silent' }),
    },
    stop.signal,
  );
  while (!stop.signal.aborted) {
    await new Promise(setImmediate);
    clock.advance(15_000);
  }
  await watching;
  return recoveries;
}

test('a volume that can be written again is a recovery, once', async () => {
  assert.deepEqual(await recoveriesOf([500, 'read-only', 'read-only', 500, 500]), [3]);
  assert.deepEqual(await recoveriesOf(['full', 500]), [1], 'also when it could not be written at the start');
});

test('a volume with far more room than it had is one, since what is large may fit now', async () => {
  assert.deepEqual(await recoveriesOf([500, 8, 600, 700]), [2]);
  assert.deepEqual(await recoveriesOf([8, 12, 17, 30, 35]), [2, 4], 'room that comes little by little counts too');
});

test('room that goes a little up and down is none', async () => {
  assert.deepEqual(await recoveriesOf([500, 300, 500, 300, 550]), []);
});
