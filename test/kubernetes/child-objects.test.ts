// Whose object an apply changes, on a real API server.
import assert from 'node:assert/strict';
import { before, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { systemClock } from '../../operator/clock.ts';
import { ApiServerChildren } from '../../operator/kubernetes/child-objects.ts';
import type { ChildManifest } from '../../operator/kubernetes/cluster.ts';
import { Connection } from '../../operator/kubernetes/connection.ts';
import { loadKubeConfig } from '../../operator/kubernetes/credentials.ts';
import { isKind, KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';
import { type ApiServer, apiServer } from '../cluster/api-server.ts';

let server: ApiServer;
let namespace: string;
let kubeconfig: string;
before(async () => {
  server = await apiServer();
  namespace = await server.namespace();
  ({ kubeconfig } = await server.operatorAccount(namespace));
});

function childrenOf(context: TestContext): ApiServerChildren {
  const connection = new Connection({ load: () => loadKubeConfig(kubeconfig), connections: 4, requested() {} });
  context.after(() => connection.close());
  const metrics = { restarted() {}, heard() {} };
  const log = pino({ level: 'silent' });
  return new ApiServerChildren({
    connection,
    namespaces: [namespace],
    clock: systemClock,
    random: Math.random,
    metrics,
    log,
  });
}

const service = (name: string, port = 8000): ChildManifest => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace, name, labels: { mine: 'yes' }, ownerReferences: [] },
  spec: { selector: { a: 'b' }, ports: [{ name: 'mcp', port, protocol: 'TCP' }] },
});

const kubectl = (...args: string[]): Promise<string> => server.kubectl(['-n', namespace, ...args]);
const versionOf = (name: string): Promise<string> =>
  kubectl('get', 'service', name, '-o', 'jsonpath={.metadata.resourceVersion}');

test('an object that somebody makes at the same moment stays his', async (t) => {
  const children = childrenOf(t);
  await kubectl('create', 'service', 'clusterip', 'raced', '--tcp=80');
  const version = await versionOf('raced');
  const refused = (error: unknown): boolean => isKind(error, 'conflict');
  await assert.rejects(children.apply(service('raced'), undefined), refused);
  assert.equal(await versionOf('raced'), version);
});

test('a namesake that has taken the place of an object is left alone', async (t) => {
  const children = childrenOf(t);
  const first = await children.apply(service('replaced'), undefined);
  await kubectl('delete', 'service', 'replaced');
  await kubectl('create', 'service', 'clusterip', 'replaced', '--tcp=80');
  const version = await versionOf('replaced');
  await assert.rejects(children.apply(service('replaced', 9000), first), KubernetesError);
  assert.equal(await versionOf('replaced'), version);
});

test('an object that is gone is not made anew under a former uid', async (t) => {
  const children = childrenOf(t);
  const first = await children.apply(service('gone'), undefined);
  await kubectl('delete', 'service', 'gone');
  await assert.rejects(children.apply(service('gone'), first), KubernetesError);
  assert.equal(await children.read('Service', namespace, 'gone'), undefined);
});

test('what is applied again as it is leaves no trace', async (t) => {
  const children = childrenOf(t);
  const first = await children.apply(service('same'), undefined);
  const second = await children.apply(service('same'), first);
  assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
});

test('what others wrote is taken out of a load balancer, but for its class, which cannot change', async (t) => {
  const children = childrenOf(t);
  const wanted = service('balanced');
  const spec = { ...wanted.spec, type: 'LoadBalancer' };
  const theirs = { ...spec, loadBalancerClass: 'example.com/nlb', externalTrafficPolicy: 'Local' };
  await server.kubectl(['create', '-f', '-'], JSON.stringify({ ...wanted, spec: theirs }));
  const found = await children.read('Service', namespace, 'balanced');
  const applied = (await children.apply({ ...wanted, spec }, found)).spec as typeof theirs;
  assert.equal(applied.externalTrafficPolicy, 'Cluster');
  assert.equal(applied.loadBalancerClass, 'example.com/nlb');
});

test('a refusal carries the words of the API server, in one line', async (t) => {
  const children = childrenOf(t);
  const error = await children.apply(service('odd', 99_999), undefined).catch((refused: unknown) => refused);
  assert.ok(error instanceof KubernetesError && error.kind === 'invalid');
  assert.match(error.told ?? '', /^Service "odd" is invalid: \[?spec\.ports\[0\]\.port: Invalid value: 99999/);
  assert.doesNotMatch(error.message, /99999/);
});
