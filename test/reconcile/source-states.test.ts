// What a starting operator takes over from the volume: last good stays, whatever the disk does for a moment.
import assert from 'node:assert/strict';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readSourceCatalogue } from '../../catalogue/source-catalogue-reader.ts';
import { unreadable } from '../../catalogue/unreadable.ts';
import type { KubernetesObject } from '../../operator/kubernetes/cluster.ts';
import { readRecordHead } from '../../operator/publish/record.ts';
import { Volume } from '../../operator/publish/volume.ts';
import { SourceFault } from '../../operator/reasons.ts';
import { SourceStates } from '../../operator/reconcile/source-states.ts';
import { eventually } from '../fixtures/eventually.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';

async function published(): Promise<{ operator: OperatorFixture; object: KubernetesObject; path: string }> {
  const operator = await OperatorFixture.start();
  operator.cluster.configMap('rules', { 'skills__style__SKILL.md': skillText('style') });
  operator.cluster.source('rules', { spec: { url: 'configmap://rules' } });
  await eventually(
    'Ready',
    () => operator.cluster.condition('sources', 'rules', 'Ready'),
    (is) => is === 'True/Succeeded',
  );
  await operator.stop();
  const record = await readRecordHead(Volume.at(operator.volume), { namespace: 'default', name: 'rules' });
  return { operator, object: operator.cluster.sources.list()[0]!, path: join(operator.volume, record!.catalogue.path) };
}

test('a catalogue that cannot be read for a moment is StorageFailed, and is there again after it', async () => {
  const { operator, object, path } = await published();
  await using _ = operator;
  let failing = true;
  const states = new SourceStates(Volume.at(operator.volume), async (root, ref) => {
    if (!failing) return readSourceCatalogue(root, ref);
    throw unreadable(path, Object.assign(new Error('i/o error'), { code: 'EIO' }));
  });
  await assert.rejects(states.of(object), (error) => error instanceof SourceFault && error.reason === 'StorageFailed');
  failing = false;
  assert.equal((await states.of(object)).published?.addresses.artifacts[0]?.address, 'style');
});

test('a volume that is not there is StorageFailed, not a source that was never published', async () => {
  const { operator, object } = await published();
  await using _ = operator;
  const away = `${operator.volume}-away`;
  await rename(operator.volume, away);
  await writeFile(operator.volume, 'no folder');
  const states = new SourceStates(Volume.at(operator.volume));
  await assert.rejects(states.of(object), { name: 'SourceFault', reason: 'StorageFailed' });
  await rm(operator.volume);
  await rename(away, operator.volume);
  assert.equal((await states.of(object)).published?.addresses.artifacts[0]?.address, 'style');
});

test('a catalogue that is gone or damaged counts as none', async () => {
  const { operator, object, path } = await published();
  await using _ = operator;
  await writeFile(path, 'x');
  assert.equal((await new SourceStates(Volume.at(operator.volume)).of(object)).published, undefined);
  await rm(path);
  assert.equal((await new SourceStates(Volume.at(operator.volume)).of(object)).published, undefined);
});
