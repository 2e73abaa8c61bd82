// The first look: operator and server in one pod, on a folder that goes with the pod, without a storage class.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { GitHost } from './git-host.ts';
import { install, uninstall, upgrade } from './helm.ts';
import {
  type Anything,
  apply,
  ClientPod,
  cluster,
  container,
  get,
  pods,
  processOf,
  removeEverything,
  restrictedNamespace,
  volumeFor,
  whatStands,
} from './pods.ts';
import { reportFailures } from './report.ts';

const examples = join(import.meta.dirname, '../../examples/cluster');
const url = 'http://agents.lyceum.svc.cluster.local:8000/mcp';
const houseStyle = 'skill://house-rules/house-style';
const welcome = 'skill://handbook/welcome';
const refreshSeconds = 5;

const operatorPod = async (): Promise<Anything> => {
  const [pod, ...more] = await pods('lyceum', 'app.kubernetes.io/component=operator');
  assert.deepEqual(more, []);
  return pod;
};

describe('Lyceum in one pod', () => {
  reportFailures();
  let git: GitHost;
  let client: ClientPod;

  before(async () => {
    for (const namespace of ['lyceum', 'agents']) await restrictedNamespace(namespace);
    git = await GitHost.start('agents');
    await git.push('welcome', 'Be welcome, said the first edition.');
  });

  after(async () => {
    await git[Symbol.asyncDispose]();
    await removeEverything();
  });

  it('installs without a volume, and serves the examples after kubectl apply', async () => {
    await install('helm4', 'lyceum', '--values', join(examples, 'values-sidecar.yaml'));
    await cluster.kubectl(['apply', '-n', 'lyceum', '-f', join(examples, 'skills.yaml')]);
    await apply({
      apiVersion: 'lyceum.dev/v1alpha1',
      kind: 'SkillSource',
      metadata: { namespace: 'lyceum', name: 'handbook' },
      spec: { url: git.url, refresh: `${refreshSeconds}s` },
    });
    const objects = ['skillsource/house-rules', 'skillsource/handbook', 'skillgateway/agents'];
    await cluster.kubectl(['wait', '-n', 'lyceum', ...objects, '--for=condition=Ready', '--timeout=60s']);
    const { items } = await get('lyceum', 'deployments,persistentvolumeclaims');
    assert.deepEqual(
      items.map(({ metadata }: Anything) => metadata.name),
      ['lyceum'],
    );
  });

  it('answers clients in pods through the Service of the gateway', async () => {
    client = await ClientPod.start('agents');
    assert.match((await client.tools(url, houseStyle)).read, /Short sentences\. One thought each\./);
    await client.until(url, welcome, 'the first edition');
    const { version, listed } = await client.resources(url, welcome);
    assert.equal(version, '2026-07-28');
    assert.deepEqual(listed, ['skill://handbook', 'skill://house-rules']);
  });

  it('serves a pushed commit within the refresh and 2 s', async () => {
    const pushed = await git.push('welcome', 'Be welcome, says the second edition.');
    const seconds = ((await client.until(url, welcome, 'the second edition')) - pushed) / 1000;
    assert.ok(seconds <= refreshSeconds + 2, `${seconds} s`);
  });

  it('looks at once when somebody asks, where the gateway lets anyone ask', async () => {
    const patch = (kind: string, name: string, spec: object) =>
      cluster.kubectl(['patch', '-n', 'lyceum', kind, name, '--type', 'merge', '-p', JSON.stringify({ spec })]);
    assert.equal((await client.reindex(url)).status, 403);
    await patch('skillgateway', 'agents', { reindex: 'Anyone' });
    await eventually(
      'anyone may ask',
      () => client.reindex(url),
      ({ status }) => status === 200,
    );
    await patch('skillsource', 'handbook', { refresh: null });
    await git.push('welcome', 'Be welcome, says the second edition, as you asked for it.');
    const { status, rebuilt } = await client.reindex(url);
    assert.deepEqual({ status, rebuilt }, { status: 200, rebuilt: ['handbook', 'house-rules'] });
    assert.match((await client.resources(url, welcome)).read, /as you asked for it/);
    await patch('skillsource', 'handbook', { refresh: `${refreshSeconds}s` });
  });

  it('counts an install, and the operator beside it keeps that', async () => {
    const [installed] = await client.artifacts(url, [['install_skill', { skill: 'welcome' }]]);
    assert.equal(installed!.isError, false, installed!.text);
    const metrics = `http://${(await operatorPod()).status.podIP}:9091/metrics`;
    const kept = [
      /^lyceum_downloads_total\{.*\} 1$/m,
      /^lyceum_downloads_unconfirmed 0$/m,
      /^lyceum_downloads_lost_total 0$/m,
    ];
    await eventually(
      'it is counted, nothing waits for the operator, and nothing was lost',
      async () => String((await client.download([metrics]))[0]!.bytes),
      (text) => kept.every((line) => line.test(text)),
      60,
    );
  });

  it('is read without a gap while the operator process is killed and comes back, which fetches nothing anew', async () => {
    const pod = await operatorPod();
    git.commands.length = 0;
    const load = await client.load(url, welcome);
    process.kill(await processOf(container(pod, 'operator')), 'SIGKILL');
    await eventually(
      'the operator is started again',
      operatorPod,
      (now) => container(now, 'operator').restartCount === 1 && container(now, 'operator').ready,
      60,
    );
    const asked = git.commands.length;
    await eventually('the new operator has looked twice', () => git.commands.length >= asked + 2, Boolean, 30);
    const { reads, failures } = await load.sum();
    assert.deepEqual(failures, []);
    assert.ok(reads > 100, `${reads} reads`);
    git.assertNothingFetched();
    const now = await operatorPod();
    assert.equal(now.metadata.uid, pod.metadata.uid);
    assert.equal(container(now, 'server').restartCount, 0);
    const pushed = await git.push('welcome', 'Be welcome, says the third edition.');
    const seconds = ((await client.until(url, welcome, 'the third edition')) - pushed) / 1000;
    assert.ok(seconds <= refreshSeconds + 2, `${seconds} s`);
  });

  it('gets pods of its own at the same address by an upgrade', async () => {
    await volumeFor({ namespace: 'lyceum', name: 'lyceum' });
    await upgrade('helm4', 'lyceum', '--set', 'sidecar.enabled=false');
    const { status } = await eventually(
      'two servers of the gateway are ready',
      () => get('lyceum', 'skillgateway', 'agents'),
      (gateway) => gateway.status.readyReplicas === 2,
      60,
    );
    assert.equal(status.url, url);
    await client.until(url, welcome, 'the third edition');
  });

  it('leaves nothing but what users made when all is uninstalled', async () => {
    await cluster.kubectl(['delete', '-n', 'lyceum', 'skillgateways,skillsources', '--all', '--timeout=20s']);
    await uninstall('helm4', 'lyceum');
    await cluster.kubectl(['delete', '-n', 'lyceum', 'persistentvolumeclaim', 'lyceum']);
    assert.deepEqual(await whatStands('lyceum'), [
      'configmap/house-rules',
      'configmap/kube-root-ca.crt',
      'serviceaccount/default',
    ]);
  });
});
