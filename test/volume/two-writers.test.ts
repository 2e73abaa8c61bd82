// Two operators that both believe they are the leader.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SegmentReader } from '../../catalogue/segment-reader.ts';
import { Volume } from '../../operator/publish/volume.ts';
import { publish, readAll, temporaryFolder } from './support.ts';
import { versionOf, versionServed } from './versions.ts';

test('two writers at once corrupt nothing: every reading is one whole version of one of them', async () => {
  await using folder = await temporaryFolder();
  const root = folder.path;
  await publish(Volume.at(root), versionOf(0), 'v0');
  const rounds = 40;
  let writing = 2;
  const writer = async (first: number) => {
    // Volumes of their own, so that nothing in this process keeps the two apart.
    const volume = Volume.at(root);
    for (let round = 0; round < rounds; round++) {
      const version = first + 2 * round;
      await publish(volume, versionOf(version), `v${version}`);
    }
    writing -= 1;
  };
  const reader = new SegmentReader(root);
  const seen = new Set<number>();
  const reading = async () => {
    while (writing > 0) seen.add(versionServed(await readAll(root, reader)));
  };
  await Promise.all([writer(1), writer(2), reading()]);
  const last = versionServed(await readAll(root, reader));
  assert.ok(last > 2 * rounds - 2, `one of the two last versions is served, not v${last}`);
  assert.ok(seen.size > 5, `the reader saw ${seen.size} versions`);
  reader.close();
  assert.deepEqual(await Volume.at(root).list('tmp'), []);
});
