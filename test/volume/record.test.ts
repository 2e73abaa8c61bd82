// The operator's record of a source, and what its backend remembers, over restarts.
import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordPath, segmentPath } from '../../catalogue/layout.ts';
import { readRecord, type SourceRecord, sourceMemory, writeRecord } from '../../operator/publish/record.ts';
import { Volume } from '../../operator/publish/volume.ts';
import { publishSkills, source, temporaryFolder } from './support.ts';

async function published(root: string): Promise<{ volume: Volume; record: SourceRecord; path: string }> {
  const volume = Volume.at(root);
  const digest = `sha256:${'a'.repeat(64)}`;
  const record: SourceRecord = {
    ...(await publishSkills(volume, { loki: { 'SKILL.md': 'one' } }, 'v1')),
    settings: { library: 'pack', tags: ['ops'], refreshSeconds: 300 },
    contents: new Map([
      ['sha1:1', { digest, size: 3, text: true, lfsPointer: false }],
      ['sha1:2', { tooLarge: 5_000_000_000 }],
    ]),
  };
  await writeRecord(volume, source, record);
  return { volume, record, path: join(root, recordPath(source.namespace, source.name)) };
}

test('a record is read back as it was written', async () => {
  await using folder = await temporaryFolder();
  const { record } = await published(folder.path);
  assert.deepEqual(await readRecord(Volume.at(folder.path), source), record);
});

test('a record that says the same again is not written again', async () => {
  await using folder = await temporaryFolder();
  const { volume, record, path } = await published(folder.path);
  const before = await stat(path);
  await writeRecord(volume, source, record);
  assert.equal((await stat(path)).ino, before.ino);
});

test('a record that cannot be trusted is none', async (t) => {
  await using folder = await temporaryFolder();
  const { volume, record, path } = await published(folder.path);
  const whole = await readFile(path, 'utf8');
  const cases: [string, string][] = [
    ['cut short', whole.slice(0, 100)],
    ['empty', ''],
    ['of another format', whole.replace('"format":1', '"format":2')],
    ['without a field', whole.replace('"uid"', '"gid"')],
    ['with a damaged line', `${whole}["sha1:3",{"digest":"x"}]\n`],
  ];
  for (const [what, text] of cases) {
    await t.test(what, async () => {
      await writeFile(path, text);
      assert.equal(await readRecord(volume, source), undefined);
    });
  }
  await writeFile(path, whole);
  await t.test('whole', async () => assert.deepEqual(await readRecord(volume, source), record));
  await t.test('when the catalogue it names is gone', async () => {
    const bytes = await volume.read(record.catalogue.path);
    await volume.remove(record.catalogue.path);
    assert.equal(await readRecord(volume, source), undefined);
    await volume.write(record.catalogue.path, bytes!);
  });
  await t.test('when a segment it names is gone', async () => {
    await volume.remove(segmentPath(source.namespace, source.name, record.segments[0]!.digest));
    assert.equal(await readRecord(volume, source), undefined);
  });
  await t.test('when there is none', async () => {
    assert.equal(await readRecord(volume, { ...source, name: 'other' }), undefined);
  });
});

test('what a backend remembers is there after a restart, and nothing before the first time', async () => {
  await using folder = await temporaryFolder();
  assert.equal(await sourceMemory(Volume.at(folder.path), source).load(), undefined);
  await sourceMemory(Volume.at(folder.path), source).save(Buffer.from('trees'));
  assert.equal(String(await sourceMemory(Volume.at(folder.path), source).load()), 'trees');
});
