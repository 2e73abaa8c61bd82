// How far the pods of a gateway are, from what Kubernetes says of its Deployment.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rolloutOf } from '../../operator/gateway/rollout.ts';

const settled = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 };
const failing = (type: string, reason: string, message: string) => ({
  type,
  status: type === 'Progressing' ? 'False' : 'True',
  reason,
  message,
});
const deadline = failing('Progressing', 'ProgressDeadlineExceeded', 'timed out progressing');
const quota = failing('ReplicaFailure', 'FailedCreate', 'exceeded quota: none');

function told(status: object | undefined, replicas: number | undefined = 2): string {
  const { state, message } = rolloutOf({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      namespace: 'flow',
      name: 'agents',
      uid: '1',
      generation: 2,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: {},
      annotations: {},
    },
    spec: { replicas },
    status,
  });
  return `${state}: ${message}`;
}

test('done once the wanted pods are up and the former ones are gone', () => {
  assert.equal(told(settled), 'done: 2 pods serve it');
  assert.equal(told({ observedGeneration: 2 }, 0), 'done: 0 pods serve it');
  const one = { observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
  assert.equal(told(one, 1), 'done: 1 pod serves it');
});

test('rolling while Kubernetes has not seen the new shape', () => {
  assert.match(told(undefined), /^rolling: Kubernetes has not taken up/);
  assert.match(told({ ...settled, observedGeneration: 1 }), /^rolling: Kubernetes has not taken up/);
});

test('rolling while a pod is new, missing, not ready or left over', () => {
  const rolling = 'rolling: 1 of 2 pods have the current configuration; 2 pods serve';
  assert.equal(told({ ...settled, updatedReplicas: 1, replicas: 3 }), rolling);
  assert.match(told({ ...settled, replicas: 3 }), /^rolling: 2 of 2 pods/);
  assert.match(told({ ...settled, availableReplicas: 1 }), /^rolling: .*; 1 pod serves$/);
  assert.match(told(settled, 3), /^rolling: 2 of 3 pods/);
  assert.match(told({ ...settled, updatedReplicas: 0, replicas: 1 }, 1), /^rolling: 0 of 1 pod has the current/);
});

test('failed when the deadline has passed, with how many still serve and where to look', () => {
  const text = told({ ...settled, updatedReplicas: 1, replicas: 3, conditions: [deadline] });
  assert.match(
    text,
    /^failed: The pods do not get ready; 2 pods serve\. See: kubectl -n flow describe pods -l .*=agents$/,
  );
});

test("failed when pods cannot be created, in Kubernetes' own words", () => {
  const text = told({ ...settled, availableReplicas: 0, conditions: [quota] });
  assert.equal(text, 'failed: Kubernetes does not create the pods: exceeded quota: none; 0 pods serve');
});

test('a failure that has passed is none', () => {
  assert.match(told({ ...settled, conditions: [deadline, quota] }), /^done/);
  const over = { ...quota, status: 'False' };
  assert.match(told({ ...settled, availableReplicas: 1, conditions: [over] }), /^rolling/);
});
