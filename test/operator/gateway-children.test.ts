// What a gateway has besides pods and Service, on a real API server: kept, put right, and taken away when it is no longer wanted.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { type Connected, connect } from '../../cli/operator/connect.ts';
import { type RunningOperator, startOperator } from '../../operator/operator.ts';
import { apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';

const api = await apiServer();
const log = pino({ level: 'silent' });
const optional = ['horizontalpodautoscaler', 'poddisruptionbudget', 'networkpolicy', 'ingress'];
const from = [{ namespaceSelector: { matchLabels: { agents: 'yes' } } }];
const outside = { auth: { tokens: { secretRef: { name: 'agents-tokens' } } }, ingress: { host: 'skills.example.com' } };
const everything = { autoscaling: { minReplicas: 2, maxReplicas: 6 }, networkPolicy: { from }, ...outside };

describe('A gateway that asks for more', () => {
  let folder: string;
  let namespace: string;
  let connected: Connected;
  let operator: RunningOperator;

  const kubectl = (...args: string[]): Promise<string> => api.kubectl(['-n', namespace, ...args]);
  const apply = (name: string, spec: object): Promise<string> =>
    api.kubectl(
      ['-n', namespace, 'apply', '-f', '-'],
      JSON.stringify({ apiVersion: 'lyceum.dev/v1alpha1', kind: 'SkillGateway', metadata: { name }, spec }),
    );
  // biome-ignore lint/suspicious/noExplicitAny: an object is looked at by any path
  const get = async (kind: string, name: string): Promise<any> => {
    const { code, stdout } = await api.tryKubectl(['-n', namespace, 'get', kind, name, '-o', 'json']);
    return code === 0 ? JSON.parse(stdout) : undefined;
  };
  const isThere = async (kind: string, name: string): Promise<boolean> => {
    const object = await get(kind, name);
    return object !== undefined && object.metadata.deletionTimestamp === undefined;
  };
  const has = (name: string, ...wanted: string[]): Promise<unknown> =>
    eventually(
      `${name} has ${wanted.join(', ') || 'none of them'}`,
      async () =>
        (await Promise.all(optional.map((kind) => isThere(kind, name)))).map((there, at) => there && optional[at]),
      (there) =>
        JSON.stringify(there.filter((one) => one)) === JSON.stringify(optional.filter((one) => wanted.includes(one))),
    );
  const replicas = async (name: string): Promise<number> => (await get('deployment', name)).spec.replicas;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lyceum-children-'));
    namespace = await api.namespace();
    await kubectl('create', 'secret', 'generic', 'agents-tokens', '--from-literal=n8n=n8n-0123456789abcdef');
    const { kubeconfig } = await api.operatorAccount(namespace);
    connected = connect({
      kubeconfig,
      namespaces: [namespace],
      pods: (own) => ({ image: 'lyceum:test', imagePullSecrets: [], volumeClaim: 'catalogue', namespace: own }),
      log,
    });
    operator = await startOperator({
      cluster: connected.cluster,
      metrics: connected.metrics,
      pods: connected.pods,
      volume: join(folder, 'volume'),
      fileRoot: undefined,
      guard: { allowLoopback: true, deniedCidrs: [] },
      ceiling: { files: 1000, fileSize: 2 ** 20, totalSize: 2 ** 20 },
      concurrentFetches: 2,
      urlOf: () => undefined,
      log,
    });
  });

  after(async () => {
    await operator?.close();
    await connected?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('gets it, owned by it, and a second look changes nothing', async () => {
    await apply('agents', everything);
    await has('agents', ...optional);
    const versions = () => Promise.all(optional.map(async (kind) => (await get(kind, 'agents')).metadata.generation));
    const before = await versions();
    for (const kind of optional) {
      const { metadata } = await get(kind, 'agents');
      assert.deepEqual(
        metadata.ownerReferences.map(({ kind: owner, name }: { kind: string; name: string }) => `${owner} ${name}`),
        ['SkillGateway agents'],
      );
    }
    await kubectl('annotate', 'skillgateway', 'agents', 'note=1');
    await operator.reindex(`${namespace}/agents`);
    assert.deepEqual(await versions(), before);
  });

  it('leaves to the autoscaler how many pods there are', async () => {
    await kubectl('scale', 'deployment', 'agents', '--replicas=5');
    await kubectl('set', 'env', 'deployment/agents', 'MINE=1');
    await eventually('what somebody else wrote is taken out', async () => {
      const { env } = (await get('deployment', 'agents')).spec.template.spec.containers[0];
      return env.every(({ name }: { name: string }) => name !== 'MINE');
    });
    assert.equal(await replicas('agents'), 5);
  });

  it('has what somebody edits or deletes put right', async () => {
    await kubectl('patch', 'pdb', 'agents', '--type=merge', '-p', '{"spec":{"maxUnavailable":"100%"}}');
    await kubectl('delete', 'networkpolicy', 'agents');
    await kubectl('patch', 'hpa', 'agents', '--type=merge', '-p', '{"spec":{"maxReplicas":60}}');
    await eventually('the budget is put right', async () => (await get('pdb', 'agents')).spec.maxUnavailable === 1);
    await eventually('the autoscaler is put right', async () => (await get('hpa', 'agents')).spec.maxReplicas === 6);
    const moved = [{ op: 'replace', path: '/spec/rules/0/host', value: 'evil.example' }];
    await kubectl('patch', 'ingress', 'agents', '--type=json', '-p', JSON.stringify(moved));
    await eventually(
      'the Ingress has its host again',
      async () => (await get('ingress', 'agents')).spec.rules[0].host === 'skills.example.com',
    );
    await eventually('the policy is back', () => isThere('networkpolicy', 'agents'));
  });

  it('loses what it no longer asks for, and has as many pods as it says', async () => {
    await apply('agents', { replicas: 1 });
    await has('agents');
    await eventually(
      'one pod',
      () => replicas('agents'),
      (count) => count === 1,
    );
  });

  it('keeps its pods when an autoscaler takes over', async () => {
    await apply('agents', { replicas: 4 });
    await eventually(
      'four pods',
      () => replicas('agents'),
      (count) => count === 4,
    );
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/agents`;
    const seen = new Set<number>();
    await apply('agents', everything);
    const handedOver = await eventually(
      'it is no longer the operator that says how many',
      // biome-ignore lint/suspicious/noExplicitAny: an object is looked at by any path
      async () => (await api.request('GET', path)).body as any,
      ({ metadata, spec }) => {
        seen.add(spec.replicas);
        return metadata.managedFields.every(
          ({
            manager,
            operation,
            fieldsV1,
          }: {
            manager: string;
            operation: string;
            fieldsV1: Record<string, object>;
          }) => manager !== 'lyceum' || operation !== 'Apply' || !('f:replicas' in fieldsV1['f:spec']!),
        );
      },
    );
    assert.equal(handedOver.spec.replicas, 4);
    assert.deepEqual([...seen], [4]);
    await has('agents', ...optional);
  });

  it('touches no object of its name that is not its own', async () => {
    await kubectl('create', 'deployment', 'theirs', '--image=x');
    await kubectl('autoscale', 'deployment', 'theirs', '--name=mine', '--max=3');
    await apply('mine', everything);
    await eventually(
      'the gateway says what stands in the way',
      async () => JSON.stringify((await get('skillgateway', 'mine')).status?.conditions),
      (conditions) => /The HorizontalPodAutoscaler mine stands in the way/.test(conditions ?? ''),
    );
    await apply('mine', { replicas: 1 });
    await eventually('it runs without', () => isThere('deployment', 'mine'));
    assert.equal((await get('hpa', 'mine')).spec.maxReplicas, 3);
  });

  it('leaves an Ingress of its name to its owner, and says so', async () => {
    await kubectl('create', 'ingress', 'shared', '--rule=theirs.example/*=theirs:80');
    await apply('shared', outside);
    await eventually(
      'the gateway says what stands in the way',
      async () => JSON.stringify((await get('skillgateway', 'shared')).status?.conditions),
      (conditions) => /The Ingress shared stands in the way/.test(conditions ?? ''),
    );
    await apply('shared', {});
    await eventually('it runs without', () => isThere('deployment', 'shared'));
    assert.equal((await get('ingress', 'shared')).spec.rules[0].host, 'theirs.example');
  });
});
