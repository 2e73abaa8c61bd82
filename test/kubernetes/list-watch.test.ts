import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { configMaps, httpRoutes } from '../../operator/kubernetes/watched-resource.ts';
import { type Answer, endingAtOnce, failing, listing, silent, skillSource } from './fake-api-server.ts';
import { until } from './until.ts';
import { watching } from './watching.ts';

const many = (count: number, from = 0): unknown[] =>
  Array.from({ length: count }, (_, at) => skillSource(`s${from + at}`, String(from + at)));

const errorEvent =
  (code: number, details?: unknown): Answer =>
  (response) =>
    void response
      .writeHead(200)
      .end(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code, details } })}\n`);

test('a list comes in pages of 500, and the watch goes on from the resource version of the list', async (t) => {
  const { server, store, start } = await watching(t);
  server.lists.push(listing(many(500), '900', 'more'), listing(many(3, 500), '900'));
  start();
  const watch = await server.watch(0);
  assert.deepEqual(
    server.listRequests.map(({ path, query }) => [path, query.get('limit'), query.get('continue')]),
    [
      ['/apis/lyceum.dev/v1alpha1/namespaces/flow/skillsources', '500', null],
      ['/apis/lyceum.dev/v1alpha1/namespaces/flow/skillsources', '500', 'more'],
    ],
  );
  assert.equal(watch.query.get('resourceVersion'), '900');
  assert.equal(store.list().length, 503);
  assert.equal(store.get('flow/s502')?.metadata.resourceVersion, '502');
});

test('a continue token that has expired starts the list anew, and half a list is never seen', async (t) => {
  const { server, store, start, passPause, told } = await watching(t);
  server.lists.push(listing(many(2), '10', 'old'), failing(410), listing(many(3), '20'));
  start();
  await passPause();
  assert.deepEqual([store.synced, told], [false, []]);
  const watch = await server.watch(0);
  assert.equal(server.listRequests.at(-1)?.query.has('continue'), false);
  assert.equal(watch.query.get('resourceVersion'), '20');
  assert.equal(store.list().length, 3);
});

test('objects too large for one page come in smaller pages', async (t) => {
  const { server, store, start } = await watching(t);
  const huge = (name: string): unknown => skillSource(name, '1', { url: 'x'.repeat(3 * 1024 * 1024) });
  server.lists.push(
    listing(['a', 'b', 'c', 'd', 'e', 'f'].map(huge), '7'),
    listing(['a', 'b', 'c'].map(huge), '7', 'next'),
    listing(['d', 'e', 'f'].map(huge), '7'),
  );
  start();
  await server.watch(0);
  assert.deepEqual(
    server.listRequests.map(({ query }) => [query.get('limit'), query.get('continue')]),
    [
      ['500', null],
      ['125', null],
      ['125', 'next'],
    ],
  );
  assert.equal(store.list().length, 6);
});

for (const [random, seconds] of [
  [0, '300'],
  [0.999999, '600'],
] as const) {
  test(`a watch asks for bookmarks and to be ended after ${seconds} s at the ${random === 0 ? 'least' : 'most'}`, async (t) => {
    const { server, start } = await watching(t, { random });
    start();
    const { query } = await server.watch(0);
    assert.equal(query.get('allowWatchBookmarks'), 'true');
    assert.equal(query.get('timeoutSeconds'), seconds);
  });
}

test('events and bookmarks move the place where the next watch goes on', async (t) => {
  const { server, clock, start, told, restarts } = await watching(t);
  server.lists.push(listing(many(1), '5'));
  start();
  const first = await server.watch(0);
  first.send('MODIFIED', skillSource('s0', '8'));
  await until(() => told.length === 2, 'the change');
  clock.advance(2_000);
  first.end();
  const second = await server.watch(1);
  assert.equal(second.query.get('resourceVersion'), '8');
  second.bookmark('opaque-61');
  clock.advance(2_000);
  second.end();
  const third = await server.watch(2);
  assert.equal(third.query.get('resourceVersion'), 'opaque-61', 'versions are opaque');
  third.send('DELETED', skillSource('s0', '70'));
  await until(() => told.length === 3, 'the deletion');
  clock.advance(2_000);
  third.end();
  assert.equal((await server.watch(3)).query.get('resourceVersion'), '70');
  assert.deepEqual(restarts, ['ended', 'ended', 'ended']);
  assert.equal(server.listRequests.length, 1, 'a watch that ends in good order needs no list');
});

test('a watch that is silent for 150 s is given up; every chunk starts the time anew', async (t) => {
  const { server, clock, start, restarts, heard, passPause } = await watching(t);
  start();
  const watch = await server.watch(0);
  await until(() => clock.waiting.length === 3, 'the watch is open');
  clock.advance(149_000);
  const before = heard();
  watch.bookmark('2');
  await until(() => heard() > before, 'the bookmark');
  clock.advance(149_000);
  assert.equal(watch.isOpen, true);
  assert.deepEqual(restarts, []);
  clock.advance(1_000);
  await until(() => !watch.isOpen, 'the silent watch is closed');
  await until(() => restarts.length === 1, 'the restart');
  assert.deepEqual(restarts, ['idle']);
  await passPause();
  assert.equal((await server.watch(1)).query.get('resourceVersion'), '2');
  assert.equal(server.listRequests.length, 1);
});

test('a watch whose headers never come is given up after 150 s as well, not before', async (t) => {
  const { server, clock, start, restarts } = await watching(t);
  server.watchAnswers.push(silent);
  start();
  await until(() => server.watchRequests.length === 1, 'the watch is asked for');
  clock.advance(149_999);
  assert.deepEqual(restarts, []);
  clock.advance(1);
  await until(() => restarts.length === 1, 'the restart');
  assert.deepEqual(restarts, ['idle']);
});

for (const [name, answer, reason] of [
  ['410 by status', failing(410), 'gone'],
  ['410 by an ERROR event', errorEvent(410), 'gone'],
  ['an ERROR event 500', errorEvent(500), 'errorEvent'],
  ['an ERROR event of no code', errorEvent(Number.NaN), 'errorEvent'],
  ['a line that is no JSON', ((r) => void r.writeHead(200).end('{"type":\n')) as Answer, 'malformed'],
  ['an unknown event', ((r) => void r.writeHead(200).end('{"type":"NEWS","object":{}}\n')) as Answer, 'malformed'],
  ['half a line at the end', ((r) => void r.writeHead(200).end('{"type":"ADD')) as Answer, 'malformed'],
  [
    'an event without metadata',
    ((r) => void r.writeHead(200).end('{"type":"ADDED","object":{}}\n')) as Answer,
    'malformed',
  ],
] as const) {
  test(`${name} leads to a new list`, async (t) => {
    const { server, store, start, restarts, passPause, told } = await watching(t);
    server.lists.push(listing(many(2), '5'), listing(many(1), '9'));
    server.watchAnswers.push(answer);
    start();
    await passPause();
    assert.equal((await server.watch(0)).query.get('resourceVersion'), '9');
    assert.deepEqual(restarts, [reason]);
    assert.deepEqual(
      store.list().map(({ metadata }) => metadata.name),
      ['s0'],
    );
    assert.deepEqual(told, ['flow/s0', 'flow/s1', 'flow/s1']);
  });
}

for (const code of [429, 503]) {
  test(`Retry-After of a ${code} is kept to, and the watch goes on where it was`, async (t) => {
    const { server, start, restarts, passPause } = await watching(t);
    server.lists.push(listing([], '5'));
    server.watchAnswers.push(failing(code, { 'retry-after': '7' }));
    start();
    assert.equal(await passPause(), 7_000);
    assert.equal((await server.watch(0)).query.get('resourceVersion'), '5');
    assert.deepEqual(restarts, [code === 429 ? 'tooMany' : 'server']);
    assert.equal(server.listRequests.length, 1);
  });
}

test('a server that wishes for hours gets minutes', async (t) => {
  const { server, start, passPause } = await watching(t);
  server.lists.push(failing(429, { 'retry-after': '86400' }));
  start();
  assert.equal(await passPause(), 300_000);
});

test('retryAfterSeconds of an ERROR event is kept to', async (t) => {
  const { server, start, passPause } = await watching(t);
  server.watchAnswers.push(errorEvent(429, { retryAfterSeconds: 9 }));
  start();
  assert.equal(await passPause(), 9_000);
  await server.watch(0);
  assert.equal(server.listRequests.length, 2);
});

test('after a 401 the token is read again at once', async (t) => {
  const file = join(tmpdir(), `lyceum-token-${process.pid}`);
  t.after(() => rm(file, { force: true }));
  await writeFile(file, 'first');
  const { server, start, passPause, restarts } = await watching(t, {
    load: (server) => () => server.kubeConfig({ authProvider: { name: 'tokenFile', config: { tokenFile: file } } }),
  });
  const lists = server.lists;
  lists.push(async (response, request) => {
    assert.equal(request.headers.authorization, 'Bearer first');
    await writeFile(file, 'second');
    failing(401)(response, request);
  });
  start();
  await passPause();
  const watch = await server.watch(0);
  assert.deepEqual(restarts, ['unauthorized']);
  assert.equal(server.listRequests[1]?.headers.authorization, 'Bearer second');
  assert.equal(watch.headers.authorization, 'Bearer second');
  assert.equal(await readFile(file, 'utf8'), 'second');
});

for (const [code, reason] of [
  [403, 'forbidden'],
  [404, 'notFound'],
] as const) {
  test(`a ${code} is tried again slowly and told to readiness until it is mended`, async (t) => {
    const { server, clock, start, passPause, listWatch, restarts } = await watching(t, { random: 0 });
    server.lists.push(failing(code), failing(code), failing(code));
    start();
    for (let round = 0; round < 3; round++) assert.equal(await passPause(), 15_000);
    assert.deepEqual(restarts, [reason, reason, reason]);
    assert.deepEqual([listWatch.state.synced, listWatch.state.problem?.reason], [false, reason]);
    assert.match(listWatch.state.problem?.message ?? '', /skillsources/);
    assert.match(
      listWatch.state.problem?.message ?? '',
      code === 404 ? /install.*CustomResource/ : /grant it in the Role/,
    );
    assert.doesNotMatch(listWatch.state.problem?.message ?? '', /spelled-out-secret|secret-token/);
    await server.watch(0);
    await until(() => clock.waiting.length === 3, 'the watch is open');
    clock.advance(1_000);
    assert.deepEqual(listWatch.state, { resource: 'skillsources', namespace: 'flow', synced: true });
  });
}

test('of an optional resource that the API server does not serve there is none, and that is no fault', async (t) => {
  const { server, start, passPause, store, listWatch, restarts, served, log } = await watching(t, {
    resource: httpRoutes,
    random: 0,
  });
  server.lists.push(failing(404), failing(404));
  start();
  assert.equal(await passPause(), 30_000);
  assert.deepEqual(listWatch.state, { resource: 'httproutes', namespace: 'flow', synced: true });
  assert.deepEqual([store.synced, store.list().length, served, restarts], [true, 0, [0], []]);
  await passPause();
  await server.watch(0);
  assert.deepEqual(served, [0, 0]);
  assert.equal(log.filter((line) => /does not serve it|serves it now/.test(line)).length, 2);
});

test('an optional resource is looked for at once when somebody knows that it is there', async (t) => {
  const { server, clock, start, listWatch } = await watching(t, { resource: httpRoutes });
  server.lists.push(failing(404));
  start();
  await clock.pause();
  listWatch.lookAgain();
  await server.watch(0);
  listWatch.lookAgain();
  assert.equal(server.listRequests.length, 2);
});

test('an optional resource that is served no more is gone with all of its objects, and found again', async (t) => {
  const { server, clock, start, passPause, store, told, served } = await watching(t, {
    resource: httpRoutes,
    random: 0,
  });
  const route = skillSource('route', '5');
  server.lists.push(listing([route], '9'));
  start();
  const watch = await server.watch(0);
  await until(() => clock.waiting.length === 3, 'the watch is open');
  clock.advance(2_000);
  server.watchAnswers.push(failing(404));
  watch.end();
  assert.equal(await passPause(), 30_000);
  assert.deepEqual([served, told], [[0], ['flow/route', 'flow/route']]);
  await server.watch(1);
  assert.deepEqual([served, store.list()], [[0, 0], []]);
});

test('an API server that has started anew and refuses for some seconds what it will grant is asked again soon', async (t) => {
  const { server, clock, start, passPause, store } = await watching(t, { random: 0 });
  start();
  const first = await server.watch(0);
  await until(() => clock.waiting.length === 3, 'the watch is open');
  server.watchAnswers.push(failing(403));
  server.lists.push(...Array.from({ length: 5 }, () => failing(403)));
  first.cut();
  const pauses: number[] = [];
  for (let round = 0; round < 6; round++) pauses.push(await passPause());
  assert.deepEqual(pauses.slice(1), [2_000, 2_000, 2_000, 2_000, 15_000]);
  assert.ok(store.synced);
});

test('pauses double from 0.8 s to 30 s, and start again after two quiet minutes', async (t) => {
  const { server, clock, start, passPause } = await watching(t, { random: 0.999999 });
  server.lists.push(...Array.from({ length: 8 }, () => failing(500)));
  start();
  const pauses: number[] = [];
  for (let round = 0; round < 8; round++) pauses.push(await passPause());
  assert.deepEqual(pauses, [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  const watch = await server.watch(0);
  await until(() => clock.waiting.length === 3, 'the watch is open');
  clock.advance(119_000);
  server.watchAnswers.push(failing(500));
  watch.cut();
  assert.equal(await passPause(), 30_000, 'not yet quiet for two minutes');
  assert.equal(await passPause(), 30_000);
  const next = await server.watch(1);
  await until(() => clock.waiting.length === 3, 'the watch is open');
  clock.advance(121_000);
  next.cut();
  assert.equal(await passPause(), 800);
});

test('pauses are spread over their whole length', async (t) => {
  const { server, start, passPause } = await watching(t, { random: 0.25 });
  server.lists.push(failing(500), failing(500));
  start();
  assert.deepEqual([await passPause(), await passPause()], [200, 400]);
});

test('a watch that ends at once without an event counts as a failure', async (t) => {
  const { server, start, passPause, restarts } = await watching(t, { random: 0.999999 });
  server.watchAnswers.push(endingAtOnce, endingAtOnce, endingAtOnce);
  start();
  assert.deepEqual([await passPause(), await passPause(), await passPause()], [800, 1_600, 3_200]);
  await server.watch(0);
  assert.deepEqual(restarts, ['short', 'short', 'short']);
  assert.equal(server.listRequests.length, 1);
});

test('a server that sends an event and ends each watch at once is asked once a second at most', async (t) => {
  const { server, clock, start } = await watching(t);
  start();
  for (const number of [0, 1, 2]) {
    const watch = await server.watch(number);
    watch.bookmark(String(number));
    watch.end();
    await until(() => clock.waiting.length === 1, 'a pause');
    assert.equal(server.watches.length, number + 1);
    clock.advance(1_000);
  }
});

test('an unreachable server is tried again, and what is known stays', async (t) => {
  const { server, store, start, passPause, restarts } = await watching(t);
  server.lists.push(listing(many(2), '5'));
  start();
  (await server.watch(0)).cut();
  server.watchAnswers.push((response) => void response.destroy());
  await passPause();
  await passPause();
  assert.equal((await server.watch(1)).query.get('resourceVersion'), '5');
  assert.deepEqual(restarts, ['network', 'network']);
  assert.equal(store.list().length, 2);
});

test('an error of the list is never read as "empty"', async (t) => {
  const { server, store, start, passPause } = await watching(t);
  server.lists.push(listing(many(2), '5'), failing(404), (response) => void response.writeHead(200).end('{}'));
  server.watchAnswers.push(failing(410));
  start();
  for (let round = 0; round < 3; round++) {
    await passPause();
    assert.equal(store.list().length, 2);
  }
});

test('a new list tells what is new, changed and gone, and nothing else', async (t) => {
  const { server, store, start, passPause, told } = await watching(t);
  server.lists.push(
    listing([skillSource('stays', '1'), skillSource('changes', '2'), skillSource('goes', '3')], '5'),
    listing([skillSource('stays', '1'), skillSource('changes', '7'), skillSource('comes', '8')], '9'),
  );
  server.watchAnswers.push(failing(410));
  start();
  await until(() => told.length === 3, 'the first list');
  assert.equal(store.synced, true);
  told.length = 0;
  await passPause();
  await server.watch(0);
  assert.deepEqual(told.toSorted(), ['flow/changes', 'flow/comes', 'flow/goes']);
  assert.equal(store.get('flow/goes'), undefined);
});

test('listeners find the new state in the store, also of other objects of the list', async (t) => {
  const { server, store, start } = await watching(t);
  const seen: unknown[] = [];
  store.onChange((key) => seen.push([key, store.list().length, store.get(key) !== undefined]));
  server.lists.push(listing(many(2), '5'));
  start();
  (await server.watch(0)).send('DELETED', skillSource('s0', '6'));
  await until(() => seen.length === 3, 'the deletion');
  assert.deepEqual(seen, [
    ['flow/s0', 2, true],
    ['flow/s1', 2, true],
    ['flow/s0', 1, false],
  ]);
});

test('everything is listed anew within 10 to 30 minutes, even by a server that never ends a watch', async (t) => {
  const { server, clock, start, heard } = await watching(t);
  start();
  let minutes = 0;
  for (let number = 0; minutes <= 30; number++) {
    const watch = await server.watch(number);
    if (server.listRequests.length === 2) break;
    await until(() => clock.waiting.length === 3, 'the watch is open');
    const overtime = Number(watch.query.get('timeoutSeconds')) + 30;
    for (let seconds = 0; seconds < overtime; seconds += 60, minutes++) {
      const before = heard();
      watch.bookmark(`at-${minutes}`);
      await until(() => heard() > before, 'the bookmark');
      clock.advance(60_000);
    }
    await until(() => !watch.isOpen, 'the watch is ended after its time');
  }
  assert.equal(server.listRequests.length, 2);
  assert.ok(minutes >= 10 && minutes <= 30, `listed again after ${minutes} minutes`);
});

test('a listener that throws stops neither the others nor the watch', async (t) => {
  const { server, store, start, told } = await watching(t);
  store.onChange(() => {
    throw new Error('broken listener');
  });
  const after: string[] = [];
  store.onChange((key) => after.push(key));
  server.lists.push(listing(many(1), '5'));
  start();
  (await server.watch(0)).send('MODIFIED', skillSource('s0', '6'));
  await until(() => after.length === 2, 'both changes');
  assert.deepEqual(told, ['flow/s0', 'flow/s0']);
  assert.equal(server.watches.length, 1);
});

test('the end of a malformed watch is logged', async (t) => {
  const { server, start, passPause, log } = await watching(t);
  server.watchAnswers.push((response) => void response.writeHead(200).end('spelled-out-secret\n'));
  start();
  await passPause();
  assert.ok(log.some((line) => JSON.parse(line).level === 40 && line.includes('malformed')));
  assert.ok(!log.some((line) => line.includes('spelled-out-secret')));
});

test('characters split over chunks arrive whole', async (t) => {
  const { server, store, start, told } = await watching(t);
  start();
  const watch = await server.watch(0);
  const line = Buffer.from(
    `${JSON.stringify({ type: 'ADDED', object: skillSource('é', '6', { url: 'file:///Größe/🦉' }) })}\n`,
  );
  for (const byte of line) {
    watch.raw(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  await until(() => told.length === 1, 'the object');
  assert.deepEqual(store.get('flow/é')?.spec, { url: 'file:///Größe/🦉' });
});

test('many events in one chunk are all taken', async (t) => {
  const { server, store, start } = await watching(t);
  start();
  const watch = await server.watch(0);
  watch.raw(
    many(50)
      .map((object) => JSON.stringify({ type: 'ADDED', object }))
      .join('\n'),
  );
  watch.raw('\n\n');
  await until(() => store.list().length === 50, 'all objects');
});

test('a stop ends a list, a watch and a pause at once, and nothing starts again', async (t) => {
  for (const where of ['list', 'page', 'watch', 'headers', 'pause'] as const) {
    const { server, clock, start, stop } = await watching(t);
    if (where === 'list') server.lists.push(silent);
    if (where === 'page') server.lists.push(listing(many(1), '1', 'more'), silent);
    if (where === 'headers') server.watchAnswers.push(silent);
    if (where === 'pause') server.lists.push(failing(500));
    start();
    const asked = { list: 1, page: 2, watch: 2, headers: 2, pause: 1 }[where];
    await until(() => server.requests.length === asked, where);
    if (where === 'pause') await clock.pause();
    await stop();
    await until(() => server.open === 0, `nothing is open after a stop in a ${where}`);
    assert.deepEqual(clock.waiting, [], `no timer after a stop in a ${where}`);
    clock.advance(3_600_000);
    await new Promise(setImmediate);
    assert.equal(server.requests.length, asked, `nothing is asked after a stop in a ${where}`);
  }
});

test('objects in the store are frozen through and through, and trimmed', async (t) => {
  const { server, store, start } = await watching(t);
  server.lists.push(listing([skillSource('s', '3', { status: { conditions: [{ type: 'Ready' }] } })], '5'));
  start();
  await server.watch(0);
  const object = store.get('flow/s')!;
  assert.deepEqual(object, {
    apiVersion: 'lyceum.dev/v1alpha1',
    kind: 'SkillSource',
    metadata: {
      namespace: 'flow',
      name: 's',
      uid: 'uid-s',
      generation: 1,
      resourceVersion: '3',
      creationTimestamp: '2026-11-01T00:00:00Z',
      labels: { team: 'platform' },
      annotations: { note: 'kept' },
    },
    spec: { url: 'github://obra/superpowers' },
    status: { conditions: [{ type: 'Ready' }] },
  });
  const { conditions } = object.status as { conditions: { type: string }[] };
  assert.throws(() => conditions.push({ type: 'Stalled' }), TypeError);
  assert.throws(() => {
    conditions[0]!.type = 'Stalled';
  }, TypeError);
  assert.throws(() => {
    (object.metadata.labels as Record<string, string>).team = 'other';
  }, TypeError);
});

test('of ConfigMaps only metadata is asked for, and only metadata is kept', async (t) => {
  const { server, store, start } = await watching(t, { resource: configMaps });
  const { metadata } = skillSource('skills', '3') as { metadata: unknown };
  server.lists.push(listing([{ metadata, data: { 'a.md': 'long' } }], '5'));
  start();
  const watch = await server.watch(0);
  assert.match(String(server.listRequests[0]?.headers.accept), /^application\/json;as=PartialObjectMetadataList;/);
  assert.match(String(watch.headers.accept), /^application\/json;as=PartialObjectMetadata;/);
  assert.equal(server.listRequests[0]?.path, '/api/v1/namespaces/flow/configmaps');
  assert.deepEqual(Object.keys(store.get('flow/skills')!), ['apiVersion', 'kind', 'metadata']);
});
