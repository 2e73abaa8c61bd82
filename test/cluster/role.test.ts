// The Role that Lyceum ships: it lets the operator do its work and nothing else.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { type ApiServer, apiServer } from './api-server.ts';

let server: ApiServer;
let namespace: string;
before(async () => {
  server = await apiServer();
  namespace = await server.namespace();
  await server.operatorAccount(namespace);
});

async function may(verb: string, resource: string, inNamespace = namespace): Promise<boolean> {
  const [name, subresource] = resource.split('/') as [string, string?];
  const [plural, ...group] = name.split('.') as [string, ...string[]];
  const { body } = await server.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user: `system:serviceaccount:${namespace}:lyceum-operator`,
      resourceAttributes: { namespace: inNamespace, verb, group: group.join('.'), resource: plural, subresource },
    },
  });
  return (body as { status: { allowed: boolean } }).status.allowed;
}

const kinds = ['skillsources.lyceum.dev', 'skillgateways.lyceum.dev'];

test('the operator reads its kinds and ConfigMaps, and writes status and events', async () => {
  for (const kind of [...kinds, 'configmaps'])
    for (const verb of ['list', 'watch']) assert.ok(await may(verb, kind), `${verb} ${kind}`);
  assert.ok(await may('get', 'configmaps'));
  for (const kind of kinds) {
    assert.ok(await may('patch', `${kind}/status`));
    for (const verb of ['get', 'update']) assert.equal(await may(verb, `${kind}/status`), false, verb);
  }
  assert.ok(await may('create', 'events.events.k8s.io'));
  assert.equal(await may('patch', 'events.events.k8s.io'), false);
});

test('the operator reads a Secret that a source names, and can neither list nor watch Secrets', async () => {
  assert.ok(await may('get', 'secrets'));
  for (const verb of ['list', 'watch', 'create', 'update', 'patch', 'delete'])
    assert.equal(await may(verb, 'secrets'), false, verb);
});

test("the operator keeps gateways' Deployments and Services, and deletes none", async () => {
  for (const kind of ['deployments.apps', 'services']) {
    for (const verb of ['get', 'list', 'watch', 'create', 'patch']) assert.ok(await may(verb, kind), `${verb} ${kind}`);
    for (const verb of ['update', 'delete', 'deletecollection']) assert.equal(await may(verb, kind), false, verb);
  }
});

test('the operator reads a pod whose token it is shown, and can neither list nor watch pods', async () => {
  assert.ok(await may('get', 'pods'));
  for (const verb of ['list', 'watch', 'create', 'update', 'patch', 'delete'])
    assert.equal(await may(verb, 'pods'), false, verb);
  for (const resource of ['pods/exec', 'pods/log', 'serviceaccounts/token', 'replicasets.apps'])
    for (const verb of ['get', 'create']) assert.equal(await may(verb, resource), false, resource);
});

test('the operator cannot change specs, ConfigMaps or pods, nor look into another namespace', async () => {
  for (const kind of kinds)
    for (const verb of ['create', 'update', 'patch', 'delete']) assert.equal(await may(verb, kind), false);
  for (const resource of ['configmaps', 'pods', 'serviceaccounts', 'skillgateways.lyceum.dev/finalizers'])
    assert.equal(await may('create', resource), false);
  for (const resource of [...kinds, 'configmaps', 'deployments.apps'])
    assert.equal(await may('list', resource, 'default'), false);
  assert.equal(await may('get', 'secrets', 'default'), false);
});

test('the ServiceAccount kubeconfig of the tests is bound to that Role', async () => {
  const { kubeconfig } = await server.operatorAccount(await server.namespace());
  const as = (...args: string[]) => server.tryKubectl(['--kubeconfig', kubeconfig, ...args]);
  assert.equal((await as('get', 'skillsources')).code, 0);
  assert.match((await as('get', 'secrets')).stderr, /forbidden/);
});
