import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { ApiServerCluster, connectionsFor } from '../../operator/kubernetes/api-server-cluster.ts';
import type { KubernetesObject } from '../../operator/kubernetes/cluster.ts';
import { Connection } from '../../operator/kubernetes/connection.ts';
import { loadKubeConfig } from '../../operator/kubernetes/credentials.ts';
import { isKind } from '../../operator/kubernetes/kubernetes-error.ts';
import { apiServer } from '../cluster/api-server.ts';
import { until } from './until.ts';

interface Running {
  cluster: ApiServerCluster;
  requests: string[];
  log: string[];
  /** Ends list and watch; single calls still work. */
  stop(): Promise<void>;
}

/** The operator's cluster with the rights of the operator's own account. */
function running(context: TestContext, kubeconfig: string, namespaces: string[]): Running {
  const requests: string[] = [];
  const log: string[] = [];
  const connection = new Connection({
    load: () => loadKubeConfig(kubeconfig),
    connections: connectionsFor(namespaces.length),
    requested: (method, code) => void requests.push(`${method} ${code}`),
  });
  const cluster = new ApiServerCluster({
    connection,
    namespaces,
    instance: 'lyceum-0',
    metrics: { restarted() {}, heard() {} },
    log: pino({ level: 'debug' }, { write: (line: string) => void log.push(line) }),
  });
  const stopping = new AbortController();
  const run = cluster.run(stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await run;
  };
  context.after(async () => {
    await stop();
    await connection.close();
  });
  return { cluster, requests, log, stop };
}

const manifest = (namespace: string, url = 'github://obra/superpowers'): string =>
  JSON.stringify({
    apiVersion: 'lyceum.dev/v1alpha1',
    kind: 'SkillSource',
    metadata: { name: 'superpowers', namespace, labels: { team: 'platform' } },
    spec: { url },
  });

const condition = { type: 'Ready', status: 'True', reason: 'Succeeded', message: 'fine', observedGeneration: 1 };
const lastTransitionTime = '2026-11-01T00:00:00Z';

test('what is applied, changed and deleted is seen, with the rights of the Role alone', async (t) => {
  const server = await apiServer();
  const namespace = await server.namespace();
  const { kubeconfig } = await server.operatorAccount(namespace);
  const { cluster } = running(t, kubeconfig, [namespace]);
  await cluster.synced(AbortSignal.timeout(5_000));
  const told: string[] = [];
  cluster.sources.onChange((key) => told.push(key));
  const key = `${namespace}/superpowers`;
  await server.kubectl(['apply', '-f', '-'], manifest(namespace));
  await until(() => cluster.sources.get(key) !== undefined, 'the source');
  const { metadata, spec, status } = cluster.sources.get(key)!;
  assert.deepEqual([metadata.generation, metadata.labels], [1, { team: 'platform' }]);
  assert.equal((spec as { url: string }).url, 'github://obra/superpowers');
  assert.deepEqual(status, { observedGeneration: -1 });
  await server.kubectl(['apply', '-f', '-'], manifest(namespace, 'github://anthropics/skills'));
  await until(() => cluster.sources.get(key)?.metadata.generation === 2, 'the change');
  await server.kubectl(['create', 'configmap', 'pack', '-n', namespace, '--from-literal=a=b']);
  await until(() => cluster.configMaps.get(`${namespace}/pack`) !== undefined, 'the ConfigMap');
  assert.deepEqual(Object.keys(cluster.configMaps.get(`${namespace}/pack`)!), ['apiVersion', 'kind', 'metadata']);
  assert.deepEqual((await cluster.readConfigMap(namespace, 'pack'))?.data, new Map([['a', Buffer.from('b')]]));
  await server.kubectl(['create', 'secret', 'generic', 'token', '-n', namespace, '--from-literal=password=x']);
  assert.deepEqual((await cluster.readSecret(namespace, 'token'))?.data, new Map([['password', Buffer.from('x')]]));
  assert.equal(await cluster.readSecret(namespace, 'missing'), undefined);
  await server.kubectl(['delete', 'skillsource', 'superpowers', '-n', namespace]);
  await until(() => cluster.sources.get(key) === undefined, 'the deletion');
  assert.deepEqual([...new Set(told)], [key]);
});

