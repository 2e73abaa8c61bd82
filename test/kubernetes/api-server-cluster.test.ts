import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { ApiServerCluster, connectionsFor } from '../../operator/kubernetes/api-server-cluster.ts';
import { Connection } from '../../operator/kubernetes/connection.ts';
import { KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';
import {
  FakeApiServer,
  failing,
  json,
  listing,
  type OpenWatch,
  type Recorded,
  silent,
  skillSource,
} from './fake-api-server.ts';
import { until } from './until.ts';

interface Running {
  server: FakeApiServer;
  cluster: ApiServerCluster;
  log: string[];
  stop(): Promise<void>;
  /** Requests that are neither lists nor watches. */
  calls(): Recorded[];
  /** The watch of SkillSources. */
  sourceWatch(): Promise<OpenWatch>;
}

async function running(context: TestContext, namespaces = ['flow']): Promise<Running> {
  const server = await FakeApiServer.start();
  const log: string[] = [];
  const connection = new Connection({
    load: () => server.kubeConfig(),
    connections: connectionsFor(namespaces.length),
    requested() {},
  });
  const cluster = new ApiServerCluster({
    connection,
    namespaces,
    instance: 'lyceum-0',
    metrics: { restarted() {}, heard() {} },
    log: pino({ level: 'debug' }, { write: (line: string) => void log.push(line) }),
  });
  const stopping = new AbortController();
  let run: Promise<void> | undefined;
  const sources: OpenWatch[] = [];
  const opened = server.holding;
  server.watchAnswers.push(
    ...Array.from({ length: 3 * namespaces.length }, () => (response: ServerResponse, request: Recorded) => {
      opened(response, request);
      if (request.path.endsWith('/skillsources')) sources.push(server.watches.at(-1)!);
    }),
  );
  const stop = async (): Promise<void> => {
    stopping.abort();
    await run;
  };
  context.after(async () => {
    await stop();
    await connection.close();
    await server[Symbol.asyncDispose]();
  });
  run = cluster.run(stopping.signal);
  return {
    server,
    cluster,
    log,
    stop,
    calls: () =>
      server.requests.filter(({ method, path }) => method !== 'GET' || /\/(secrets|configmaps)\/./.test(path)),
    async sourceWatch() {
      await until(() => sources.length > 0, 'the watch of sources');
      return sources[0]!;
    },
  };
}

/** Has a SkillSource `flow/s` in the store, with the given status. */
async function withSource(context: TestContext, status?: unknown): Promise<Running & { watch: OpenWatch }> {
  const made = await running(context);
  const watch = await made.sourceWatch();
  watch.send('ADDED', skillSource('s', '5', { status }));
  await until(() => made.cluster.sources.get('flow/s') !== undefined, 'the source');
  return { ...made, watch };
}

const applied = (resourceVersion: string) => json(200, { metadata: { name: 's', uid: 'uid-s', resourceVersion } });

test('all three kinds of every namespace are watched, and synced when the last of them is', async (t) => {
  const { cluster, server } = await running(t, ['flow', 'team']);
  await cluster.synced(AbortSignal.timeout(5_000));
  await until(() => server.watches.length === 6, 'all watches');
  assert.deepEqual(server.listRequests.map(({ path }) => path).toSorted(), [
    '/api/v1/namespaces/flow/configmaps',
    '/api/v1/namespaces/team/configmaps',
    '/apis/lyceum.dev/v1alpha1/namespaces/flow/skillgateways',
    '/apis/lyceum.dev/v1alpha1/namespaces/flow/skillsources',
    '/apis/lyceum.dev/v1alpha1/namespaces/team/skillgateways',
    '/apis/lyceum.dev/v1alpha1/namespaces/team/skillsources',
  ]);
  assert.deepEqual([cluster.sources.synced, cluster.gateways.synced, cluster.configMaps.synced], [true, true, true]);
  assert.equal(cluster.state().length, 6);
});

test('a kind that cannot be listed keeps the cluster from being synced, and its state says why', async (t) => {
  const server = await FakeApiServer.start();
  t.after(() => server[Symbol.asyncDispose]());
  server.lists.push(
    ...Array.from(
      { length: 3 },
      () => (response: ServerResponse, request: Recorded) =>
        request.path.endsWith('/skillsources') ? failing(404)(response, request) : listing([], '1')(response, request),
    ),
  );
  const connection = new Connection({ load: () => server.kubeConfig(), connections: 11, requested() {} });
  const cluster = new ApiServerCluster({
    connection,
    namespaces: ['flow'],
    instance: 'lyceum-0',
    metrics: { restarted() {}, heard() {} },
    log: pino({ level: 'silent' }),
  });
  const stopping = new AbortController();
  const run = cluster.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await run;
    await connection.close();
  });
  await until(() => cluster.gateways.synced && cluster.configMaps.synced, 'the others');
  await until(() => cluster.state().some(({ problem }) => problem !== undefined), 'the state');
  const [problem] = cluster.state().filter((state) => !state.synced);
  assert.deepEqual([problem?.resource, problem?.problem?.reason], ['skillsources', 'notFound']);
  const waiting = new AbortController();
  const synced = cluster.synced(waiting.signal);
  waiting.abort(new Error('enough'));
  await assert.rejects(synced, /enough/);
});

