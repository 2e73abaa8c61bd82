// Rounds over the Secrets that sources name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';
import { secretRound } from '../../operator/reconcile/secret-watch.ts';
import { MemoryCluster } from '../fixtures/memory-cluster.ts';

test('a Secret that cannot be read keeps no other from being noticed', async () => {
  const cluster = new MemoryCluster();
  for (const name of ['denied', 'moved']) {
    cluster.source(name, { spec: { url: 'github://org/repo', secretRef: { name } } });
    cluster.secrets.set(name, { password: 'canary' });
  }
  const read = cluster.readSecret.bind(cluster);
  cluster.readSecret = async (namespace, name) => {
    if (name === 'denied') throw new KubernetesError('forbidden', 'GET a Secret: the API server answered 403');
    return read(namespace, name);
  };
  const [changed, lines]: string[][] = [[], []];
  const log = pino({}, { write: (line: string) => void lines!.push(line) });
  await secretRound({ cluster, usedVersion: async () => 'old', changed: (source) => changed!.push(source), log });
  assert.deepEqual(changed, ['default/moved']);
  assert.match(lines!.join(''), /"secret":"denied".*403/);
});
