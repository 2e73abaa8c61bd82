// What is deleted from the volume, and above all what is not.
import assert from 'node:assert/strict';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { cataloguePath, historyPath, indexPath, sourceFolder } from '../../catalogue/layout.ts';
import { SegmentReader } from '../../catalogue/segment-reader.ts';
import { collect, type Named } from '../../operator/publish/collect.ts';
import { filesToDelete } from '../../operator/publish/collection-plan.ts';
import { publishIndex } from '../../operator/publish/gateway-publication.ts';
import { sourceMemory } from '../../operator/publish/record.ts';
import { Volume } from '../../operator/publish/volume.ts';
import {
  filesOf,
  gateway,
  indexContent,
  indexSource,
  publishSkills,
  readAll,
  served,
  source,
  temporaryFolder,
} from './support.ts';

const minute = 60_000;
const hour = 60 * minute;
const start = Date.now();

const all: Named = { source: () => true, gateway: () => true };
const withoutSource: Named = { ...all, source: () => false };

/** The volume at a time of the test's own: files get it as their age. */
class Clocked {
  readonly volume: Volume;
  now = start;
  constructor(volume: Volume) {
    this.volume = volume;
  }

  async publish(version: string): Promise<string> {
    const before = await filesOf(this.volume.root);
    const record = await publishSkills(this.volume, { loki: { 'SKILL.md': version } }, version);
    await publishIndex(this.volume, gateway, indexContent([indexSource(source, record)]), this.now);
    for (const [path, { inode }] of Object.entries(await filesOf(this.volume.root))) {
      if (before[path]?.inode !== inode) await utimes(join(this.volume.root, path), this.now / 1000, this.now / 1000);
    }
    return record.catalogue.path;
  }

  async collect(named: Named = all): Promise<string[]> {
    return (await collect(this.volume, named, this.now)).deleted;
  }

  async has(path: string): Promise<boolean> {
    return (await this.volume.stat(path)) !== undefined;
  }
}

async function onVolume(action: (clocked: Clocked) => Promise<void>): Promise<void> {
  await using folder = await temporaryFolder();
  await action(new Clocked(Volume.at(folder.path)));
}

test('what is served is never collected, however old it is', () =>
  onVolume(async (clocked) => {
    await clocked.publish('1');
    clocked.now += 1000 * hour;
    assert.deepEqual(await clocked.collect(), []);
    assert.deepEqual(await served(clocked.volume.root), { 'pack/loki/SKILL.md': '1' });
  }));

test('old content stays readable for two generations, and is collected with its segments after that', () =>
  onVolume(async (clocked) => {
    const paths: string[] = [];
    for (const version of ['1', '2', '3', '4']) {
      clocked.now += 2 * hour;
      paths.push(await clocked.publish(version));
    }
    clocked.now += 2 * hour;
    await clocked.collect();
    assert.deepEqual(await Promise.all(paths.map((path) => clocked.has(path))), [false, true, true, true]);
    const segments = (await clocked.volume.list(`${sourceFolder('flow', 'pack')}/segments`)).length;
    assert.equal(segments, 6, 'three segments and their indexes stay');
    assert.deepEqual(await served(clocked.volume.root), { 'pack/loki/SKILL.md': '4' });
  }));

test('old content stays readable for an hour after it was replaced, however many generations followed', () =>
  onVolume(async (clocked) => {
    const first = await clocked.publish('1');
    clocked.now += 10 * hour;
    for (const version of ['2', '3', '4', '5']) {
      await clocked.publish(version);
      clocked.now += minute;
    }
    await clocked.collect();
    assert.equal(await clocked.has(first), true, 'it was current until a few minutes ago, its file is ten hours old');
    clocked.now += hour;
    await clocked.collect();
    assert.equal(await clocked.has(first), false);
  }));

test('a reader with the catalogue of an hour ago reads every file of it while it is collected', () =>
  onVolume(async (clocked) => {
    await clocked.publish('1');
    const reader = new SegmentReader(clocked.volume.root);
    const { catalogues } = await readAll(clocked.volume.root, reader);
    for (let version = 2; version < 20; version++) {
      clocked.now += 3 * minute;
      await clocked.publish(String(version));
      await clocked.collect();
      const digest = catalogues[0]!.artifacts[0]!.files[0]!.digest;
      assert.equal((await reader.read(digest)).toString(), '1');
    }
    reader.close();
  }));

test('a file that was just written and that nothing names yet is left alone', () =>
  onVolume(async (clocked) => {
    await clocked.publish('1');
    const stray = cataloguePath('flow', 'pack', `sha256:${'a'.repeat(64)}`);
    const path = join(clocked.volume.root, stray);
    await writeFile(path, '');
    await utimes(path, clocked.now / 1000, clocked.now / 1000);
    clocked.now += 59 * minute;
    assert.deepEqual(await clocked.collect(), []);
    clocked.now += 2 * minute;
    assert.deepEqual(await clocked.collect(), [stray]);
  }));

