// What the operator does about the children of a gateway, where no real API server does it on demand: faults, rivals, time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { GatewayPods, type PodsStanding } from '../../operator/gateway/gateway-pods.ts';
import type { ChildKind, ChildManifest, Children, KubernetesObject, Store } from '../../operator/kubernetes/cluster.ts';
import { KubernetesError, type KubernetesErrorKind } from '../../operator/kubernetes/kubernetes-error.ts';
import { parseSkillGateway } from '../../operator/resources/parse.ts';
import type { SkillGatewaySpec } from '../../operator/resources/skill-gateway.ts';

const parsed = parseSkillGateway({ metadata: { name: 'agents' }, spec: {} });
assert.ok(parsed.ok);
const { spec } = parsed;

const metadata = {
  namespace: 'flow',
  name: 'agents',
  uid: 'gateway-2',
  generation: 1,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
  labels: {},
  annotations: {},
};
const gateway: KubernetesObject = { apiVersion: 'lyceum.dev/v1alpha1', kind: 'SkillGateway', metadata, spec: {} };

/** An API server that keeps what is applied, and counts. */
class FakeChildren implements Children {
  readonly objects = new Map<string, KubernetesObject>();
  readonly applied: string[] = [];
  fault: KubernetesError | undefined;
  /** The store shows nothing of what is there. */
  isWatchBehind = false;
  /** Left out: of all kinds. */
  faultOf: ChildKind | undefined;

  store(kind: ChildKind): Store {
    const get = (key: string): KubernetesObject | undefined =>
      this.isWatchBehind ? undefined : this.objects.get(`${kind} ${key}`);
    return { get, list: () => [], synced: true, onChange() {} };
  }

  onServed(): void {}

  async read(kind: ChildKind, namespace: string, name: string): Promise<KubernetesObject | undefined> {
    return this.objects.get(`${kind} ${namespace}/${name}`);
  }

  async apply({ kind, apiVersion, metadata: written, spec: wanted }: ChildManifest): Promise<KubernetesObject> {
    if (this.fault !== undefined && (this.faultOf ?? kind) === kind) throw this.fault;
    this.applied.push(kind);
    const [owner] = written.ownerReferences;
    const child: KubernetesObject = {
      apiVersion,
      kind,
      metadata: { ...metadata, uid: `${kind}-1`, labels: written.labels, controller: owner! },
      spec: wanted,
      status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 },
    };
    this.objects.set(`${kind} flow/agents`, child);
    return child;
  }

  async remove({ kind, metadata: { namespace, name } }: KubernetesObject): Promise<void> {
    this.objects.delete(`${kind} ${namespace}/${name}`);
  }

  edit(kind: ChildKind, change: (child: KubernetesObject) => KubernetesObject): void {
    const key = `${kind} flow/agents`;
    this.objects.set(key, change(this.objects.get(key)!));
  }
}

function fixture(): { children: FakeChildren; pods: GatewayPods; pass(milliseconds: number): void } {
  const children = new FakeChildren();
  let now = 0;
  const settings = { image: 'lyceum:1', imagePullSecrets: [], volumeClaim: 'catalogue', namespace: 'flow' };
  const pods = new GatewayPods({ children, settings, now: () => now, log: pino({ level: 'silent' }) });
  const pass = (milliseconds: number): void => {
    now += milliseconds;
  };
  return { children, pods, pass };
}

const scaled = (child: KubernetesObject): KubernetesObject => ({
  ...child,
  spec: { ...(child.spec as object), replicas: 5 },
});
const told = ({ state, message }: PodsStanding): string => `${state}: ${message}`;

test('children that are as they should be are not applied again', async () => {
  const { children, pods } = fixture();
  for (let look = 0; look < 3; look++) assert.equal(told(await pods.settle(gateway, spec)), 'ready: 1 pod serves it');
  assert.deepEqual(children.applied, ['Service', 'Deployment']);
});

const behindTokens = (way: object): SkillGatewaySpec => {
  const outside = parseSkillGateway({
    metadata: { name: 'agents' },
    spec: { auth: { tokens: { secretRef: { name: 'tokens' } } }, ...way },
  });
  assert.ok(outside.ok);
  return outside.spec;
};
const byIngress = behindTokens({ ingress: { host: 'skills.example.com' } });
const byRoute = behindTokens({ httpRoute: { parentRefs: [{ name: 'public' }] } });

for (const [kind, outside, other] of [
  ['Ingress', byIngress, byRoute],
  ['HTTPRoute', byRoute, byIngress],
] as const) {
  test(`an ${kind} is opened when the tokens are published, and closed before they are not`, async () => {
    const { children, pods } = fixture();
    const isOpen = () => children.objects.has(`${kind} flow/agents`);
    await pods.settle(gateway, outside, [], false);
    assert.equal(isOpen(), false);
    await pods.close(gateway, outside);
    await pods.settle(gateway, outside);
    assert.equal(isOpen(), true);
    await pods.settle(gateway, outside, [], false);
    assert.equal(isOpen(), true);
    await pods.close(gateway, other);
    assert.equal(isOpen(), false);
    await pods.settle(gateway, outside);
    await pods.close(gateway, spec);
    assert.equal(isOpen(), false);
    assert.ok(children.objects.has('Deployment flow/agents'));
  });
}

