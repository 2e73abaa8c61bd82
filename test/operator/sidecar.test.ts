// A server in the operator's own pod: where its gateway is reached.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sidecarUrl } from '../../cli/operator/pod-options.ts';

const gateway = (namespace: string, name: string) => ({
  metadata: { namespace, name, uid: '1', resourceVersion: '1' },
});

test('the gateway that is named has the URL of its Service, others have none', () => {
  const urlOf = sidecarUrl({ sidecarGateway: 'flow/agents' });
  assert.equal(urlOf(gateway('flow', 'agents')), 'http://agents.flow.svc.cluster.local:8000/mcp');
  assert.equal(urlOf(gateway('flow', 'others')), undefined);
  assert.equal(urlOf(gateway('other', 'agents')), undefined);
  assert.equal(sidecarUrl({})(gateway('flow', 'agents')), undefined);
});