test('a Secret is read with its bytes; one that is not there is undefined', async (t) => {
  const { server, cluster, calls } = await running(t);
  server.other = json(200, {
    metadata: { name: 'github-token', resourceVersion: '77' },
    data: { password: Buffer.from([0, 255, 10]).toString('base64') },
  });
  const secret = await cluster.readSecret('flow', 'github-token');
  assert.equal(calls()[0]?.path, '/api/v1/namespaces/flow/secrets/github-token');
  assert.equal(secret?.resourceVersion, '77');
  assert.deepEqual(secret?.data.get('password'), Buffer.from([0, 255, 10]));
  server.other = failing(404);
  assert.equal(await cluster.readSecret('flow', 'missing'), undefined);
  server.other = failing(403);
  await assert.rejects(
    cluster.readSecret('flow', 'theirs'),
    (error) => error instanceof KubernetesError && error.kind === 'forbidden',
  );
});

test('a ConfigMap is read with its texts, its binary data and its annotations', async (t) => {
  const { server, cluster } = await running(t);
  server.other = json(200, {
    metadata: { annotations: { 'lyceum.dev/paths': '{}' } },
    data: { 'a.md': 'Größe\r\n' },
    binaryData: { 'b.bin': Buffer.from([0, 255]).toString('base64') },
  });
  const content = await cluster.readConfigMap('flow', 'skills');
  assert.deepEqual(
    content?.data,
    new Map([
      ['b.bin', Buffer.from([0, 255])],
      ['a.md', Buffer.from('Größe\r\n')],
    ]),
  );
  assert.deepEqual(content?.annotations, { 'lyceum.dev/paths': '{}' });
});

test('a name that no object can have asks the API server for nothing', async (t) => {
  const { cluster, calls } = await running(t);
  for (const name of ['..', '.', '', 'a/b', 'a?watch=1', 'UPPER', 'a..b', '-a', 'x'.repeat(254)]) {
    assert.equal(await cluster.readSecret('flow', name), undefined);
    assert.equal(await cluster.readConfigMap('flow', name), undefined);
  }
  assert.deepEqual(calls(), []);
});

test('a status is applied whole, by force, under one field manager, without nulls or a resource version', async (t) => {
  const { server, cluster, calls } = await withSource(t);
  server.other = applied('6');
  const status = {
    observedGeneration: 1,
    revision: undefined,
    artifact: null,
    conditions: [{ type: 'Ready', reason: null }],
  };
  await cluster.applyStatus(cluster.sources.get('flow/s')!, status);
  const [call] = calls();
  assert.equal(call?.method, 'PATCH');
  assert.equal(call?.path, '/apis/lyceum.dev/v1alpha1/namespaces/flow/skillsources/s/status');
  assert.deepEqual(Object.fromEntries(call!.query), { fieldManager: 'lyceum', force: 'true' });
  assert.equal(call?.headers['content-type'], 'application/apply-patch+yaml');
  assert.deepEqual(JSON.parse(call!.body), {
    apiVersion: 'lyceum.dev/v1alpha1',
    kind: 'SkillSource',
    metadata: { name: 's', namespace: 'flow' },
    status: { observedGeneration: 1, conditions: [{ type: 'Ready' }] },
  });
});

test('a status that is there already is not written', async (t) => {
  const status = { observedGeneration: 1, conditions: [{ type: 'Ready', status: 'True' }] };
  const { cluster, calls } = await withSource(t, status);
  await cluster.applyStatus(cluster.sources.get('flow/s')!, { ...status, revision: undefined });
  assert.deepEqual(calls(), []);
});

test('a status that goes back is written, though the store does not show the write before it', async (t) => {
  const { server, cluster, calls, watch } = await withSource(t, { revision: 'old' });
  server.other = applied('6');
  const object = cluster.sources.get('flow/s')!;
  await cluster.applyStatus(object, { revision: 'new' });
  await cluster.applyStatus(object, { revision: 'old' });
  assert.deepEqual(
    calls().map(({ body }) => JSON.parse(body).status.revision),
    ['new', 'old'],
  );
  watch.send('MODIFIED', skillSource('s', '6', { status: { revision: 'old' } }));
  await until(() => cluster.sources.get('flow/s')?.metadata.resourceVersion === '6', 'the write is shown');
  await cluster.applyStatus(object, { revision: 'old' });
  assert.equal(calls().length, 2);
});

test('a write whose answer was lost is not taken for granted', async (t) => {
  const { server, cluster, calls } = await withSource(t, { revision: 'old' });
  const object = cluster.sources.get('flow/s')!;
  server.other = (response) => void response.destroy();
  await assert.rejects(cluster.applyStatus(object, { revision: 'new' }), KubernetesError);
  server.other = applied('7');
  await cluster.applyStatus(object, { revision: 'old' });
  assert.equal(calls().length, 2);
});

