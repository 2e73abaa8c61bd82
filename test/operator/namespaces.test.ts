// Which namespaces `lyceum operator` watches.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pino } from 'pino';
import { connect } from '../../cli/operator/connect.ts';

test('the namespaces that are named, each once, and the own one where none is named', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'lyceum-namespaces-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, 'kubeconfig');
  const config = {
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'me', namespace: 'own' } }],
    clusters: [{ name: 'test', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'me', user: { token: 'x' } }],
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  for (const [named, watched] of [
    [undefined, ['own']],
    [[], ['own']],
    [
      ['a', 'b', 'a'],
      ['a', 'b'],
    ],
  ] as const) {
    const connected = connect({ kubeconfig, namespaces: named, pods: () => undefined, log: pino({ level: 'silent' }) });
    await connected.close();
    assert.deepEqual(connected.namespaces, watched);
  }
});
