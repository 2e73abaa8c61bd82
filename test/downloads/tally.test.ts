// What batches of counts make of a gateway's totals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DownloadsBatch, DownloadsFile } from '../../catalogue/downloads-file.ts';
import { tally } from '../../operator/downloads/tally.ts';
import { installsIn, Replica } from './support.ts';

const hour = 3_600_000;
const day = 24 * hour;
const start = Date.UTC(2026, 10, 30);
const loki = 'skill grafana/loki';
const tempo = 'skill grafana/tempo';

/** A gateway with its file, as one operator after the other finds it. */
class Gateway {
  file: DownloadsFile | undefined;
  artifacts = new Set([loki, tempo]);
  now = start;
  unknown = 0;

  take(...batches: DownloadsBatch[]): string[] {
    const { file, results, unknown } = tally(this.file, batches, this.artifacts, this.now);
    this.file = JSON.parse(JSON.stringify(file));
    this.unknown += unknown;
    return results;
  }

  get installs(): Record<string, number> {
    return this.file === undefined ? {} : installsIn(this.file);
  }
}

test('what two servers count is added up, installs and archives apart', () => {
  const gateway = new Gateway();
  const [one, two] = [new Replica(), new Replica()];
  gateway.take(one.batch({ [loki]: 2 }), two.batch({ [loki]: 3, [tempo]: 1 }));
  gateway.take({ ...one.batch({}), counts: [{ artifact: loki, install: 0, archive: 4 }] });
  assert.deepEqual(gateway.file?.artifacts, {
    [loki]: { install: 5, archive: 4 },
    [tempo]: { install: 1, archive: 0 },
  });
});

test('a batch that comes again counts once: at once, together with itself, and after later ones', () => {
  const gateway = new Gateway();
  const server = new Replica();
  const [first, second] = [server.batch({ [loki]: 1 }), server.batch({ [loki]: 10 })];
  assert.deepEqual(gateway.take(first, first), ['kept', 'repeated']);
  assert.deepEqual(gateway.take(first, second), ['repeated', 'kept']);
  assert.deepEqual(gateway.take(first, second), ['repeated', 'repeated']);
  assert.deepEqual(gateway.installs, { [loki]: 11 });
});

test('what the gateway has not is not counted, and told', () => {
  const gateway = new Gateway();
  const server = new Replica();
  const batch = server.batch({ [loki]: 1, 'skill theirs/secret': 5, 'rule grafana/loki': 2, ['__proto__']: 3, '': 1 });
  assert.deepEqual(gateway.take(batch), ['kept']);
  assert.deepEqual(gateway.installs, { [loki]: 1 });
  assert.equal(gateway.unknown, 11);
});

test('an artifact that goes keeps its count for 30 days, and has it when it comes back', () => {
  const gateway = new Gateway();
  const server = new Replica();
  gateway.take(server.batch({ [loki]: 7, [tempo]: 1 }));
  gateway.artifacts.delete(loki);
  gateway.now += hour;
  gateway.take(server.batch({ [tempo]: 1 }));
  gateway.now += 29 * day;
  gateway.take(server.batch({ [tempo]: 1, [loki]: 1 }));
  assert.equal(gateway.installs[loki], 8, 'a server that still has the older catalogue');
  gateway.artifacts.add(loki);
  gateway.take(server.batch({ [tempo]: 1 }));
  assert.deepEqual(gateway.file?.artifacts[loki], { install: 8, archive: 0 });

  gateway.artifacts.delete(loki);
  gateway.take(server.batch({ [tempo]: 1 }));
  gateway.now += 30 * day;
  gateway.take(server.batch({ [tempo]: 1 }));
  assert.deepEqual(gateway.installs, { [tempo]: 6 });
});

test('of what is gone no more than 10,000 are kept: those that went last', () => {
  const gateway = new Gateway();
  const server = new Replica();
  for (let round = 0; round < 3; round++) {
    const skills = Array.from({ length: 5_000 }, (_, at) => `skill many/${round}-${at}`);
    gateway.artifacts = new Set(skills);
    gateway.take(server.batch(Object.fromEntries(skills.map((skill) => [skill, 1]))));
    gateway.artifacts = new Set();
    gateway.now += 1000;
    gateway.take(server.batch({ [loki]: 1 }));
  }
  const kept = Object.keys(gateway.installs);
  assert.equal(kept.length, 10_000);
  assert.ok(!kept.some((skill) => skill.startsWith('skill many/0-')));
});

test('totals never go beyond what a number can tell exactly', () => {
  const gateway = new Gateway();
  const most = Number.MAX_SAFE_INTEGER;
  gateway.file = { format: 1, artifacts: { [loki]: { install: most - 1, archive: 0 } }, replicas: {} };
  gateway.take(new Replica().batch({ [loki]: 1_000_000 }));
  assert.equal(gateway.installs[loki], most);
});

test('a server that sent nothing for a day is forgotten, and no later than that its last batch', () => {
  const gateway = new Gateway();
  const [silent, other] = [new Replica(), new Replica()];
  const last = silent.batch({ [loki]: 1 });
  gateway.take(last);
  gateway.now += day - hour;
  gateway.take(other.batch({ [loki]: 1 }));
  assert.ok(gateway.file?.replicas[silent.id]);
  gateway.now += hour;
  assert.deepEqual(gateway.take(last, other.batch({ [loki]: 1 })), ['repeated', 'kept']);
  assert.deepEqual(Object.keys(gateway.file?.replicas ?? {}), [other.id]);
});

test('no more than 1,000 servers are remembered: those that were heard last', () => {
  const gateway = new Gateway();
  const first = new Replica();
  gateway.take(first.batch({ [loki]: 1 }));
  gateway.now += 1;
  gateway.take(...Array.from({ length: 1_000 }, () => new Replica().batch({ [loki]: 1 })));
  const { replicas } = gateway.file!;
  assert.equal(Object.keys(replicas).length, 1_000);
  assert.ok(!(first.id in replicas));
});