test('an object that is gone, or whose namesake has taken its place, gets no status', async (t) => {
  const { server, cluster, calls, watch } = await withSource(t);
  const object = cluster.sources.get('flow/s')!;
  server.other = failing(404);
  await cluster.applyStatus(object, { revision: 'deleted a moment ago' });
  assert.equal(calls().length, 1);
  const namesake = skillSource('s', '9') as { metadata: { uid: string } };
  namesake.metadata.uid = 'another';
  watch.send('MODIFIED', namesake);
  await until(() => cluster.sources.get('flow/s')?.metadata.uid === 'another', 'the namesake');
  await cluster.applyStatus(object, { revision: 'x' });
  watch.send('DELETED', namesake);
  await until(() => cluster.sources.get('flow/s') === undefined, 'the deletion');
  await cluster.applyStatus(object, { revision: 'x' });
  assert.equal(calls().length, 1);
});

test('a conflict or a refusal of a status is told', async (t) => {
  const { server, cluster } = await withSource(t);
  const object = cluster.sources.get('flow/s')!;
  for (const [code, kind] of [
    [409, 'conflict'],
    [422, 'invalid'],
    [500, 'server'],
  ] as const) {
    server.other = failing(code);
    await assert.rejects(
      cluster.applyStatus(object, { revision: 'x' }),
      (error) => error instanceof KubernetesError && error.kind === kind,
    );
  }
});

test('an event says who, what and about which object, in at most 1 kB', async (t) => {
  const { server, cluster, calls } = await withSource(t);
  server.other = json(201, {});
  const note = 'ü'.repeat(600);
  cluster.recordEvent(cluster.sources.get('flow/s')!, { type: 'Warning', reason: 'NotFound', action: 'Fetch', note });
  await until(() => calls().length === 1, 'the event');
  const [call] = calls();
  assert.equal(`${call?.method} ${call?.path}`, 'POST /apis/events.k8s.io/v1/namespaces/flow/events');
  const event = JSON.parse(call!.body);
  assert.match(event.metadata.name, /^s\.[0-9a-f]{16}$/);
  assert.match(event.eventTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  assert.ok(Buffer.byteLength(event.note) <= 1024 && event.note.length > 500 && !event.note.includes('\ufffd'));
  assert.deepEqual(
    { ...event, metadata: undefined, eventTime: undefined, note: undefined },
    {
      metadata: undefined,
      eventTime: undefined,
      note: undefined,
      type: 'Warning',
      reason: 'NotFound',
      action: 'Fetch',
      reportingController: 'lyceum.dev/operator',
      reportingInstance: 'lyceum-0',
      regarding: { apiVersion: 'lyceum.dev/v1alpha1', kind: 'SkillSource', namespace: 'flow', name: 's', uid: 'uid-s' },
    },
  );
});

test('events of one moment have names of their own', async (t) => {
  const { server, cluster, calls } = await withSource(t);
  server.other = json(201, {});
  const object = cluster.sources.get('flow/s')!;
  for (let at = 0; at < 20; at++) cluster.recordEvent(object, { type: 'Normal', reason: 'R', action: 'A', note: '' });
  await until(() => calls().length === 20, 'all events');
  assert.equal(new Set(calls().map(({ body }) => JSON.parse(body).metadata.name)).size, 20);
});

test('events that cannot be recorded are logged, bounded in number, and hold nobody up', async (t) => {
  const { server, cluster, calls, log } = await withSource(t);
  const held: (() => void)[] = [];
  server.other = (response, request) => void held.push(() => failing(403)(response, request));
  const object = cluster.sources.get('flow/s')!;
  for (let at = 0; at < 1_000; at++)
    cluster.recordEvent(object, { type: 'Normal', reason: 'R', action: 'A', note: 'n' });
  await until(() => held.length === 1, 'the first');
  server.other = failing(403);
  held[0]!();
  await until(() => log.some((line) => line.includes('events were dropped')), 'the end');
  assert.ok(calls().length < 300, `${calls().length} events`);
  assert.equal(JSON.parse(log.find((line) => line.includes('events were dropped'))!).dropped, 1_000 - calls().length);
  assert.ok(log.some((line) => line.includes('an event was not recorded')));
  server.other = json(201, {});
  const before = calls().length;
  cluster.recordEvent(object, { type: 'Normal', reason: 'R', action: 'A', note: 'n' });
  await until(() => calls().length === before + 1, 'the next event');
});

test('a stop sends the last events, and does not wait long for an API server that keeps silent', async (t) => {
  const { server, cluster, stop, calls } = await withSource(t);
  const object = cluster.sources.get('flow/s')!;
  server.other = json(201, {});
  for (let at = 0; at < 3; at++) cluster.recordEvent(object, { type: 'Normal', reason: 'R', action: 'A', note: 'n' });
  await stop();
  assert.equal(calls().length, 3);
  await until(() => server.open === 0, 'nothing is open');
  const second = await withSource(t);
  second.server.other = silent;
  second.cluster.recordEvent(object, { type: 'Normal', reason: 'R', action: 'A', note: 'n' });
  const began = performance.now();
  await second.stop();
  assert.ok(performance.now() - began < 4_000);
});
