// The gateway flow/agents, as tests of what is rendered for it have it.
import assert from 'node:assert/strict';
import { parseSkillGateway } from '../../operator/resources/parse.ts';
import type { SkillGatewaySpec } from '../../operator/resources/skill-gateway.ts';

export const gateway = {
  apiVersion: 'lyceum.dev/v1alpha1',
  kind: 'SkillGateway',
  metadata: {
    namespace: 'flow',
    name: 'agents',
    uid: '0000-1',
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: {},
    annotations: {},
  },
};

/** By these its pods are found. */
export const selector = { 'app.kubernetes.io/name': 'lyceum-gateway', 'app.kubernetes.io/instance': 'agents' };

/** A spec with its defaults. @throws where it is not valid */
export function specOf(spec: object): SkillGatewaySpec {
  const parsed = parseSkillGateway({ metadata: { name: 'agents' }, spec });
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.message);
  return parsed.spec;
}
