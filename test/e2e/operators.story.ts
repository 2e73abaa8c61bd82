// Two operators on a real node: one leads, the other takes over, and a drained node leaves nobody waiting for the other.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { GitHost } from './git-host.ts';
import { install, uninstall } from './helm.ts';
import {
  type Anything,
  apply,
  ClientPod,
  cluster,
  container,
  get,
  pods,
  processOf,
  type RunningLoad,
  removeEverything,
  restrictedNamespace,
  volumeFor,
} from './pods.ts';
import { reportFailures } from './report.ts';

const url = 'http://agents.lyceum.svc.cluster.local:8000/mcp';
const welcome = 'skill://handbook/welcome';
const operatorLabels = 'app.kubernetes.io/component=operator';
const serverLabels = 'app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=agents';
const spare = 'spare';

const ready = (...objects: string[]) =>
  cluster.kubectl(['wait', '-n', 'lyceum', ...objects, '--for=condition=Ready', '--timeout=90s']);

/** The name of the pod that the Lease names; empty while it names none. */
const leader = async (): Promise<string> => {
  const { spec } = await get('lyceum', 'lease', 'lyceum');
  return (spec.holderIdentity ?? '').split('_')[0];
};

const nodesOf = async (selector: string): Promise<(string | undefined)[]> =>
  (await pods('lyceum', selector)).map(({ spec }) => spec.nodeName);

describe('Two operators', () => {
  reportFailures();
  let git: GitHost;
  let client: ClientPod;
  let load: RunningLoad;
  let home: string;

  before(async () => {
    for (const namespace of ['lyceum', 'agents']) await restrictedNamespace(namespace);
    await volumeFor({ namespace: 'lyceum', name: 'lyceum' });
    git = await GitHost.start('agents');
    await git.push('welcome', 'Be welcome, said the first edition.');
    home = (await get('lyceum', 'nodes')).items[0].metadata.name;
  });

  after(async () => {
    await cluster.tryKubectl(['uncordon', home]);
    await cluster.tryKubectl(['delete', 'node', spare]);
    // An operator that runs would make its servers anew.
    await uninstall('helm4', 'lyceum');
    await git[Symbol.asyncDispose]();
    await removeEverything();
  });

  it('are both ready, and one of them leads', async () => {
    await install('helm4', 'lyceum', '--set', 'replicas=2');
    await apply(
      {
        apiVersion: 'lyceum.dev/v1alpha1',
        kind: 'SkillSource',
        metadata: { namespace: 'lyceum', name: 'handbook' },
        spec: { url: git.url, refresh: '5s' },
      },
      {
        apiVersion: 'lyceum.dev/v1alpha1',
        kind: 'SkillGateway',
        metadata: { namespace: 'lyceum', name: 'agents' },
        spec: { replicas: 2, reindex: 'Anyone' },
      },
    );
    await ready('skillsource/handbook', 'skillgateway/agents');
    const operators = await pods('lyceum', operatorLabels);
    assert.deepEqual(
      operators.map((pod) => container(pod, 'operator').ready),
      [true, true],
    );
    const name = await leader();
    assert.ok(
      operators.some(({ metadata }) => metadata.name === name),
      name,
    );
    client = await ClientPod.start('agents');
    await client.until(url, welcome, 'the first edition');
    load = await client.load(url, welcome);
  });

  it('answer servers whichever of them is asked', async () => {
    for (let times = 0; times < 6; times++) assert.deepEqual((await client.reindex(url)).rebuilt, ['handbook']);
  });

  it('hand over when the leader is deleted, and what is pushed meanwhile is served', async () => {
    const before = await leader();
    await cluster.kubectl(['delete', 'pod', '-n', 'lyceum', before, '--wait=false']);
    await git.push('welcome', 'Be welcome, says the second edition.');
    assert.deepEqual((await client.reindex(url)).rebuilt, ['handbook']);
    await client.until(url, welcome, 'the second edition');
    const now = await eventually('another one leads', leader, (name) => name !== '' && name !== before);
    assert.notEqual(now, before);
  });

  it('take over when the leader dies: its own container goes on, or the other operator', async () => {
    const name = await leader();
    const pod = (await pods('lyceum', operatorLabels)).find(({ metadata }) => metadata.name === name);
    process.kill(await processOf(container(pod, 'operator')), 'SIGKILL');
    await git.push('welcome', 'Be welcome, says the third edition.');
    await client.until(url, welcome, 'the third edition');
  });

  it('did all that without a read that failed', async () => {
    const { failures, reads } = await load.sum();
    assert.deepEqual(failures, []);
    assert.ok(reads > 100, `${reads} reads`);
  });

  it('leave a node that is drained, with the servers that share their volume: all go to another one together', async () => {
    // A node of the API server's alone: the scheduler is real, and nobody runs what it places there.
    const { status } = await get('lyceum', 'node', home);
    await apply({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: spare, labels: { 'kubernetes.io/hostname': spare, 'kubernetes.io/os': 'linux' } },
    });
    const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'spare' };
    const now = new Date().toISOString();
    const condition = { ...ready, lastHeartbeatTime: now, lastTransitionTime: now };
    const { capacity, allocatable } = status;
    const patch = JSON.stringify({ status: { capacity, allocatable, conditions: [condition] } });
    await cluster.kubectl(['patch', 'node', spare, '--subresource=status', '--type=merge', '-p', patch]);
    await cluster.tryKubectl(['taint', 'node', spare, 'node.kubernetes.io/not-ready-']);
    assert.deepEqual(new Set([...(await nodesOf(operatorLabels)), ...(await nodesOf(serverLabels))]), new Set([home]));

    await cluster.kubectl(['drain', home, '--ignore-daemonsets', '--force', '--delete-emptydir-data', '--timeout=90s']);
    const everywhere = async () => [...(await nodesOf(operatorLabels)), ...(await nodesOf(serverLabels))];
    await eventually(
      'operators and servers are placed together',
      everywhere,
      (nodes) => nodes.length === 4 && nodes.every((name) => name === spare),
      120,
    );
  });

  it('come back when there is but the first node, and serve what was published', async () => {
    await cluster.kubectl(['uncordon', home]);
    await cluster.kubectl(['delete', 'node', spare]);
    const stranded = [...(await pods('lyceum', operatorLabels)), ...(await pods('lyceum', serverLabels))];
    for (const pod of stranded as Anything[]) {
      await cluster.tryKubectl(['delete', 'pod', '-n', 'lyceum', pod.metadata.name, '--force', '--grace-period=0']);
    }
    await cluster.kubectl([
      'rollout',
      'status',
      '-n',
      'lyceum',
      'deployment/lyceum',
      'deployment/agents',
      '--timeout=90s',
    ]);
    client = await ClientPod.start('agents');
    await client.until(url, welcome, 'the third edition');
  });
});
