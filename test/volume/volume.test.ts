// The volume: whole files, modes, scratch folders, and paths that stay inside.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Volume } from '../../operator/publish/volume.ts';
import { SourceFault } from '../../operator/reasons.ts';
import { temporaryFolder } from './support.ts';

test('files are 0644 and folders 0755 whatever the umask is, so that servers of another user can read them', async () => {
  await using folder = await temporaryFolder();
  const program = `
    import { Volume } from ${JSON.stringify(join(import.meta.dirname, '../../operator/publish/volume.ts'))};
    process.umask(0o077);
    const volume = Volume.at(${JSON.stringify(join(folder.path, 'volume'))});
    await volume.write('a/b/file', Buffer.from('x'));
  `;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  const mode = async (path: string) => (await stat(join(folder.path, 'volume', path))).mode & 0o777;
  assert.equal(await mode('a/b/file'), 0o644);
  for (const path of ['', 'a', 'a/b', 'tmp']) assert.equal(await mode(path), 0o755, path);
});

test('a scratch folder is there while a look lasts, and gone with what is in it', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  {
    await using scratch = volume.scratch();
    assert.deepEqual(await volume.list('tmp'), [], 'a look that finds nothing new writes nothing');
    await scratch.create();
    await writeFile(join(scratch.path, 'pack'), 'x');
    assert.equal((await volume.list('tmp')).length, 1);
  }
  assert.deepEqual(await volume.list('tmp'), []);
});

test('a path that leads out of the volume is refused', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  for (const path of ['../outside', 'a/../../b', '/etc/passwd', 'a//b', '']) {
    await assert.rejects(volume.write(path, Buffer.from('x')), /is no path on the volume/);
    await assert.rejects(volume.read(path), /is no path on the volume/);
  }
  assert.deepEqual(await volume.list('tmp'), []);
});

test('what is not there reads as nothing and removes as nothing', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  assert.equal(await volume.read('no/file'), undefined);
  assert.equal(await volume.stat('no/file'), undefined);
  assert.deepEqual(await volume.list('no'), []);
  await volume.remove('no/file');
});

test('a folder that cannot be made is StorageFailed at once, also where the one above refuses without a reason', async () => {
  await assert.rejects(
    Volume.at('/proc/x/y').write('x', Buffer.from('x')),
    (error) => error instanceof SourceFault && error.reason === 'StorageFailed',
  );
});
