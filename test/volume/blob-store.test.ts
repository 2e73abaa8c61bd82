// The blobs of a source over many looks: what is written, what is kept, what is copied.
import assert from 'node:assert/strict';
import * as nodeFiles from 'node:fs/promises';
import { appendFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { digestOf } from '../../catalogue/digest.ts';
import { segmentPath, segmentsFolder } from '../../catalogue/layout.ts';
import { SegmentReader } from '../../catalogue/segment-reader.ts';
import type { SegmentRef } from '../../catalogue/source-catalogue.ts';
import { openBlobs } from '../../operator/publish/blob-store.ts';
import { mostSegments } from '../../operator/publish/segment-plan.ts';
import { type Files, Volume } from '../../operator/publish/volume.ts';
import type { SourceFault } from '../../operator/reasons.ts';
import { filesWithSteps } from './steps.ts';
import { source, temporaryFolder } from './support.ts';

/** One look: everything is added, and everything is live. */
async function look(volume: Volume, segments: readonly SegmentRef[], blobs: readonly string[]): Promise<SegmentRef[]> {
  await using store = await openBlobs(volume, source, segments);
  const live: string[] = [];
  for (const blob of blobs) live.push(await store.add(Buffer.from(blob)));
  return await store.seal(live);
}

async function assertReadable(
  volume: Volume,
  segments: readonly SegmentRef[],
  blobs: readonly string[],
): Promise<void> {
  const reader = new SegmentReader(volume.root);
  await reader.use([{ ...source, segments }]);
  for (const blob of blobs) assert.equal((await reader.read(digestOf(blob))).toString(), blob);
  reader.close();
}

const total = (segments: readonly SegmentRef[]) => segments.reduce((sum, { size }) => sum + size, 0);

test('ten thousand blobs go into one segment, each once', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const blobs = Array.from({ length: 10_000 }, (_, number) =>
    `blob ${number % 9_000} ${'x'.repeat(number % 500)}`.slice(0, 300),
  );
  const distinct = new Set(blobs);
  const segments = await look(volume, [], blobs);
  assert.equal(segments.length, 1);
  assert.equal(segments[0]?.blobs, distinct.size);
  assert.equal(
    total(segments),
    [...distinct].reduce((sum, blob) => sum + blob.length, 0),
  );
  await assertReadable(
    volume,
    segments,
    [...distinct].filter((_, number) => number % 97 === 0),
  );
});

test('blobs larger than what is written at once, and empty ones, are kept whole', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const blobs = ['', 'a', 'b'.repeat(3_000_000), 'c', 'd'.repeat(1024 * 1024), 'e'.repeat(1024 * 1024 + 1), 'f'];
  await assertReadable(volume, await look(volume, [], blobs), blobs);
  await assertReadable(volume, await look(volume, [], ['']), ['']);
});

test('a blob can be read in the look that adds it', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const published = await look(volume, [], ['old']);
  await using store = await openBlobs(volume, source, published);
  const blobs = ['new', 'n'.repeat(2_000_000), ''];
  for (const blob of blobs) await store.add(Buffer.from(blob));
  for (const blob of ['old', ...blobs]) {
    assert.equal(store.has(digestOf(blob)), true);
    assert.equal((await store.read(digestOf(blob))).toString(), blob);
  }
  assert.equal(store.has(digestOf('never added')), false);
});

test('a look that adds nothing new writes nothing', async () => {
  await using folder = await temporaryFolder();
  const actions: string[] = [];
  const volume = Volume.at(
    folder.path,
    filesWithSteps(({ action }) => void actions.push(action)),
  );
  const segments = await look(volume, [], ['a', 'b']);
  actions.length = 0;
  assert.deepEqual(await look(volume, segments, ['b', 'a']), segments);
  assert.deepEqual(actions, []);
});

