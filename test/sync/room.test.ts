// How long a copy keeps what is no longer needed, and what it does after somebody took a file away.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { whatIsThere } from '../../sync/copy.ts';
import { Folder } from '../../sync/folder.ts';
import { Room } from '../../sync/room.ts';
import { filesOf, publish, served } from '../volume/support.ts';
import { versionOf } from '../volume/versions.ts';
import { mebibyte, name, namespace, Publishing } from './support.ts';

let publishing: Publishing;
before(async () => {
  publishing = await Publishing.start();
});
after(async () => {
  await publishing?.[Symbol.asyncDispose]();
});

test('what is no longer needed stays five minutes, for a server that has not heard of it, and what is needed for ever', async () => {
  const root = join(publishing.path, 'kept');
  await publish(publishing.volume, versionOf(0), 'v0');
  await publishing.copyTo(root);
  const first = Object.keys(await filesOf(root));
  await publish(publishing.volume, versionOf(1), 'v1');
  await publishing.copyTo(root);
  const folder = new Folder(root);
  let now = 0;
  const room = new Room({ folder, limit: 64 * mebibyte, now: () => now });
  const { needs } = (await whatIsThere(folder, namespace, name))!;
  room.needs(needs);
  const swept = async (at: number): Promise<string[]> => {
    now = at;
    await room.sweep();
    return Object.keys(await filesOf(root));
  };
  for (const at of [0, 299_000]) {
    const there = await swept(at);
    for (const path of first) assert.ok(there.includes(path), `${path} after ${at} ms`);
  }
  assert.deepEqual((await swept(300_000)).toSorted(), [...needs].toSorted());
  assert.deepEqual((await swept(900_000)).toSorted(), [...needs].toSorted());
  assert.equal((await served(root))['pack/first/SKILL.md'], 'first v1\n');
});

test('a folder that misses a file of its catalogue gets it again', async () => {
  const root = join(publishing.path, 'mended');
  await publish(publishing.volume, versionOf(2), 'v2');
  await publishing.copyTo(root);
  for (const end of ['.segment', '.index', '.jsonl', 'index.json']) {
    const path = Object.keys(await filesOf(root)).find((one) => one.endsWith(end))!;
    await rm(join(root, path));
    await publishing.copyTo(root);
    assert.deepEqual(await served(root), await served(publishing.volume.root), end);
  }
});

test('a folder of another catalogue, or of none, is filled', async () => {
  const root = join(publishing.path, 'none/below');
  assert.equal(await whatIsThere(new Folder(root), namespace, name), undefined);
  await publishing.copyTo(root);
  assert.deepEqual(await served(root), await served(publishing.volume.root));
  assert.equal(await whatIsThere(new Folder(root), namespace, 'other'), undefined);
});
