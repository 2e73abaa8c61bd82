// An operator whose disk is full or read-only when it starts, or becomes so: it says so, and goes on by itself when it can.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';
import { ready, succeeded } from './support.ts';

/** A disk of one megabyte of its own. */
class Disk implements AsyncDisposable {
  readonly path: string;
  private constructor(path: string) {
    this.path = path;
  }
  static async mount(): Promise<Disk> {
    const path = await mkdtemp(join(tmpdir(), 'lyceum-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path]);
    return new Disk(path);
  }
  /** Nothing more can be written until it is given way. */
  async fill(): Promise<() => Promise<void>> {
    const filler = join(this.path, 'filler');
    await writeFile(filler, Buffer.alloc(2_000_000)).catch(() => {});
    return () => rm(filler);
  }
  /** While a file is being written it is busy. */
  async remount(how: 'ro' | 'rw'): Promise<void> {
    const done = () => spawnSync('mount', ['-o', `remount,${how}`, this.path]).status === 0;
    await eventually(`it is mounted ${how}`, done);
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await eventually('nothing of the disk is open', () => spawnSync('umount', [this.path]).status === 0);
    await rm(this.path, { recursive: true, force: true });
  }
}

const metric = async (operator: OperatorFixture, name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await operator.metrics())?.[1]);

async function start(volume: string): Promise<OperatorFixture> {
  const operator = await OperatorFixture.start({ volume });
  operator.cluster.configMap('pack', { 'skills__one__SKILL.md': skillText('one') });
  operator.cluster.source('handbook', { spec: { url: 'configmap://pack' } });
  operator.cluster.gateway('agents');
  return operator;
}

// Only root may mount a disk of its own.
describe('The disk', { skip: process.getuid?.() !== 0 && 'only root may mount one' }, () => {
  test('a full one at the start is told by source, gateway and metrics; when there is room all is published', async () => {
    await using disk = await Disk.mount();
    const giveWay = await disk.fill();
    await using operator = await start(disk.path);
    await ready(operator, 'False/StorageFailed');
    const { conditions } = operator.cluster.status('sources', 'handbook');
    assert.match(JSON.stringify(conditions), /ENOSPC\): the volume is full: free space on it or enlarge it/);
    await eventually(
      'the gateway says so',
      () => operator.cluster.condition('gateways', 'agents', 'Ready') === 'False/StorageFailed',
    );
    await eventually('a metric says so', async () => (await metric(operator, 'lyceum_volume_failed')) === 1);
    assert.equal(await metric(operator, 'lyceum_volume_free_bytes'), 0);
    assert.equal(await metric(operator, 'lyceum_volume_capacity_bytes'), 2 ** 20);
    await giveWay();
    await ready(operator, succeeded);
    await eventually(
      'the gateway is Ready',
      () => operator.cluster.condition('gateways', 'agents', 'Ready') === 'True/Succeeded',
    );
  });

  test('a read-only one at the start likewise', async () => {
    await using disk = await Disk.mount();
    await disk.remount('ro');
    await using operator = await start(disk.path);
    await ready(operator, 'False/StorageFailed');
    assert.match(JSON.stringify(operator.cluster.status('sources', 'handbook').conditions), /mounted read-only/);
    await disk.remount('rw');
    await ready(operator, succeeded);
  });

  test('one that turns read-only leaves readers what they have, and takes what has changed when it comes back', async () => {
    await using disk = await Disk.mount();
    await using operator = await start(disk.path);
    await ready(operator, succeeded);
    await eventually('it is published', async () => (await operator.catalogue('handbook'))?.artifacts.length === 1);
    await disk.remount('ro');
    operator.cluster.configMap('pack', { 'skills__one__SKILL.md': skillText('one', 'Do it better.') });
    await ready(operator, 'False/StorageFailed');
    assert.equal((await operator.read('handbook', 'one')).toString(), skillText('one'));
    await disk.remount('rw');
    await eventually(
      'the change is served',
      async () => (await operator.read('handbook', 'one')).toString(),
      (text) => text === skillText('one', 'Do it better.'),
    );
  });
});
