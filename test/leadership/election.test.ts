// Which of several operators leads, by the clock: hours in milliseconds, and faults that no API server has on demand.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';
import { Election, type LeadershipLost } from '../../operator/leadership/election.ts';
import type { LeaseRecord, LeaseStore, ReadLease } from '../../operator/leadership/lease.ts';
import { FakeClock } from '../kubernetes/fake-clock.ts';
import { until } from '../kubernetes/until.ts';

/** A Lease in memory, with the API server's rule on versions. */
class MemoryLease implements LeaseStore {
  lease: ReadLease | undefined;
  /** Whether the API server is away. */
  away = false;
  /** Whether its answers never come. */
  hangs = false;
  writes = 0;
  reads = 0;

  async read(): Promise<ReadLease | undefined> {
    this.reads++;
    if (this.hangs) await new Promise(() => {});
    this.#answer();
    return this.lease;
  }
  async create(record: LeaseRecord): Promise<ReadLease> {
    this.#answer();
    if (this.lease !== undefined) throw new KubernetesError('conflict', 'it is there');
    return this.put(record);
  }
  async replace(record: LeaseRecord, resourceVersion: string): Promise<ReadLease> {
    this.#answer();
    if (this.lease?.resourceVersion !== resourceVersion) throw new KubernetesError('conflict', 'it has moved');
    return this.put(record);
  }
  put(record: LeaseRecord): ReadLease {
    this.lease = { ...record, resourceVersion: String(++this.writes) };
    return this.lease;
  }
  #answer(): void {
    if (this.away) throw new KubernetesError('network', 'the API server is away');
  }
}

class Candidate {
  readonly election: Election;
  readonly told: boolean[] = [];
  elected = false;
  lost: LeadershipLost | undefined;
  readonly #stop = new AbortController();

  constructor(lease: LeaseStore, clock: FakeClock, identity: string) {
    this.election = new Election({
      lease,
      identity,
      address: `10.0.0.${identity.charCodeAt(0)}:9443`,
      leads: (leads) => this.told.push(leads),
      clock,
      random: () => 0,
      log: pino({ level: 'silent' }),
    });
    this.election
      .elected(this.#stop.signal, (why) => {
        this.lost = why;
      })
      .then(
        () => {
          this.elected = true;
        },
        () => {},
      );
  }
  stop(): void {
    this.#stop.abort();
  }
}