test('a way in that the watch has not seen yet is closed all the same', async () => {
  const { children, pods } = fixture();
  children.isWatchBehind = true;
  await pods.settle(gateway, byRoute);
  assert.ok(children.objects.has('HTTPRoute flow/agents'));
  await pods.close(gateway, spec);
  assert.equal(children.objects.has('HTTPRoute flow/agents'), false);
});

test('where the API server has no HTTPRoutes the rest of the gateway is kept, and the remedy told', async () => {
  const { children, pods } = fixture();
  children.fault = new KubernetesError('notFound', 'PATCH …: the API server answered 404', { status: 404 });
  children.faultOf = 'HTTPRoute';
  const standing = await pods.settle(gateway, byRoute);
  assert.deepEqual(children.applied, ['Service', 'Deployment']);
  assert.match(told(standing), /^failed: The API server has no HTTPRoutes .*: install .*, or remove spec.httpRoute$/);
  const { url, readyReplicas } = standing;
  assert.deepEqual([url, readyReplicas], ['http://agents.flow.svc.cluster.local:8000/mcp', 1]);
  children.fault = undefined;
  assert.equal(told(await pods.settle(gateway, byRoute)), 'ready: 1 pod serves it');
});

test('a rollout that goes on applies nothing', async () => {
  const { children, pods } = fixture();
  await pods.settle(gateway, spec);
  children.edit('Deployment', (child) => ({ ...child, status: { ...(child.status as object), availableReplicas: 0 } }));
  assert.equal((await pods.settle(gateway, spec)).state, 'progressing');
  assert.equal(children.applied.length, 2);
});

test('two that disagree about a child do not chase each other: it is put right at most once a second', async () => {
  const { children, pods, pass } = fixture();
  await pods.settle(gateway, spec);
  pass(400);
  children.edit('Deployment', scaled);
  const { state, requeueAfterSeconds } = await pods.settle(gateway, spec);
  assert.deepEqual([state, requeueAfterSeconds, children.applied.length], ['progressing', 0.6, 2]);
  pass(600);
  assert.equal((await pods.settle(gateway, spec)).state, 'ready');
  assert.deepEqual(children.applied.slice(2), ['Deployment']);
});

test('a new shape does not wait for that second', async () => {
  const { children, pods } = fixture();
  await pods.settle(gateway, spec);
  await pods.settle(gateway, { ...spec, replicas: 1, podLabels: { team: 'a' } });
  assert.deepEqual(children.applied.slice(2), ['Deployment']);
});

test('children of a former gateway of the same name are waited for, not touched', async () => {
  const { children, pods } = fixture();
  await pods.settle(gateway, spec);
  const controller = { kind: 'SkillGateway', name: 'agents', uid: 'gateway-1' };
  children.edit('Service', (child) => ({ ...child, metadata: { ...child.metadata, controller } }));
  const standing = await pods.settle(gateway, spec);
  assert.equal(told(standing), 'progressing: The former Service agents is being deleted');
  assert.ok(standing.requeueAfterSeconds);
  assert.equal(children.applied.length, 2);
});

test('a child that is being deleted is waited for', async () => {
  const { children, pods } = fixture();
  await pods.settle(gateway, spec);
  const deletionTimestamp = '2026-01-01T00:00:01Z';
  children.edit('Deployment', (child) => ({ ...child, metadata: { ...child.metadata, deletionTimestamp } }));
  assert.equal(told(await pods.settle(gateway, spec)), 'progressing: The former Deployment agents is being deleted');
});

test("a child with the operator's label that another gateway controls stands in the way", async () => {
  const { children, pods } = fixture();
  await pods.settle(gateway, spec);
  const controller = { kind: 'SkillGateway', name: 'others', uid: 'gateway-3' };
  children.edit('Deployment', (child) => ({ ...child, metadata: { ...child.metadata, controller } }));
  assert.match(told(await pods.settle(gateway, spec)), /^failed: The Deployment agents stands in the way/);
});

test('a refusal is told in the words of the API server and tried again', async () => {
  for (const kind of ['invalid', 'forbidden', 'server'] as const) {
    const { children, pods } = fixture();
    children.fault = new KubernetesError(kind, 'PATCH …: 4xx', { told: 'admission webhook says no' });
    const standing = await pods.settle(gateway, spec);
    assert.equal(told(standing), 'failed: The API server refuses the Service agents: admission webhook says no');
    assert.ok(standing.requeueAfterSeconds, kind);
  }
});

test('a fault that passes by itself is no refusal', async () => {
  for (const kind of ['network', 'tooMany', 'unauthorized', 'conflict'] satisfies KubernetesErrorKind[]) {
    const { children, pods } = fixture();
    children.fault = new KubernetesError(kind, 'PATCH …');
    await assert.rejects(pods.settle(gateway, spec), children.fault, kind);
  }
  for (const status of [502, 503, 504]) {
    const { children, pods } = fixture();
    children.fault = new KubernetesError('server', 'PATCH …', { status, told: 'etcdserver: request timed out' });
    await assert.rejects(pods.settle(gateway, spec), children.fault, String(status));
  }
});

test('only the namespace of the claim is in reach', () => {
  const { pods } = fixture();
  assert.equal(pods.outOfReach(gateway, spec), undefined);
  const standing = pods.outOfReach({ ...gateway, metadata: { ...metadata, namespace: 'far' } }, spec);
  assert.deepEqual(
    [standing?.state, standing?.state === 'failed' && standing.reason],
    ['failed', 'VolumeNotReachable'],
  );
});
