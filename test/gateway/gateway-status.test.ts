// What the status of a gateway says, from how its catalogue and its pods stand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GatewayStanding, gatewayStatus } from '../../operator/gateway/gateway-status.ts';
import type { Condition } from '../../operator/reconcile/conditions.ts';

const now = '2026-01-01T00:00:00Z';
const sources = { views: [], missing: [] };
const url = 'http://agents.flow.svc.cluster.local:8000/mcp';

function status(standing: GatewayStanding, before: object = {}): { conditions: Condition[]; [field: string]: unknown } {
  const question = { before, generation: 3, standing, published: undefined, url: undefined, now };
  return gatewayStatus(question) as ReturnType<typeof status>;
}

const told = (standing: GatewayStanding): string[] =>
  status(standing).conditions.map(({ type, status: holds, reason }) => `${type}=${holds}/${reason}`);

test('without pods a published catalogue is enough', () => {
  assert.deepEqual(told({ sources }), ['Ready=True/Succeeded', 'SourcesReady=False/SourcesMissing']);
});

test('with pods, they must serve it', () => {
  const pods = { message: '1 pod serves it', replicas: 1, readyReplicas: 1, url };
  assert.equal(told({ sources, pods: { state: 'ready', ...pods } })[0], 'Ready=True/Succeeded');
  assert.deepEqual(told({ sources, pods: { state: 'progressing', ...pods } }).slice(0, 2), [
    'Ready=Unknown/Progressing',
    'Reconciling=True/Progressing',
  ]);
  const failed = { state: 'failed', reason: 'RolloutFailed', ...pods } as const;
  assert.deepEqual(told({ sources, pods: failed }), [
    'Ready=False/RolloutFailed',
    'Stalled=True/RolloutFailed',
    'SourcesReady=False/SourcesMissing',
  ]);
  const { url: shown, replicas, readyReplicas } = status({ sources, pods: failed });
  assert.deepEqual([shown, replicas, readyReplicas], [url, 1, 1]);
});

test('a catalogue that cannot be published outweighs pods that do not run, and is no reason to stall', () => {
  const fault = { reason: 'StorageFailed', message: 'disk full' } as const;
  const pods = { state: 'failed', reason: 'RolloutFailed', message: 'no' } as const;
  assert.deepEqual(told({ fault, pods }), ['Ready=False/StorageFailed']);
});

test('a spec that cannot be read leaves what is served, and where', () => {
  const before = { url, replicas: 2, readyReplicas: 2, catalogue: { generation: 7 } };
  const { conditions, observedGeneration, ...rest } = status(
    { fault: { reason: 'InvalidSpec', message: 'x' } },
    before,
  );
  assert.deepEqual(rest, before);
  assert.deepEqual(
    conditions.map(({ type }) => type),
    ['Ready', 'Stalled'],
  );
});

test('a gateway whose pods are gone has no URL of them', () => {
  const before = { url, replicas: 2, readyReplicas: 2 };
  const { url: shown, replicas } = status({ sources }, before);
  assert.deepEqual([shown, replicas], [undefined, undefined]);
});
