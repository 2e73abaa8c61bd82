// Sources whose spec changes back and forth, and those whose files on the volume or whose Secret cannot be read.
import assert from 'node:assert/strict';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordPath } from '../../catalogue/layout.ts';
import { KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';
import { eventually } from '../fixtures/eventually.ts';
import { MemoryCluster } from '../fixtures/memory-cluster.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';

const url = 'configmap://rules';
const ready = (operator: OperatorFixture, wanted = 'True/Succeeded'): Promise<unknown> =>
  eventually(
    `Ready=${wanted}`,
    () => operator.cluster.condition('sources', 'rules', 'Ready'),
    (is) => is === wanted,
  );

function clusterWithRules(): MemoryCluster {
  const cluster = new MemoryCluster();
  cluster.configMap('rules', { 'skills__style__SKILL.md': skillText('style') });
  cluster.source('rules', { spec: { url } });
  cluster.gateway('agents');
  return cluster;
}

test('a wrong spec that is put back as it was is Ready again', async () => {
  await using operator = await OperatorFixture.start({}, clusterWithRules());
  await ready(operator);
  operator.cluster.source('rules', { spec: { url: 'ftp://example.com/x' } });
  await ready(operator, 'False/InvalidSpec');
  operator.cluster.source('rules', { spec: { url } });
  await ready(operator);
  assert.equal(operator.cluster.condition('sources', 'rules', 'Stalled'), undefined);
});

test('a refresh that is added to a source holds from then on', async () => {
  await using operator = await OperatorFixture.start({}, clusterWithRules());
  await ready(operator);
  operator.cluster.source('rules', { spec: { url, refresh: '5s' } });
  operator.cluster.configMapData.set('rules', { 'skills__tone__SKILL.md': skillText('tone') });
  const served = async () => (await operator.catalogue('rules'))?.artifacts.map(({ address }) => address).join();
  await eventually('what changed', served, (list) => list === 'tone', 8);
  operator.cluster.configMapData.set('rules', { 'skills__voice__SKILL.md': skillText('voice') });
  await eventually('what changed next', served, (list) => list === 'voice', 8);
});

test('a record that cannot be read is StorageFailed, keeps what the status tells of, and recovers by itself', async () => {
  await using operator = await OperatorFixture.start({}, clusterWithRules());
  await ready(operator);
  const { artifact, counts } = operator.cluster.status('sources', 'rules');
  const index = await eventually(
    'the index',
    () => operator.index(),
    ({ sources }) => sources[0]?.catalogue !== undefined,
  );
  await operator.stop();
  const record = join(operator.volume, recordPath('default', 'rules'));
  await rename(record, `${record}.away`);
  await mkdir(record);
  await operator.start();
  await ready(operator, 'False/StorageFailed');
  assert.deepEqual(operator.cluster.status('sources', 'rules').artifact, artifact);
  assert.deepEqual(operator.cluster.status('sources', 'rules').counts, counts);
  await eventually(
    'the gateway says so too',
    () => operator.cluster.condition('gateways', 'agents', 'Ready'),
    (is) => is === 'False/StorageFailed',
  );
  assert.deepEqual(await operator.index(), index);
  await rm(record, { recursive: true });
  await rename(`${record}.away`, record);
  await ready(operator);
  assert.deepEqual(operator.cluster.status('sources', 'rules').artifact, artifact);
});

test('a Secret that the operator may not read is told in the status, with what to allow', async () => {
  const cluster = new MemoryCluster();
  cluster.readSecret = async () => {
    throw new KubernetesError('forbidden', 'GET a Secret: the API server answered 403', { status: 403 });
  };
  cluster.source('rules', { spec: { url: 'github://org/repo', secretRef: { name: 'token' } } });
  await using operator = await OperatorFixture.start({}, cluster);
  await ready(operator, 'False/SecretNotFound');
  const { message } = operator.cluster.status('sources', 'rules').conditions[0];
  assert.match(message, /may not read Secret "token" in namespace "default": allow get on secrets/);
});

test('what was lost from the volume is published again at the next look, and served with the same bytes', async () => {
  await using operator = await OperatorFixture.start({}, clusterWithRules());
  await ready(operator);
  const text = () => operator.read('rules', 'style').then(String);
  await eventually('the skill', text, (got) => got === skillText('style'));
  for (const lost of ['sources', 'gateways', 'tmp']) await rm(join(operator.volume, lost), { recursive: true });
  operator.cluster.source('rules', { spec: { url, refresh: '1h' } });
  await eventually('the skill again', text, (got) => got === skillText('style'));
  await ready(operator);
  const warned = operator.cluster.events.filter(({ type, object }) => type === 'Warning' && object === 'rules');
  assert.equal(warned.length, 0, 'it is no fault of the source');
});

test('a request in more characters than a status holds is answered once, by its beginning', async () => {
  await using operator = await OperatorFixture.start({}, clusterWithRules());
  await ready(operator);
  operator.cluster.source('rules', { spec: { url }, annotations: { 'lyceum.dev/requestedAt': '9'.repeat(300) } });
  const handled = () => operator.cluster.status('sources', 'rules').lastHandledReconcileAt;
  await eventually('the request', handled, (at) => at === `${'9'.repeat(255)}…`);
  const gateway = () => operator.cluster.condition('gateways', 'agents', 'SourcesReady');
  await eventually('the gateway has followed', gateway, (is) => is === 'True/AllReady');
  const writes = operator.cluster.statusWrites;
  await operator.stop();
  await operator.start();
  await ready(operator);
  assert.equal(operator.cluster.statusWrites, writes);
});
