// The custom resources as people meet them through kubectl, on a real API server.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { crdOf, kinds, type StructuralSchema } from '../../operator/resources/crd.ts';
import { type ApiServer, apiServer } from '../cluster/api-server.ts';

let server: ApiServer;
let namespace: string;
before(async () => {
  server = await apiServer();
  namespace = await server.namespace();
});

const kubectl = (...args: string[]) => server.kubectl(['-n', namespace, ...args]);
const object = (kind: string, name: string, spec?: unknown, more: object = {}) =>
  JSON.stringify({ apiVersion: 'lyceum.dev/v1alpha1', kind, metadata: { name }, ...(spec ? { spec } : {}), ...more });
const apply = (manifest: string) => server.kubectl(['-n', namespace, 'apply', '-f', '-'], manifest);
const patchStatus = (resource: string, status: unknown) =>
  kubectl('patch', resource, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }));

const ready = (observedGeneration: number) => ({
  observedGeneration,
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'Succeeded',
      message: 'Serving 14 skills; 3 problems',
      observedGeneration,
      lastTransitionTime: '2026-11-30T10:00:00Z',
    },
  ],
});

/** The cells of a table that kubectl printed, by column. Cells hold no two blanks in a row. */
function table(printed: string): Record<string, string>[] {
  const [head, ...rows] = printed.trimEnd().split('\n');
  const columns = [...head!.matchAll(/\S+\s*/g)];
  return rows.map((row) =>
    Object.fromEntries(
      columns.map(({ 0: text, index }) => [text.trim(), row.slice(index, index + text.length).trim()]),
    ),
  );
}

test('a new SkillSource is never taken for a healthy one', async () => {
  await apply(object('SkillSource', 'new', { url: 'github://obra/superpowers' }));
  assert.equal(await kubectl('get', 'sksrc', 'new', '-o', 'jsonpath={.status}'), '{"observedGeneration":-1}');
  const waited = await server.tryKubectl([
    '-n',
    namespace,
    'wait',
    'sksrc/new',
    '--for=condition=Ready',
    '--timeout=1s',
  ]);
  assert.notEqual(waited.code, 0);
});

test('kubectl wait holds until the status is about the current spec', async () => {
  await apply(object('SkillSource', 'waited', { url: 'github://obra/superpowers' }));
  await patchStatus('sksrc/waited', ready(1));
  await kubectl('wait', 'sksrc/waited', '--for=condition=Ready', '--timeout=5s');
  await apply(object('SkillSource', 'waited', { url: 'github://obra/superpowers', ref: 'main' }));
  const waited = await server.tryKubectl([
    '-n',
    namespace,
    'wait',
    'sksrc/waited',
    '--for=condition=Ready',
    '--timeout=1s',
  ]);
  assert.notEqual(waited.code, 0);
});

test('kubectl get skillsources shows where each stands', async () => {
  await apply(object('SkillSource', 'shown', { url: 'github://obra/superpowers' }));
  await patchStatus('sksrc/shown', { ...ready(1), revision: 'main@sha1:b36e08f', counts: { skills: 14, problems: 3 } });
  const printed = await kubectl('get', 'sksrc', 'shown');
  assert.match(printed, /^NAME +URL +REVISION +SKILLS +PROBLEMS +READY +STATUS +AGE\n/);
  const { AGE, ...cells } = table(printed)[0]!;
  assert.match(AGE!, /^\d+s$/);
  assert.deepEqual(cells, {
    NAME: 'shown',
    URL: 'github://obra/superpowers',
    REVISION: 'main@sha1:b36e08f',
    SKILLS: '14',
    PROBLEMS: '3',
    READY: 'True',
    STATUS: 'Serving 14 skills; 3 problems',
  });
});

test('kubectl get skillgateways shows where each stands', async () => {
  await apply(object('SkillGateway', 'agents'));
  const url = 'http://127.0.0.1:8000/mcp';
  await patchStatus('skgw/agents', { ...ready(1), url, replicas: 2, catalogue: { sources: 3, skills: 90 } });
  const printed = await kubectl('get', 'skgw', 'agents');
  assert.match(printed, /^NAME +URL +SOURCES +SKILLS +REPLICAS +READY +AGE\n/);
  const { AGE, ...cells } = table(printed)[0]!;
  assert.match(AGE!, /^\d+s$/);
  assert.deepEqual(cells, { NAME: 'agents', URL: url, SOURCES: '3', SKILLS: '90', REPLICAS: '2', READY: 'True' });
});

