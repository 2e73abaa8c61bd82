// What a publication writes, in which order, and what it leaves alone.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { indexFormat } from '../../catalogue/index-file.ts';
import { readIndex } from '../../catalogue/index-reader.ts';
import { indexPath } from '../../catalogue/layout.ts';
import { readSourceCatalogue } from '../../catalogue/source-catalogue-reader.ts';
import { publishIndex } from '../../operator/publish/gateway-publication.ts';
import { publishSource } from '../../operator/publish/source-publication.ts';
import { Volume } from '../../operator/publish/volume.ts';
import type { SourceFault } from '../../operator/reasons.ts';
import { filesWithSteps, type Step } from './steps.ts';
import {
  fileRow,
  filesOf,
  gateway,
  harvestOf,
  indexContent,
  indexSource,
  publish,
  publishSkills,
  served,
  source,
  temporaryFolder,
} from './support.ts';

const skills = { loki: { 'SKILL.md': '---\nname: loki\n---\n', 'a b.txt': Buffer.from([0, 0xff, 0x0d, 0x0a]) } };

test('what a source publishes is read back byte for byte', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const { generation, changed } = await publish(volume, skills, 'main@sha1:1');
  assert.deepEqual({ generation, changed }, { generation: 1, changed: true });
  assert.deepEqual(await served(folder.path), {
    'pack/loki/SKILL.md': '---\nname: loki\n---\n',
    'pack/loki/a b.txt': Buffer.from([0, 0xff, 0x0d, 0x0a]).toString(),
  });
  const index = await readIndex(folder.path, gateway.namespace, gateway.name);
  assert.equal(index.format, indexFormat);
  assert.equal(index.sources[0]?.revision, 'main@sha1:1');
  const { header, artifacts, files, problems } = await readSourceCatalogue(folder.path, index.sources[0]!.catalogue!);
  const harvest = harvestOf(skills);
  assert.deepEqual({ artifacts, files, problems }, { artifacts: harvest.artifacts, files: [], problems: [] });
  assert.equal(header.files, 2);
  assert.equal(header.size, harvest.size);
});

test('what a prompt takes and how it is called by people is read back as it was', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const taken = [
    { name: 'who', description: 'Whom to greet.', required: true },
    { name: 'greeting', required: false, default: 'Hello' },
  ];
  const harvest = harvestOf(skills);
  const prompt = { ...harvest.artifacts[0]!, kind: 'prompt', title: 'A greeting', main: 'hello.md' };
  harvest.artifacts = [{ ...prompt, prompt: { dialect: 'placeholders', arguments: taken } }];
  const { catalogue } = await publishSource(volume, source, { harvest, revision: 'v1', segments: [] });
  assert.deepEqual((await readSourceCatalogue(folder.path, catalogue)).artifacts, harvest.artifacts);
});

test('index.json is written last, and everything is synced before it is renamed', async () => {
  await using folder = await temporaryFolder();
  const steps: Step[] = [];
  const volume = Volume.at(
    folder.path,
    filesWithSteps((step) => void steps.push(step)),
  );
  steps.length = 0;
  await publish(volume, skills, 'v1');
  const renames = steps.filter(({ action }) => action === 'rename').map(({ path }) => path);
  assert.equal(renames.at(-1), join(folder.path, indexPath(gateway.namespace, gateway.name)));
  assert.deepEqual(
    renames.map((path) => basename(path).replace(/^[0-9a-f]{64}/, '*')),
    ['*.index', '*.segment', '*.jsonl', 'record.json', 'history.json', 'index.json'],
  );
  for (const [at, { action, path }] of steps.entries()) {
    if (action !== 'rename') continue;
    const before = steps.slice(0, at).findLast((step) => step.action !== 'mkdir' && step.action !== 'sync');
    assert.equal(before?.action, 'datasync', `${path} is synced before it is renamed`);
    assert.equal(steps[at + 1]?.action, 'sync', `the folder of ${path} is synced after it`);
    assert.equal(steps[at + 1]?.path, join(path, '..'));
  }
});

test('a writer that was held up before it replaces index.json counts on from what another one has published meanwhile', async () => {
  await using folder = await temporaryFolder();
  const other = Volume.at(folder.path);
  await publish(other, skills, 'v1');
  let held = true;
  const late = Volume.at(
    folder.path,
    filesWithSteps(async ({ action, path }) => {
      if (!held || action !== 'rename' || basename(path) !== 'history.json') return;
      held = false;
      await publish(other, { loki: { 'SKILL.md': 'two' } }, 'v2');
      await publish(other, { loki: { 'SKILL.md': 'three' } }, 'v3');
    }),
  );
  const { generation } = await publish(late, { loki: { 'SKILL.md': 'late' } }, 'late');
  assert.equal(held, false);
  assert.equal(generation, 4);
  assert.equal((await readIndex(folder.path, gateway.namespace, gateway.name)).generation, 4);
});