/** Lets time pass in steps in which every loop does what it has to. */
async function pass(clock: FakeClock, milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 500) {
    clock.advance(500);
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const foreign = (holder: string, durationMilliseconds = 15_000): LeaseRecord => ({
  holder,
  durationMilliseconds,
  address: undefined,
  transitions: 3,
  acquired: '2026-11-10T11:00:00.000000Z',
});

describe('An operator that asks for the Lease', () => {
  test('leads at once where there is none', async () => {
    const [lease, clock] = [new MemoryLease(), new FakeClock()];
    const one = new Candidate(lease, clock, 'one_1');
    await until(() => one.elected, 'it leads');
    assert.equal(lease.lease?.holder, 'one_1');
    assert.deepEqual(one.told, [false, true]);
  });

  test('waits while another one renews, for as long as that takes', async () => {
    const [lease, clock] = [new MemoryLease(), new FakeClock()];
    const one = new Candidate(lease, clock, 'one_1');
    await until(() => one.elected, 'it leads');
    const two = new Candidate(lease, clock, 'two_2');
    await pass(clock, 600_000);
    assert.equal(two.elected, false);
    assert.equal(one.lost, undefined);
    assert.equal(lease.lease?.transitions, 0);
  });

  test('takes over from one that is silent, 15 s after it saw the Lease change last, whatever times stand in it', async () => {
    const [lease, clock] = [new MemoryLease(), new FakeClock()];
    lease.put(foreign('gone_0'));
    const one = new Candidate(lease, clock, 'one_1');
    await pass(clock, 14_000);
    assert.equal(one.elected, false);
    await pass(clock, 4_000);
    assert.equal(one.elected, true);
    assert.deepEqual([lease.lease?.holder, lease.lease?.transitions], ['one_1', 4]);
  });

  test('waits as long as the Lease says where that is longer', async () => {
    const [lease, clock] = [new MemoryLease(), new FakeClock()];
    lease.put(foreign('gone_0', 60_000));
    const one = new Candidate(lease, clock, 'one_1');
    await pass(clock, 58_000);
    assert.equal(one.elected, false);
    await pass(clock, 5_000);
    assert.equal(one.elected, true);
  });

  test('goes on at once as the container before in its own pod, since that has ended', async () => {
    const [lease, clock] = [new MemoryLease(), new FakeClock()];
    lease.put(foreign('one_1'));
    const one = new Candidate(lease, clock, 'one_1');
    await until(() => one.elected, 'it leads');
  });

  test('is never one of two: who wrote second has lost the race', async () => {
    const [lease, clock] = [new MemoryLease(), new FakeClock()];
    lease.put(foreign(''));
    const all = ['one_1', 'two_2', 'ten_3'].map((identity) => new Candidate(lease, clock, identity));
    await pass(clock, 60_000);
    assert.equal(all.filter(({ elected }) => elected).length, 1);
    assert.equal(lease.lease?.transitions, 4);
  });

  test('stops asking when it is told to stop', async () => {
    const [lease, clock] = [new MemoryLease(), new FakeClock()];
    lease.put(foreign('other_0', 600_000));
    const one = new Candidate(lease, clock, 'one_1');
    await pass(clock, 5_000);
    one.stop();
    await pass(clock, 5_000);
    const { reads } = lease;
    await pass(clock, 60_000);
    assert.equal(lease.reads, reads);
  });

  test('says what is wrong until it has read the Lease once, and not when the API server is away later', async () => {
    const [lease, clock] = [new MemoryLease(), new FakeClock()];
    lease.away = true;
    const one = new Candidate(lease, clock, 'one_1');
    await pass(clock, 5_000);
    assert.match(one.election.unready() ?? '', /the API server is away/);
    lease.away = false;
    lease.put(foreign('other_0', 600_000));
    await pass(clock, 5_000);
    assert.equal(one.election.unready(), undefined);
    lease.away = true;
    await pass(clock, 60_000);
    assert.equal(one.election.unready(), undefined);
  });
});

describe('An operator that leads', () => {
  const leading = async () => {
    const [lease, clock] = [new MemoryLease(), new FakeClock()];
    const one = new Candidate(lease, clock, 'one_1');
    await until(() => one.elected, 'it leads');
    return { lease, clock, one };
  };

  test('outlives an API server that is away for a moment', async () => {
    const { lease, clock, one } = await leading();
    await pass(clock, 10_000);
    lease.away = true;
    await pass(clock, 7_000);
    lease.away = false;
    await pass(clock, 60_000);
    assert.equal(one.lost, undefined);
  });

  test('gives up before another one may lead, when it cannot renew', async () => {
    const { lease, clock, one } = await leading();
    await pass(clock, 10_000);
    lease.away = true;
    await pass(clock, 14_500);
    assert.match(one.lost?.message ?? '', /could not be renewed in time/);
    assert.deepEqual(one.told, [false, true, false]);
  });

  test('gives up in time, too, when its questions hang instead of failing', async () => {
    const { lease, clock, one } = await leading();
    await pass(clock, 10_000);
    lease.hangs = true;
    await pass(clock, 12_500);
    assert.match(one.lost?.message ?? '', /could not be renewed in time/);
  });

  test('gives up at once when another one holds the Lease, and does not take it back', async () => {
    const { lease, clock, one } = await leading();
    lease.put(foreign('thief_9'));
    await pass(clock, 3_000);
    assert.match(one.lost?.message ?? '', /thief_9 holds the Lease/);
    await pass(clock, 60_000);
    assert.equal(lease.lease?.holder, 'thief_9');
    await one.election.release();
    assert.equal(lease.lease?.holder, 'thief_9');
  });

  test('leaves a Lease that another one can take at once', async () => {
    const { lease, clock, one } = await leading();
    const two = new Candidate(lease, clock, 'two_2');
    await pass(clock, 5_000);
    assert.equal(await two.election.leaderAddress(), '10.0.0.111:9443');
    await one.election.release();
    assert.deepEqual([lease.lease?.holder, lease.lease?.durationMilliseconds], ['', 1_000]);
    assert.equal(await two.election.leaderAddress(), undefined);
    await pass(clock, 2_500);
    assert.equal(two.elected, true);
    assert.equal(one.lost, undefined);
    assert.equal(await one.election.leaderAddress(), '10.0.0.116:9443');
  });

  test('is not passed on to itself, where it has the address of one that has died', async () => {
    const [lease, clock] = [new MemoryLease(), new FakeClock()];
    lease.put({ ...foreign('dead_0'), address: '10.0.0.111:9443' });
    const one = new Candidate(lease, clock, 'one_1');
    assert.equal(await one.election.leaderAddress(), undefined);
    one.stop();
  });

  test('writes nothing but the renewal every two seconds', async () => {
    const { lease, clock } = await leading();
    const { writes } = lease;
    await pass(clock, 60_000);
    assert.equal(lease.writes - writes, 30);
  });
});
