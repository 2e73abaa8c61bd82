// Who calls, as far as no real API server shows it on demand: keys that are rotated or hidden, pods that took another's name.
// A fake one is asked here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Callers, type CallersOptions } from '../../operator/callers/callers.ts';
import { Issuer, KeysUnavailable } from '../../operator/callers/issuer.ts';
import { podOfToken } from '../../operator/callers/token.ts';
import type { KubernetesObject, ObjectMeta } from '../../operator/kubernetes/cluster.ts';
import { KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';
import { FakeClock } from '../kubernetes/fake-clock.ts';

const issuerName = 'https://kubernetes.default.svc.cluster.local';

const serviceaccount = { name: 'default' };

class FakeApiServer {
  readonly clock = new FakeClock();
  readonly paths: string[] = [];
  readonly issuer = new Issuer({ getJson: (path) => this.answer(path) }, this.clock);
  readonly #keys = new Map<string, { sign: CryptoKey; published: object }>();
  /** By path. */
  readonly pods = new Map<string, object>();
  away = false;

  static async start(): Promise<FakeApiServer> {
    const server = new FakeApiServer();
    await server.addKey('a');
    return server;
  }

  async addKey(kid: string): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const published = { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' };
    this.#keys.set(kid, { sign: privateKey, published });
  }

  /** The key is used no more; tokens that it signed may still be around. */
  async retire(kid: string): Promise<string> {
    const token = await this.token(kid);
    this.#keys.delete(kid);
    return token;
  }

  token(kid: string, claims: object = {}): Promise<string> {
    const now = Math.floor(this.clock.now() / 1000);
    const own = { 'kubernetes.io': { namespace: 'flow', pod: { name: 'agents-1', uid: '1' }, serviceaccount } };
    const standard = { iss: issuerName, aud: ['lyceum'], sub: 'x', iat: now, exp: now + 3600 };
    return new SignJWT({ ...standard, ...own, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid })
      .sign(this.#keys.get(kid)!.sign);
  }

  known(token: string): Promise<boolean> {
    return podOfToken(token, this.issuer, this.clock.now()).then((pod) => pod !== undefined);
  }

  /** How often the keys were asked for. */
  get fetches(): number {
    return this.paths.filter((path) => path === '/openid/v1/jwks').length;
  }

  async answer(path: string): Promise<unknown> {
    this.paths.push(path);
    if (this.away) throw new Error('away');
    if (path === '/.well-known/openid-configuration') {
      return { issuer: issuerName, jwks_uri: 'https://elsewhere.example/keys' };
    }
    if (path !== '/openid/v1/jwks') {
      const pod = this.pods.get(path);
      if (pod instanceof Error) throw pod;
      if (pod === undefined) throw new KubernetesError('notFound', path);
      return pod;
    }
    return { keys: [...this.#keys.values()].map(({ published }) => published) };
  }
}

test('keys are asked for once for many tokens, of the API server itself', async () => {
  const server = await FakeApiServer.start();
  const token = await server.token('a');
  assert.deepEqual(await Promise.all([token, token, token].map((one) => server.known(one))), [true, true, true]);
  assert.deepEqual(server.paths, ['/.well-known/openid-configuration', '/openid/v1/jwks']);
});

test('a key that is new is known at once; ids that nobody has cause one question in three seconds', async () => {
  const server = await FakeApiServer.start();
  assert.ok(await server.known(await server.token('a')));
  server.clock.advance(3_000);
  await server.addKey('b');
  assert.ok(await server.known(await server.token('b')));
  assert.equal(server.fetches, 2);
  await server.addKey('c');
  const unknown = await server.retire('c');
  for (let more = 0; more < 20; more++) assert.equal(await server.known(unknown), false);
  assert.equal(server.fetches, 2);
  server.clock.advance(3_000);
  for (let more = 0; more < 20; more++) assert.equal(await server.known(unknown), false);
  assert.equal(server.fetches, 3);
});

test('a key that was taken out of use is trusted for ten minutes at most', async () => {
  const server = await FakeApiServer.start();
  await server.addKey('b');
  assert.ok(await server.known(await server.token('b')));
  const old = await server.retire('b');
  server.clock.advance(9 * 60_000);
  assert.ok(await server.known(old));
  server.clock.advance(60_000);
  assert.equal(await server.known(old), false);
});

test('keys that cannot be had are no reason to let somebody in, nor to ask without pause', async () => {
  const server = await FakeApiServer.start();
  const token = await server.token('a');
  server.away = true;
  for (let more = 0; more < 5; more++) await assert.rejects(server.known(token), KeysUnavailable);
  assert.equal(server.fetches, 1);
  server.away = false;
  server.clock.advance(3_000);
  assert.ok(await server.known(token));
  server.away = true;
  server.clock.advance(10 * 60_000);
  await assert.rejects(server.known(token), KeysUnavailable);
});

test('only a token of this issuer for this audience, bound to a pod and with an end, names one', async () => {
  const server = await FakeApiServer.start();
  const pod = { namespace: 'flow', name: 'agents-1', uid: '1', serviceAccount: 'default' };
  assert.deepEqual(await podOfToken(await server.token('a'), server.issuer, server.clock.now()), pod);
  const cases: Record<string, object> = {
    'another issuer': { iss: 'https://elsewhere.example' },
    'another audience': { aud: 'api' },
    'no audience': { aud: undefined },
    'no end': { exp: undefined },
    'no pod': { 'kubernetes.io': { namespace: 'flow', serviceaccount } },
    'a pod without uid': { 'kubernetes.io': { namespace: 'flow', pod: { name: 'agents-1' }, serviceaccount } },
    'a pod of no ServiceAccount': { 'kubernetes.io': { namespace: 'flow', pod: { name: 'agents-1', uid: '1' } } },
    'no claims of Kubernetes': { 'kubernetes.io': undefined },
    'not yet': { nbf: Math.floor(server.clock.now() / 1000) + 60 },
  };
  for (const [what, claims] of Object.entries(cases)) {
    assert.equal(await server.known(await server.token('a', claims)), false, what);
  }
});

const meta = (name: string, more: Partial<ObjectMeta> = {}): ObjectMeta => ({
  namespace: 'flow',
  name,
  uid: `uid of ${name}`,
  generation: 1,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
  labels: {},
  annotations: {},
  ...more,
});

const storeOf = (...objects: { kind: string; metadata: ObjectMeta }[]) => {
  const all = objects.map((object): KubernetesObject => ({ apiVersion: 'v1', ...object }));
  return {
    synced: true,
    list: () => all,
    get: (key: string) => all.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === key),
    onChange() {},
  };
};

const gateway = { kind: 'SkillGateway', metadata: meta('agents') };
const controller = { kind: 'SkillGateway', name: 'agents', uid: 'uid of agents' };
const deployment = { kind: 'Deployment', metadata: meta('agents', { controller }) };
const podPath = '/api/v1/namespaces/flow/pods/agents-1';
const labels = {
  'app.kubernetes.io/name': 'lyceum-gateway',
  'app.kubernetes.io/instance': 'agents',
  'pod-template-hash': 'abc',
};
const pod = {
  metadata: {
    ...meta('agents-1', { uid: '1', labels }),
    ownerReferences: [{ controller: true, kind: 'ReplicaSet', name: 'agents-abc', uid: '9' }],
  },
};

/** Whom the operator takes the bearer of a token for. */
async function caller(
  server: FakeApiServer,
  token: string,
  { gateways = storeOf(gateway), deployments = storeOf(deployment), sidecar }: Partial<Edges> = {},
) {
  const callers = new Callers({
    connection: { getJson: (path) => server.answer(path) },
    cluster: {
      gateways,
      children: deployments && { store: () => deployments, onServed() {}, read: never, apply: never, remove: never },
    },
    sidecar,
    clock: server.clock,
    now: () => server.clock.now(),
  });
  return callers.identify(`Bearer ${token}`);
}

interface Edges {
  gateways: ReturnType<typeof storeOf>;
  deployments: ReturnType<typeof storeOf>;
  sidecar: CallersOptions['sidecar'];
}

const never = (): never => {
  throw new Error('nobody asks for that');
};

test('a pod speaks for the gateway whose Deployment it comes from, under its own name and uid', async () => {
  const server = await FakeApiServer.start();
  const token = await server.token('a');
  const from = (more: Partial<typeof pod.metadata>): Promise<unknown> => {
    server.pods.set(podPath, { metadata: { ...pod.metadata, ...more } });
    return caller(server, token);
  };
  assert.deepEqual(await from({}), { gateway: 'flow/agents' });
  const owner = pod.metadata.ownerReferences[0]!;
  const cases: Record<string, Partial<typeof pod.metadata>> = {
    'another pod that took its name': { uid: '2' },
    'no labels': { labels: {} as typeof labels },
    'the labels of another gateway': { labels: { ...labels, 'app.kubernetes.io/instance': 'others' } },
    'the labels of another program': { labels: { ...labels, 'app.kubernetes.io/name': 'other' } },
    'a ReplicaSet of another template': { labels: { ...labels, 'pod-template-hash': 'xyz' } },
    'the ReplicaSet of another Deployment': { ownerReferences: [{ ...owner, name: 'others-abc' }] },
    'another kind of owner': { ownerReferences: [{ ...owner, kind: 'Job' }] },
    'an owner that does not control it': { ownerReferences: [{ ...owner, controller: false }] },
    'no owner': { ownerReferences: [] },
  };
  for (const [what, more] of Object.entries(cases)) assert.equal(await from(more), 'stranger', what);

  server.pods.set(podPath, pod);
  const gone = { ...gateway, metadata: { ...gateway.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  const another = { ...gateway, metadata: { ...gateway.metadata, uid: 'another' } };
  for (const gateways of [storeOf(), storeOf(gone), storeOf(another)]) {
    assert.equal(await caller(server, token, { gateways }), 'stranger');
  }
  server.pods.clear();
  assert.equal(await caller(server, token), 'stranger');
});

test('pods are read only where there are some of gateways, and a Role that forbids it is a fault, not a stranger', async () => {
  const server = await FakeApiServer.start();
  const elsewhere = { 'kubernetes.io': { namespace: 'other', pod: { name: 'agents-1', uid: '1' }, serviceaccount } };
  assert.equal(await caller(server, await server.token('a', elsewhere)), 'stranger');
  assert.ok(server.paths.every((path) => !path.includes('/pods/')));
  server.pods.set(podPath, new KubernetesError('forbidden', 'grant it'));
  await assert.rejects(caller(server, await server.token('a')), { kind: 'forbidden' });
});

test("a server in the operator's own pod speaks for its gateway, by the host name that pods have", async () => {
  const server = await FakeApiServer.start();
  const sidecar = { gateway: 'flow/agents', namespace: 'flow', hostname: 'agents-1' };
  const deployments = storeOf();
  const as = (name: string, more: Partial<typeof sidecar> = {}, namespace = 'flow') =>
    server
      .token('a', { 'kubernetes.io': { namespace, pod: { name, uid: '1' }, serviceaccount } })
      .then((token) => caller(server, token, { deployments, sidecar: { ...sidecar, ...more } }));
  assert.deepEqual(await as('agents-1'), { gateway: 'flow/agents' });
  assert.equal(await as('agents-2'), 'stranger');
  assert.equal(await as('agents-1', {}, 'other'), 'stranger');
  assert.equal(await as('agents-1', { gateway: 'flow/missing' }), 'stranger');
  const long = `${'a'.repeat(62)}-bcdef`;
  assert.deepEqual(await as(long, { hostname: 'a'.repeat(62) }), { gateway: 'flow/agents' });
});
