// Rounds over the Secrets that sources and gateways name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';
import { secretRound, secretsOfGateways, secretsOfSources } from '../../operator/reconcile/secret-watch.ts';
import { MemoryCluster } from '../fixtures/memory-cluster.ts';

test('a Secret that cannot be read keeps no other from being noticed', async () => {
  const cluster = new MemoryCluster();
  for (const name of ['denied', 'moved']) {
    cluster.source(name, { spec: { url: 'github://org/repo', secretRef: { name } } });
    cluster.secrets.set(name, { password: 'canary' });
  }
  const read = cluster.readSecret.bind(cluster);
  let reads = 0;
  cluster.readSecret = async (namespace, name) => {
    reads += 1;
    if (name === 'denied') throw new KubernetesError('forbidden', 'GET a Secret: the API server answered 403');
    return read(namespace, name);
  };
  const [changed, lines]: string[][] = [[], []];
  const log = pino({}, { write: (line: string) => void lines!.push(line) });
  cluster.gateway('agents', { spec: { auth: { tokens: { secretRef: { name: 'moved' } } } } });
  const common = { usedVersion: () => 'old', changed: (user: string) => changed!.push(user) };
  await secretRound({
    cluster,
    users: [
      { uses: () => secretsOfSources(cluster), ...common },
      { uses: () => secretsOfGateways(cluster), ...common },
    ],
    log,
  });
  assert.deepEqual(changed, ['default/moved', 'default/agents']);
  assert.equal(reads, 2, 'each Secret is asked for once, however many name it');
  assert.match(lines!.join(''), /"secret":"denied".*403/);
});