test('what a catalogue that was just written names is left alone, and so is a segment that was just written', () => {
  const file = (path: string, age: number) => ({ path, size: 1, modified: start - age });
  const sources = [
    {
      named: true,
      catalogues: [{ ...file('new.jsonl', minute), segments: ['sha256:a'] }],
      segments: [
        { ...file('a.segment', 9 * hour), digest: 'sha256:a' },
        { ...file('b.segment', 9 * hour), digest: 'sha256:b' },
        { ...file('c.segment', minute), digest: 'sha256:c' },
      ],
    },
  ];
  assert.deepEqual(filesToDelete({ gateways: [], sources }, start), ['b.segment']);
});

test('a source that no custom resource names loses its record at once, its content when it was not served for an hour', () =>
  onVolume(async (clocked) => {
    const path = await clocked.publish('1');
    await sourceMemory(clocked.volume, source).save(Buffer.from('trees'));
    clocked.now += 5 * hour;
    assert.deepEqual(await clocked.collect(withoutSource), [
      'sources/flow/pack/record.json',
      'sources/flow/pack/upstream',
    ]);
    assert.deepEqual(await served(clocked.volume.root), { 'pack/loki/SKILL.md': '1' }, 'the gateway still names it');

    await publishIndex(clocked.volume, gateway, indexContent([]), clocked.now);
    clocked.now += 59 * minute;
    await clocked.collect(withoutSource);
    assert.equal(await clocked.has(path), true);
    clocked.now += 2 * minute;
    await clocked.collect(withoutSource);
    assert.deepEqual(await clocked.volume.list('sources'), []);
    assert.deepEqual(await served(clocked.volume.root), {});
  }));

test('a gateway that no custom resource names is removed, and holds back no content', () =>
  onVolume(async (clocked) => {
    const first = await clocked.publish('1');
    const second = await clocked.publish('2');
    clocked.now += 2 * hour;
    await clocked.collect({ ...all, gateway: () => false });
    assert.deepEqual(await clocked.volume.list('gateways'), []);
    assert.deepEqual(
      [await clocked.has(first), await clocked.has(second)],
      [false, true],
      'the record names the second',
    );
  }));

test('where it cannot be told what a gateway serves, nothing of its namespace is deleted', () =>
  onVolume(async (clocked) => {
    const paths: string[] = [];
    for (const version of ['1', '2', '3', '4', '5']) paths.push(await clocked.publish(version));
    clocked.now += 2 * hour;
    const { volume } = clocked;
    const history = await volume.read(historyPath('flow', 'agents'));
    await volume.write(indexPath('flow', 'agents'), Buffer.from('{'));
    await volume.write(historyPath('flow', 'agents'), Buffer.from('{'));
    assert.deepEqual(await clocked.collect(), []);
    await volume.write(historyPath('flow', 'agents'), history!);
    await clocked.collect();
    assert.deepEqual(await Promise.all(paths.map((path) => clocked.has(path))), [false, false, true, true, true]);
  }));

test('a damaged record or history costs no served content', () =>
  onVolume(async (clocked) => {
    await clocked.publish('1');
    await clocked.volume.write('sources/flow/pack/record.json', Buffer.from('{'));
    await clocked.volume.write(historyPath('flow', 'agents'), Buffer.from('{'));
    clocked.now += 5 * hour;
    assert.deepEqual(await clocked.collect(), []);
    assert.deepEqual(await served(clocked.volume.root), { 'pack/loki/SKILL.md': '1' });
  }));

test('a history stays small however often a gateway is published', () =>
  onVolume(async (clocked) => {
    for (let version = 0; version < 30; version++) {
      clocked.now += 20 * minute;
      await clocked.publish(String(version));
    }
    const history = JSON.parse(String(await clocked.volume.read(historyPath('flow', 'agents'))));
    assert.ok(Object.keys(history.catalogues).length <= 5);
  }));

test('what a dead writer left in tmp is swept after an hour, and not before', () =>
  onVolume(async (clocked) => {
    const path = join(clocked.volume.root, 'tmp', 'left');
    await clocked.volume.checkWritable();
    await writeFile(path, 'x');
    clocked.now = Date.now() + 59 * minute;
    await clocked.collect();
    assert.deepEqual(await clocked.volume.list('tmp'), ['left']);
    await utimes(path, (start - 2 * hour) / 1000, (start - 2 * hour) / 1000);
    await clocked.collect();
    assert.deepEqual(await clocked.volume.list('tmp'), []);
  }));

test('collecting says how many bytes of content remain', () =>
  onVolume(async (clocked) => {
    await clocked.publish('1');
    const { bytes } = await collect(clocked.volume, all, clocked.now);
    const files = Object.entries(await filesOf(clocked.volume.root));
    const content = files.filter(([path]) => /\.(jsonl|segment|index)$/.test(path));
    assert.equal(
      bytes,
      content.reduce((sum, [, { size }]) => sum + Number(size), 0),
    );
  }));
