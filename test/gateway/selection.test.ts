import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matches, selectSources } from '../../operator/gateway/selection.ts';
import type { KubernetesObject } from '../../operator/kubernetes/cluster.ts';

const source = (
  name: string,
  created: string,
  labels: Record<string, string> = {},
  deleted?: string,
): KubernetesObject => ({
  apiVersion: 'lyceum.dev/v1alpha1',
  kind: 'SkillSource',
  metadata: {
    namespace: 'default',
    name,
    uid: name,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: created,
    ...(deleted === undefined ? {} : { deletionTimestamp: deleted }),
    labels,
    annotations: {},
  },
});

const names = (objects: KubernetesObject[]): string[] => objects.map(({ metadata }) => metadata.name);

const sources = [
  source('young', '2026-03-01T00:00:00Z', { team: 'a' }),
  source('b-twin', '2026-02-01T00:00:00Z', { team: 'b' }),
  source('a-twin', '2026-02-01T00:00:00Z', { team: 'a' }),
  source('gone', '2026-01-01T00:00:00Z', { team: 'a' }, '2026-04-01T00:00:00Z'),
];

test('left out, every source of the namespace is selected: older first, then by name; one being deleted is not', () => {
  assert.deepEqual(names(selectSources(undefined, sources).selected), ['a-twin', 'b-twin', 'young']);
});

test('a selector selects by label', () => {
  const selector = { matchLabels: { team: 'a' } };
  assert.deepEqual(names(selectSources({ selector }, sources).selected), ['a-twin', 'young']);
});

test('names that no source has are told', () => {
  const { selected, missing } = selectSources({ names: ['young', 'nobody', 'gone'] }, sources);
  assert.deepEqual(names(selected), ['young']);
  assert.deepEqual(missing, ['nobody', 'gone']);
});

test('the four operators of a label selector mean what Kubernetes says', () => {
  const expression = (operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', values?: string[]) => ({
    matchExpressions: [{ key: 'team', operator, ...(values ? { values } : {}) }],
  });
  assert.equal(matches(expression('In', ['a']), { team: 'a' }), true);
  assert.equal(matches(expression('In', ['a']), {}), false);
  assert.equal(matches(expression('NotIn', ['a']), {}), true);
  assert.equal(matches(expression('NotIn', ['a']), { team: 'a' }), false);
  assert.equal(matches(expression('Exists'), { team: '' }), true);
  assert.equal(matches(expression('DoesNotExist'), { team: '' }), false);
  assert.equal(matches({}, { anything: 'x' }), true);
});