test('a segment with nothing live is left out, one that is mostly dead is copied into the new one', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const first = await look(volume, [], ['aaaa', 'bbbb', 'cccc', 'dddd']);
  const half = await look(volume, first, ['aaaa', 'bbbb', 'new']);
  assert.deepEqual(half.slice(0, 1), first, 'half of it is live: it stays');
  const less = await look(volume, half, ['aaaa', 'new']);
  assert.equal(
    less.some(({ digest }) => digest === first[0]?.digest),
    false,
    'a quarter is live: it is copied',
  );
  assert.equal(total(less), 'aaaanew'.length);
  await assertReadable(volume, less, ['aaaa', 'new']);
  assert.deepEqual(await look(volume, less, []), []);
  const empty = await look(volume, [], ['']);
  assert.deepEqual(await look(volume, empty, ['a']), await look(volume, [], ['a']), 'an empty blob is dead too');
});

test('a source that changes a little for ever has a bounded number of segments', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  let segments: SegmentRef[] = [];
  const blobs: string[] = [];
  for (let number = 0; number < 50; number++) {
    blobs.push(`blob ${number}`);
    segments = await look(volume, segments, blobs);
    assert.ok(segments.length <= mostSegments);
  }
  assert.equal(total(segments), blobs.join('').length);
  await assertReadable(volume, segments, blobs);
});

test('what a look discards leaves nothing behind', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const store = await openBlobs(volume, source, []);
  await store.add(Buffer.alloc(2_000_000));
  assert.equal((await volume.list('tmp')).length, 1);
  await store.discard();
  await store.discard();
  assert.deepEqual(await volume.list('tmp'), []);
  assert.deepEqual(await volume.list(segmentsFolder(source.namespace, source.name)), []);
});

test('a live blob that is nowhere is a fault, not a hole in the catalogue', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  await using store = await openBlobs(volume, source, []);
  await store.add(Buffer.from('a'));
  await assert.rejects(store.seal([digestOf('a'), digestOf('b')]), { reason: 'StorageFailed' });
});

test('segments that are missing or cut short count as not there, so that they are fetched again', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const first = await look(volume, [], ['first']);
  const second = await look(volume, first, ['first', 'second']);
  const third = await look(volume, second, ['first', 'second', 'third']);
  const path = (ref: SegmentRef) => join(folder.path, segmentPath(source.namespace, source.name, ref.digest));
  await unlink(path(third[0]!));
  await appendFile(path(third[1]!), 'x');
  await using store = await openBlobs(volume, source, third);
  assert.deepEqual(
    ['first', 'second', 'third'].map((blob) => store.has(digestOf(blob))),
    [false, false, true],
  );
});

test('a system that writes less than it was given is written to until everything is there', async () => {
  await using folder = await temporaryFolder();
  const short: Files = {
    ...nodeFiles,
    open: async (...parameters: Parameters<Files['open']>) => {
      const handle = await nodeFiles.open(...parameters);
      const write = handle.write.bind(handle) as (...all: unknown[]) => Promise<unknown>;
      const shortWrite = (bytes: Uint8Array, offset: number, length: number, position: number) =>
        write(bytes, offset, Math.min(length, 1000), position);
      return Object.assign(handle, { write: shortWrite });
    },
  } as Files;
  const volume = Volume.at(folder.path, short);
  const blobs = ['x'.repeat(12_345), 'y'];
  const segments = await look(volume, [], blobs);
  await assertReadable(volume, segments, blobs);
  const { size } = await stat(join(folder.path, segmentPath(source.namespace, source.name, segments[0]!.digest)));
  assert.equal(size, 12_346);
});

test('a damaged blob stops a look with a fault that says what to remove', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const segments = await look(volume, [], ['aaaa']);
  const path = segmentPath(source.namespace, source.name, segments[0]!.digest);
  await volume.write(path, Buffer.from('aaax'));
  await using store = await openBlobs(volume, source, segments);
  await assert.rejects(store.read(digestOf('aaaa')), (error: SourceFault) => {
    assert.equal(error.reason, 'StorageFailed');
    assert.match(error.message, /remove the damaged segment/);
    return true;
  });
});