test('a second publication of the same content touches no file', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  await publish(volume, skills, 'v1');
  const before = await filesOf(folder.path);
  const again = await publish(volume, skills, 'v1');
  assert.deepEqual(await filesOf(folder.path), before);
  assert.deepEqual({ generation: again.generation, changed: again.changed }, { generation: 1, changed: false });
});

test('a changed file costs that file, not the pack', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const large = Object.fromEntries(
    Array.from({ length: 50 }, (_, number) => [`skill-${number}`, { 'SKILL.md': `${number} ${'x'.repeat(20_000)}` }]),
  );
  await publish(volume, large, 'v1');
  const before = await filesOf(folder.path);
  await publish(volume, { ...large, 'skill-7': { 'SKILL.md': 'changed' } }, 'v2');
  const after = await filesOf(folder.path);
  const added = Object.keys(after).filter((path) => !(path in before) && path.endsWith('.segment'));
  assert.deepEqual(
    added.map((path) => after[path]?.size),
    [BigInt('changed'.length)],
  );
  assert.equal((await served(folder.path))['pack/skill-7/SKILL.md'], 'changed');
  assert.equal((await served(folder.path))['pack/skill-8/SKILL.md'], large['skill-8']?.['SKILL.md']);
});

test('the same harvest gives the same catalogue, whatever order its fields were set in', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const harvest = harvestOf(skills);
  const turned = {
    ...harvest,
    artifacts: harvest.artifacts.map((row) => Object.fromEntries(Object.entries(row).reverse()) as typeof row),
  };
  const first = await publishSource(volume, source, { harvest, revision: 'v1', segments: [] });
  const second = await publishSource(volume, source, { harvest: turned, revision: 'v1', segments: [] });
  assert.deepEqual(second, first);
});

test('the artifact digest moves with the content alone, not with the revision or a problem', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const harvest = harvestOf(skills);
  const problems = [
    { row: 'problem', path: 'x', line: 3, severity: 'error', reason: 'Empty', message: 'is empty' } as const,
  ];
  const digest = async (changed: Partial<typeof harvest>, revision: string) =>
    (await publishSource(volume, source, { harvest: { ...harvest, ...changed }, revision, segments: [] }))
      .artifactDigest;
  const first = await digest({}, 'v1');
  assert.equal(await digest({ problems }, 'v2'), first);
  const files = [{ row: 'file', ...fileRow('shared/x.md', 'x') } as const];
  assert.notEqual(await digest({ files }, 'v1'), first);
  assert.notEqual(await digest({ artifacts: [] }, 'v1'), first);
});

test('a skill with very many files is written in short lines and read back as one artifact', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const files = Object.fromEntries(
    Array.from({ length: 1000 }, (_, number) => [`${'f'.repeat(100)}-${number}`, `${number}`]),
  );
  const harvest = harvestOf({
    before: { 'SKILL.md': 'b' },
    many: { 'SKILL.md': 'm', ...files },
    after: { 'SKILL.md': 'a' },
  });
  const { catalogue } = await publishSource(volume, source, { harvest, revision: 'v1', segments: [] });
  const lines = (await readFile(join(folder.path, catalogue.path), 'utf8')).split('\n');
  assert.ok(Math.max(...lines.map(({ length }) => length)) < 100_000);
  const read = await readSourceCatalogue(folder.path, catalogue);
  assert.deepEqual(read.artifacts, harvest.artifacts);
  const again = await readSourceCatalogue(folder.path, catalogue, { reuse: read });
  assert.equal(again.artifacts[1], read.artifacts[1]);
  assert.equal(again.artifacts[2], read.artifacts[2]);
});

test('each index.json of a gateway has a higher generation than the ones before', async (t) => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const path = join(folder.path, indexPath(gateway.namespace, gateway.name));
  const instructions = async (text: string) =>
    (await publishIndex(volume, gateway, { ...indexContent([]), instructions: text })).generation;
  assert.equal(await instructions('one'), 1);
  assert.equal(await instructions('two'), 2);
  await t.test('after one of a newer format, which is replaced', async () => {
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), format: 99, generation: 7 }));
    assert.equal(await instructions('two'), 8);
  });
  await t.test('after one that was damaged, which is replaced even when nothing changed', async () => {
    await writeFile(path, '{"format": 1, "gener');
    assert.equal(await instructions('two'), 9);
    assert.equal((await readIndex(folder.path, gateway.namespace, gateway.name)).generation, 9);
  });
  await t.test('after one that was removed', async () => {
    await volume.remove(indexPath(gateway.namespace, gateway.name));
    assert.equal(await instructions('two'), 10);
  });
});

test('an index that names a catalogue which is not on the volume is not published', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const record = await publishSkills(volume, skills, 'v1');
  await volume.remove(record.catalogue.path);
  const publishing = publishIndex(volume, gateway, indexContent([indexSource(source, record)]));
  await assert.rejects(publishing, (error: SourceFault) => {
    assert.equal(error.reason, 'StorageFailed');
    assert.match(error.message, new RegExp(record.catalogue.path));
    return true;
  });
  assert.deepEqual(await volume.list('gateways/flow/agents'), []);
});
