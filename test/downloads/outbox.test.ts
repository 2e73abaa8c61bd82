// What a server counted until the operator has it: nothing twice, nothing lost unsaid, no batch that is too long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchSchema, type DownloadsBatch, longestBatch } from '../../catalogue/downloads-file.ts';
import { Outbox } from '../../server/downloads/outbox.ts';

const loki = 'skill grafana/loki';
const counted = (outbox: Outbox, key: string, times: number): void => {
  for (let time = 0; time < times; time++) assert.ok(outbox.add(key, 'install'));
};
/** The file's replicas when it has a batch. */
const shows = ({ replica, sequence }: DownloadsBatch) => ({ [replica]: { sequence } });

test('a batch stays the same until it is delivered, whatever is counted meanwhile', () => {
  const outbox = new Outbox();
  counted(outbox, loki, 2);
  const first = outbox.next();
  outbox.add(loki, 'archive');
  assert.deepEqual(outbox.next(), first);
  assert.deepEqual(first?.counts, [{ artifact: loki, install: 2, archive: 0 }]);
  outbox.delivered();
  const second = outbox.next();
  assert.deepEqual(second, {
    replica: first?.replica,
    sequence: 2,
    counts: [{ artifact: loki, install: 0, archive: 1 }],
  });
  outbox.delivered();
  assert.equal(outbox.next(), undefined);
});

test('each run of a server is another replica', () => {
  const [one, two] = [new Outbox(), new Outbox()];
  for (const outbox of [one, two]) counted(outbox, loki, 1);
  assert.notEqual(one.next()?.replica, two.next()?.replica);
});

test('a download is told once: before it is sent, while it is, and until the volume shows it', () => {
  const outbox = new Outbox();
  counted(outbox, loki, 3);
  assert.equal(outbox.of(loki), 3);
  const first = outbox.next()!;
  assert.equal(outbox.of(loki), 3);
  outbox.delivered();
  assert.deepEqual([outbox.of(loki), outbox.unconfirmed], [3, 0]);
  counted(outbox, loki, 1);
  outbox.shown({});
  assert.equal(outbox.of(loki), 4);
  outbox.shown(shows(first));
  assert.equal(outbox.of(loki), 1);
  const second = outbox.next()!;
  outbox.shown(shows(second));
  assert.equal(outbox.of(loki), 0, 'the answer is lost, the volume shows it');
  assert.deepEqual(outbox.next(), second, 'it is sent until it is confirmed');
  outbox.delivered();
  assert.equal(outbox.of(loki), 0, 'the answer came after the volume showed it');
});

test('what a server has is told after a restart of the operator that lost its file', () => {
  const outbox = new Outbox();
  counted(outbox, loki, 1);
  const first = outbox.next()!;
  outbox.delivered();
  outbox.shown(shows(first));
  outbox.shown({});
  counted(outbox, loki, 1);
  assert.equal(outbox.of(loki), 1);
});

test('many artifacts with long addresses make batches that the operator takes, all of them', () => {
  const outbox = new Outbox();
  const keys = Array.from({ length: 3_000 }, (_, at) => `skill handbook/${'ü"'.repeat(at % 700)}${at}`);
  for (const key of keys) outbox.add(key, 'install');
  const seen = new Set<string>();
  for (let batch = outbox.next(); batch !== undefined; batch = outbox.next()) {
    assert.ok(Buffer.byteLength(JSON.stringify(batch)) <= longestBatch);
    assert.ok(batchSchema.safeParse(batch).success);
    for (const { artifact } of batch.counts) seen.add(artifact);
    outbox.delivered();
  }
  assert.deepEqual([...seen].sort(), keys.sort());
  assert.equal(outbox.unconfirmed, 0);
});

test('more of one artifact than one batch tells is in the next one', () => {
  const outbox = new Outbox();
  counted(outbox, loki, 1_000_001);
  assert.equal(outbox.next()?.counts[0]?.install, 1_000_000);
  assert.equal(outbox.of(loki), 1_000_001);
  outbox.delivered();
  assert.equal(outbox.next()?.counts[0]?.install, 1);
});

test('as many artifacts wait as may; another one is not counted, and that is said', () => {
  const outbox = new Outbox(2);
  assert.deepEqual(
    ['a', 'b', 'c', 'a'].map((key) => outbox.add(key, 'install')),
    [true, true, false, true],
  );
  assert.equal(outbox.unconfirmed, 3);
});

test('a batch that is refused is gone, and it is said how much was in it', () => {
  const outbox = new Outbox();
  counted(outbox, loki, 2);
  outbox.next();
  assert.equal(outbox.refused(), 2);
  counted(outbox, loki, 1);
  assert.deepEqual([outbox.next()?.sequence, outbox.of(loki)], [2, 1]);
});

test('a volume that shows nothing for long costs no memory without end', () => {
  const outbox = new Outbox();
  for (let batch = 0; batch < 1_000; batch++) {
    counted(outbox, loki, 1);
    outbox.next();
    outbox.delivered();
  }
  assert.equal(outbox.of(loki), 64);
});
