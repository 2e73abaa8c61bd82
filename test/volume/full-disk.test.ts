// A volume that takes no more bytes: a fault with a reason, and what was published goes on being read.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Volume } from '../../operator/publish/volume.ts';
import type { SourceFault } from '../../operator/reasons.ts';
import { until } from '../kubernetes/until.ts';
import { filesWithSteps } from './steps.ts';
import { filesOf, publish, served, temporaryFolder } from './support.ts';
import { versionOf } from './versions.ts';

const isFull = (error: SourceFault) => {
  assert.equal(error.name, 'SourceFault', String(error));
  assert.equal(error.reason, 'StorageFailed');
  assert.match(error.message, /the volume is full/);
  assert.match(error.message, /ENOSPC/);
  assert.doesNotMatch(error.message, /\/tmp\//, 'paths are relative to the volume');
  return true;
};

test('a disk that is full at any step of a publication is a fault, and the old catalogue is read on', async (t) => {
  await using folder = await temporaryFolder();
  let step = 0;
  let failAt = 0;
  const failed: string[] = [];
  const files = filesWithSteps(({ action, path }) => {
    step += 1;
    if (step !== failAt) return;
    failed.push(`${action} ${path}`);
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  });
  const volume = Volume.at(folder.path, files);
  await publish(volume, versionOf(0), 'v0');
  const old = await served(folder.path);
  for (let version = 1; ; version++) {
    failAt = version;
    step = 0;
    const publishing = publish(volume, versionOf(version), `v${version}`);
    if (!(await publishing.then(() => false, isFull))) break;
    // A full disk on the last step, the sync of the folder, comes when index.json is in place already.
    if (!failed.at(-1)?.startsWith('sync')) assert.deepEqual(await served(folder.path), old, failed.at(-1));
    assert.deepEqual(await volume.list('tmp'), [], `nothing is left in tmp after: ${failed.at(-1)}`);
  }
  await t.test('every kind of step was tried', () => {
    for (const action of ['create', 'write', 'half', 'datasync', 'rename', 'sync']) {
      assert.ok(
        failed.some((what) => what.startsWith(action)),
        action,
      );
    }
    assert.ok(failed.some((what) => what.endsWith('.segment')) && failed.some((what) => what.endsWith('index.json')));
  });
});

test('a volume that cannot be written is a fault that says why', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'file'), '');
  await assert.rejects(Volume.at(join(folder.path, 'file')).checkWritable(), {
    name: 'SourceFault',
    reason: 'StorageFailed',
  });
  const readOnly = filesWithSteps(({ action }) => {
    if (action === 'create') throw Object.assign(new Error('read-only'), { code: 'EROFS' });
  });
  const writing = Volume.at(folder.path, readOnly).write('x', Buffer.from('x'));
  await assert.rejects(writing, { reason: 'StorageFailed', message: /mounted read-only/ });
});

// Only root may mount one; everybody else has the test above, with the same faults from a stand-in.
if (process.getuid?.() === 0) {
  test('a disk that really is full fails the source, reads go on, and it recovers when there is room', async () => {
    await using folder = await temporaryFolder();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,nr_inodes=200', 'tmpfs', folder.path]);
    try {
      await fillAndRecover(folder.path);
    } finally {
      // A reader's files are closed a moment after it is.
      await until(() => isUnmounted(folder.path), 'nothing of the disk is open');
    }
  });
}

const isUnmounted = (path: string): boolean => spawnSync('umount', [path]).status === 0;

async function fillAndRecover(root: string): Promise<void> {
  const volume = Volume.at(root);
  await publish(volume, versionOf(0), 'v0');
  const old = await served(root);
  const before = Object.keys(await filesOf(root)).sort();

  const large = { first: { 'SKILL.md': 'first', 'large.bin': randomBytes(3_000_000) } };
  await assert.rejects(publish(volume, large, 'v1'), isFull);
  assert.deepEqual(await served(root), old);
  assert.deepEqual(Object.keys(await filesOf(root)).sort(), before, 'no half a file stays behind');

  const filler = join(root, 'tmp', 'filler');
  await writeFile(filler, Buffer.alloc(2_000_000)).catch(() => {});
  await assert.rejects(publish(volume, versionOf(2), 'v2'), isFull);
  assert.deepEqual(await served(root), old);

  await rm(filler);
  await publish(volume, versionOf(3), 'v3');
  assert.equal((await served(root))['pack/first/SKILL.md'], 'first v3\n');
}
