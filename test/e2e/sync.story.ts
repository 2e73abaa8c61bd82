// Servers where the volume does not reach: a gateway of another namespace, and a server in an agent's own pod.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
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
  removeEverything,
  restrictedNamespace,
  volumeFor,
} from './pods.ts';
import { reportFailures } from './report.ts';

const examples = join(import.meta.dirname, '../../examples/cluster');
const url = 'http://skills.agents.svc.cluster.local:8000/mcp';
const welcome = 'skill://handbook/welcome';
const refreshSeconds = 5;

const serverLabels = 'app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=skills';

/** What the program in the agent's container reads at the server beside it. */
async function besideAgent(path: string): Promise<Anything> {
  const [pod] = await pods('agents', 'app=agent');
  const program = `fetch('http://localhost:8000${path}').then((r) => r.text()).then(console.log)`;
  const args = ['exec', '-n', 'agents', pod.metadata.name, '-c', 'agent', '--', 'node', '-e', program];
  return await cluster.kubectl(args);
}

const welcomePage = (): Promise<string> => besideAgent('/skills/handbook/welcome/raw/SKILL.md');

describe('Lyceum for other namespaces', () => {
  reportFailures();
  let git: GitHost;
  let client: ClientPod;

  before(async () => {
    for (const namespace of ['lyceum', 'agents']) await restrictedNamespace(namespace);
    await volumeFor({ namespace: 'lyceum', name: 'lyceum' });
    git = await GitHost.start('agents');
    await git.push('welcome', 'Be welcome, said the first edition.');
    client = await ClientPod.start('agents');
  });

  after(async () => {
    await git[Symbol.asyncDispose]();
    await removeEverything();
  });

  it('serves a gateway of a namespace that the volume does not reach, by pods that copy the catalogue', async () => {
    await install('helm4', 'lyceum', '--values', join(examples, 'values-sync.yaml'));
    await apply(
      {
        apiVersion: 'lyceum.dev/v1alpha1',
        kind: 'SkillSource',
        metadata: { namespace: 'agents', name: 'handbook' },
        spec: { url: git.url, refresh: `${refreshSeconds}s` },
      },
      {
        apiVersion: 'lyceum.dev/v1alpha1',
        kind: 'SkillGateway',
        metadata: { namespace: 'agents', name: 'skills' },
        spec: { replicas: 2, reindex: 'Anyone' },
      },
    );
    const objects = ['skillsource/handbook', 'skillgateway/skills'];
    await cluster.kubectl(['wait', '-n', 'agents', ...objects, '--for=condition=Ready', '--timeout=90s']);
    await client.until(url, welcome, 'the first edition');
    assert.equal((await client.reindex(url)).status, 200, 'its servers reach the operator as others do');
  });

  it('serves an agent in its own pod, by the example', async () => {
    const authority = await get('lyceum', 'secret', 'lyceum-operator-tls');
    await apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'agents', name: 'lyceum-operator-ca' },
      data: { 'ca.crt': Buffer.from(authority.data['ca.crt'], 'base64').toString() },
    });
    await cluster.kubectl(
      ['apply', '-n', 'agents', '-f', '-'],
      await readFile(join(examples, 'agent-pod.yaml'), 'utf8'),
    );
    await cluster.kubectl(['rollout', 'status', '-n', 'agents', 'deployment/agent', '--timeout=90s']);
    await eventually('the server beside the agent', welcomePage, (text) => text.includes('the first edition'), 60);
  });

  it('has news in all of them within the refresh and 4 s, and not one read fails meanwhile', async () => {
    const load = await client.load(url, welcome);
    for (const edition of ['second', 'third', 'fourth']) {
      const pushed = await git.push('welcome', `Be welcome, says the ${edition} edition.`);
      const seconds = ((await client.until(url, welcome, `the ${edition} edition`)) - pushed) / 1000;
      assert.ok(seconds <= refreshSeconds + 4, `${seconds} s`);
      await eventually('the agent reads it', welcomePage, (text) => text.includes(`the ${edition} edition`));
    }
    const { reads, failures } = await load.sum();
    assert.deepEqual(failures, []);
    assert.ok(reads > 100, `${reads} reads`);
  });

  it('goes on while there is no operator, and has the news when there is one again', async () => {
    const load = await client.load(url, welcome);
    await cluster.kubectl(['scale', '-n', 'lyceum', 'deployment/lyceum', '--replicas=0']);
    await eventually(
      'the operator is gone',
      async () => (await pods('lyceum', 'app.kubernetes.io/component=operator')).length === 0,
      Boolean,
      60,
    );
    assert.match((await client.resources(url, welcome)).read, /the fourth edition/);
    await cluster.kubectl(['scale', '-n', 'lyceum', 'deployment/lyceum', '--replicas=1']);
    await git.push('welcome', 'Be welcome, says the fifth edition.');
    await client.until(url, welcome, 'the fifth edition');
    const { reads, failures } = await load.sum();
    assert.deepEqual(failures, []);
    assert.ok(reads > 100, `${reads} reads`);
    for (const pod of await pods('agents', serverLabels)) assert.equal(container(pod, 'server').restartCount, 0);
  });

  it('is gone with everything when it is uninstalled', async () => {
    await cluster.kubectl(['delete', '-n', 'agents', 'skillsources,skillgateways', '--all', '--timeout=20s']);
    await uninstall('helm4', 'lyceum');
    await eventually(
      'the pods go with their gateway',
      () => get('agents', 'deployments,services,pods', '-l', serverLabels),
      ({ items }) => items.length === 0,
      60,
    );
  });
});