test('kubectl get lyceum shows both kinds', async () => {
  await apply(object('SkillSource', 'both', { url: 'configmap://x' }));
  await apply(object('SkillGateway', 'both'));
  const names = (await kubectl('get', 'lyceum', '-o', 'name')).trim().split('\n');
  for (const kind of ['skillsource', 'skillgateway']) assert.ok(names.includes(`${kind}.lyceum.dev/both`));
});

test('a field that does not exist is refused by its name', async () => {
  const manifest = object('SkillSource', 'typo', { url: 'github://a/b', refesh: '5m', include: { songs: [] } });
  const { code, stderr } = await server.tryKubectl(['-n', namespace, 'apply', '-f', '-'], manifest);
  assert.notEqual(code, 0);
  for (const field of ['spec.refesh', 'spec.include.songs'])
    assert.ok(stderr.includes(`unknown field "${field}"`), stderr);
});

test('a SkillGateway gives its pods no right that others have not', async () => {
  const wishes = {
    serviceAccountName: 'admin',
    hostNetwork: true,
    volumes: [{ name: 'host', hostPath: { path: '/' } }],
    containers: [{ name: 'server', securityContext: { privileged: true } }],
    image: 'example.com/mine',
  };
  const manifest = object('SkillGateway', 'wide', wishes);
  const { code, stderr } = await server.tryKubectl(['-n', namespace, 'apply', '-f', '-'], manifest);
  assert.notEqual(code, 0);
  for (const field of Object.keys(wishes)) assert.ok(stderr.includes(`unknown field "spec.${field}"`), stderr);
});

test('kubectl apply shows what to write, and no credential', async () => {
  const manifest = object('SkillSource', 'bad', { url: 'git+https://ann:hunter2@example.com/x', refresh: '1s' });
  const { code, stdout, stderr } = await server.tryKubectl(['-n', namespace, 'apply', '-f', '-'], manifest);
  assert.notEqual(code, 0);
  assert.match(stderr, /spec\.url: .*no credentials in the URL: put them in a Secret and name it in secretRef/);
  assert.match(stderr, /spec\.refresh: .*write a duration such as 30s, 5m or 1h30m, at least 5s/);
  assert.doesNotMatch(stdout + stderr, /hunter2/);
});

test('a status in a manifest changes nothing', async () => {
  await apply(object('SkillSource', 'forged', { url: 'github://a/b' }, { status: ready(1) }));
  assert.equal(await kubectl('get', 'sksrc', 'forged', '-o', 'jsonpath={.status}'), '{"observedGeneration":-1}');
});

test('kubectl explain has a text for every field', async () => {
  type Document = { components: { schemas: Record<string, StructuralSchema> } };
  const deadline = Date.now() + 30_000;
  let schemas: Document['components']['schemas'] = {};
  // The server publishes a new kind's schema a moment after it serves the kind.
  while (kinds.some((kind) => !schemas[`dev.lyceum.v1alpha1.${kind}`])) {
    assert.ok(Date.now() < deadline, 'the schemas are not published');
    const { body } = await server.request('GET', '/openapi/v3/apis/lyceum.dev/v1alpha1');
    schemas = (body as Partial<Document>).components?.schemas ?? {};
    await pause(50);
  }
  for (const kind of kinds) {
    const described: string[] = [];
    const walk = (published: StructuralSchema, wanted: StructuralSchema, at: string): void => {
      assert.equal(published.description, wanted.description, at);
      assert.ok((published.description ?? '').length > 3, at);
      described.push(at);
      for (const [name, field] of Object.entries(wanted.properties ?? {}))
        walk(published.properties![name]!, field, `${at}.${name}`);
      if (wanted.items) walk(published.items!, wanted.items, `${at}[]`);
    };
    const published = schemas[`dev.lyceum.v1alpha1.${kind}`]!;
    for (const part of ['spec', 'status'])
      walk(published.properties![part]!, crdOf(kind).schema.properties![part]!, part);
    assert.ok(described.length > 20);
  }
  const explained = await kubectl('explain', 'skillsource.spec.refresh');
  assert.match(explained.replace(/\s+/g, ' '), /How often to look for changes: 30s, 5m, 1h30m; at least 5s\./);
});
