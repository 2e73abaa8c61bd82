// The life of a release: installed as the first version was, upgraded under load, rolled back, upgraded again, gone.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { GitHost } from './git-host.ts';
import { type HelmLine, helm, installFirst, rollback, uninstall, upgrade } from './helm.ts';
import { firstRelease, imageOf } from './image.ts';
import {
  type Anything,
  apply,
  ClientPod,
  cluster,
  get,
  identities,
  node,
  pods,
  type RunningLoad,
  removeEverything,
  restrictedNamespace,
  volumeFor,
  whatStands,
} from './pods.ts';
import { reportFailures } from './report.ts';

const url = 'http://agents.lyceum.svc.cluster.local:8000/mcp';
const welcome = 'skill://handbook/welcome';
const serverLabels = 'app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=agents';
const operatorLabels = 'app.kubernetes.io/component=operator';

const ready = (...objects: string[]) =>
  cluster.kubectl(['wait', '-n', 'lyceum', ...objects, '--for=condition=Ready', '--timeout=90s']);

const images = async (selector: string): Promise<string[]> => [
  ...new Set((await pods('lyceum', selector)).flatMap(({ spec }) => spec.containers.map((one: Anything) => one.image))),
];

/** The operator and both servers run this version, and the gateway is Ready with it. */
async function runs(image: string): Promise<void> {
  const wanted = image.replace('docker.io/library/', '');
  assert.deepEqual(await images(operatorLabels), [wanted]);
  await eventually(
    `both servers run ${wanted}`,
    () => get('lyceum', 'deployment', 'agents'),
    ({ metadata, spec, status }) =>
      spec.template.spec.containers[0].image === wanted &&
      status.observedGeneration === metadata.generation &&
      status.updatedReplicas === 2 &&
      status.readyReplicas === 2 &&
      status.replicas === 2,
    120,
  );
  await ready('skillsource/handbook', 'skillgateway/agents');
}

for (const [line, name] of [
  ['helm4', 'Helm 4'],
  ['helm3', 'Helm 3'],
] as [HelmLine, string][]) {
  describe(`The life of a release with ${name}`, () => {
    reportFailures();
    let git: GitHost;
    let client: ClientPod;
    let load: RunningLoad;
    let first: string;
    let current: string;

    before(async () => {
      [first, current] = await Promise.all([imageOf(firstRelease(node)), imageOf()]);
      for (const namespace of ['lyceum', 'agents']) await restrictedNamespace(namespace);
      await volumeFor({ namespace: 'lyceum', name: 'lyceum' });
      git = await GitHost.start('agents');
      await git.push('welcome', 'Be welcome, said the first edition.');
    });

    after(async () => {
      await git[Symbol.asyncDispose]();
      await removeEverything();
    });

    const undisturbed = async (): Promise<void> => {
      const { failures, reads } = await load.sum();
      assert.deepEqual(failures, []);
      assert.ok(reads > 100, `${reads} reads`);
      load = await client.load(url, welcome);
    };

    it('begins as the first version, which serves', async () => {
      await installFirst(line, 'lyceum');
      await cluster.kubectl([
        ...['apply', '-n', 'lyceum', '-f', join(firstRelease(node), 'examples/cluster/skills.yaml')],
      ]);
      await apply({
        apiVersion: 'lyceum.dev/v1alpha1',
        kind: 'SkillSource',
        metadata: { namespace: 'lyceum', name: 'handbook' },
        spec: { url: git.url, refresh: '5s' },
      });
      await runs(first);
      client = await ClientPod.start('agents');
      await client.until(url, welcome, 'the first edition');
      load = await client.load(url, welcome);
    });

    it('is upgraded while clients read: servers of the first version serve on until those of this one are ready', async () => {
      await upgrade(line, 'lyceum');
      await runs(current);
      await undisturbed();
    });

    it('knows the fields of this version', async () => {
      const explained = await cluster.kubectl(['explain', 'skillgateway.spec.auth']);
      assert.match(explained, /Who may use this gateway/);
    });

    it('serves what is pushed after the upgrade', async () => {
      await git.push('welcome', 'Be welcome, says the second edition.');
      await client.until(url, welcome, 'the second edition');
    });

    it('takes a value that rolls the operator alone, and takes it back', async () => {
      const servers = identities(await pods('lyceum', serverLabels));
      const level = async (): Promise<string> =>
        (await get('lyceum', 'deployment', 'lyceum')).spec.template.spec.containers[0].args.at(-1);
      await upgrade(line, 'lyceum', '--set', 'logLevel=debug');
      assert.equal(await level(), '--log-level=debug');
      await rollback(line, 'lyceum', 2);
      assert.equal(await level(), '--log-level=info');
      await runs(current);
      assert.deepEqual(identities(await pods('lyceum', serverLabels)), servers);
      await undisturbed();
    });

    it('is rolled back to the first version on the same volume while clients read', async () => {
      await rollback(line, 'lyceum', 1);
      await runs(first);
      await git.push('welcome', 'Be welcome, says the third edition.');
      await client.until(url, welcome, 'the third edition');
      await undisturbed();
    });

    it('is upgraded again, and answers helm test', async () => {
      await upgrade(line, 'lyceum');
      await runs(current);
      await client.until(url, welcome, 'the third edition');
      await undisturbed();
      await helm(line, 'test', 'lyceum', '--namespace', 'lyceum', '--timeout', '1m');
    });

    it('leaves nothing behind once what users made, the release and the claim are deleted', async () => {
      await load.sum();
      await cluster.kubectl(['delete', '-n', 'lyceum', 'skillsources,skillgateways', '--all', '--timeout=20s']);
      await uninstall(line, 'lyceum');
      await cluster.kubectl(['delete', '-n', 'lyceum', 'persistentvolumeclaim', 'lyceum']);
      assert.deepEqual(await whatStands('lyceum'), [
        'configmap/house-rules',
        'configmap/kube-root-ca.crt',
        'serviceaccount/default',
      ]);
      const left = await cluster.kubectl(['get', 'clusterroles,clusterrolebindings', '-o', 'name']);
      assert.doesNotMatch(left, /lyceum/);
    });
  });
}