test('a status is applied, applied again without a trace, and gives up the fields it has no more', async (t) => {
  const server = await apiServer();
  const namespace = await server.namespace();
  const { kubeconfig } = await server.operatorAccount(namespace);
  const { cluster, requests, stop } = running(t, kubeconfig, [namespace]);
  const key = `${namespace}/superpowers`;
  const shown = async (): Promise<KubernetesObject> =>
    JSON.parse(await server.kubectl(['get', 'skillsource', 'superpowers', '-n', namespace, '-o', 'json']));
  await server.kubectl(['apply', '-f', '-'], manifest(namespace));
  await until(() => cluster.sources.get(key) !== undefined, 'the source');
  const object = cluster.sources.get(key)!;
  const conditions = [{ ...condition, lastTransitionTime }];
  await cluster.applyStatus(object, { observedGeneration: 1, revision: 'main@sha1:1', conditions });
  const first = await shown();
  assert.deepEqual(first.status, { observedGeneration: 1, revision: 'main@sha1:1', conditions });
  await until(() => cluster.sources.get(key)?.metadata.resourceVersion === first.metadata.resourceVersion, 'our write');
  const before = requests.length;
  await cluster.applyStatus(object, {
    observedGeneration: 1,
    revision: 'main@sha1:1',
    conditions,
    artifact: undefined,
  });
  assert.equal(requests.length, before, 'nothing to say, nothing asked');
  await cluster.applyStatus(object, { observedGeneration: 1, conditions });
  assert.deepEqual((await shown()).status, { observedGeneration: 1, conditions });
  await stop();
  await server.kubectl(['delete', 'skillsource', 'superpowers', '-n', namespace]);
  await cluster.applyStatus(object, { observedGeneration: 1, revision: 'gone', conditions });
  await server.kubectl(['apply', '-f', '-'], manifest(namespace));
  await assert.rejects(
    cluster.applyStatus(object, { observedGeneration: 1, revision: 'of a namesake', conditions }),
    (error) => isKind(error, 'conflict'),
    'so that the reconcile is repeated for the namesake',
  );
});

test('an event is shown by kubectl with its object', async (t) => {
  const server = await apiServer();
  const namespace = await server.namespace();
  const { kubeconfig } = await server.operatorAccount(namespace);
  const { cluster, stop, log } = running(t, kubeconfig, [namespace]);
  const key = `${namespace}/superpowers`;
  await server.kubectl(['apply', '-f', '-'], manifest(namespace));
  await until(() => cluster.sources.get(key) !== undefined, 'the source');
  const note = 'ü'.repeat(2_000);
  cluster.recordEvent(cluster.sources.get(key)!, { type: 'Warning', reason: 'NotFound', action: 'Fetch', note });
  await stop();
  assert.deepEqual(
    log.filter((line) => line.includes('event')),
    [],
  );
  const { items } = JSON.parse(await server.kubectl(['get', 'events.events.k8s.io', '-n', namespace, '-o', 'json']));
  assert.equal(items.length, 1);
  assert.equal(items[0].regarding.name, 'superpowers');
  assert.equal(items[0].reportingController, 'lyceum.dev/operator');
  const told = await server.kubectl(['describe', 'skillsource', 'superpowers', '-n', namespace]);
  assert.match(told, /Warning\s+NotFound/);
});

test('a namespace without the Role is told, and does not keep the others from being served', async (t) => {
  const server = await apiServer();
  const [own, other] = [await server.namespace(), await server.namespace()];
  const { kubeconfig } = await server.operatorAccount(own);
  const { cluster } = running(t, kubeconfig, [own, other]);
  await until(
    () => cluster.state().filter(({ problem }) => problem?.reason === 'forbidden').length === 3,
    'the refusals',
  );
  assert.equal(cluster.sources.synced, false);
  assert.ok(
    cluster
      .state()
      .filter(({ namespace }) => namespace === own)
      .every(({ problem }) => problem === undefined),
  );
});
