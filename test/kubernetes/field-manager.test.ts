// Whether others have written into the spec of an object that the operator keeps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { othersWroteSpec } from '../../operator/kubernetes/field-manager.ts';

const container = (fields: object) => ({
  'f:spec': { 'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"server"}': fields } } } },
});
const entry = (manager: string, fieldsV1: object) => ({ manager, operation: 'Update', fieldsV1 });
const own = entry('lyceum', { ...container({ '.': {}, 'f:image': {}, 'f:name': {} }) });

test('nobody has', () => {
  assert.equal(othersWroteSpec([own]), false);
  assert.equal(othersWroteSpec(undefined), false);
});

test('a field, an item of a list, and a thing in a thing that the operator has', () => {
  for (const added of [
    container({ 'f:env': { 'k:{"name":"A"}': { '.': {}, 'f:value': {} } } }),
    container({ 'f:tty': {} }),
    { 'f:spec': { 'f:paused': {} } },
    { 'f:spec': { 'f:template': { 'f:metadata': { 'f:labels': { 'f:team': {} } } } } },
  ]) {
    assert.equal(othersWroteSpec([own, entry('kubectl-edit', added)]), true, JSON.stringify(added));
  }
});

test('where both say the same, the field is the operator’s', () => {
  assert.equal(othersWroteSpec([own, entry('helm', container({ '.': {}, 'f:image': {} }))]), false);
});

test('metadata, status and annotations of the pods are open to others', () => {
  const annotations = { '.': {}, 'f:kubectl.kubernetes.io/restartedAt': {} };
  for (const fields of [
    { 'f:metadata': { 'f:annotations': annotations, 'f:labels': { 'f:team': {} } } },
    { 'f:status': { 'f:replicas': {} } },
    { 'f:spec': { 'f:template': { 'f:metadata': { 'f:annotations': annotations } } } },
  ]) {
    assert.equal(othersWroteSpec([own, entry('kubectl-rollout', fields)]), false, JSON.stringify(fields));
  }
});
