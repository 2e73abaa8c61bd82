// A bucket under the operator, against a real versitygw: what is served, what a look costs, what faults do.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { type BucketServerFixture, bucketRequests, startBucketServer } from '../fixtures/bucket-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';
import { assertLastGoodStays, ready, served, signInPage, succeeded } from './support.ts';

let server: BucketServerFixture;
before(async () => {
  server = await startBucketServer('versitygw');
});
beforeEach(() => server.reset());
after(() => server.close());

const specOf = (spec: object) => ({
  url: server.sourceUrl('packs'),
  secretRef: { name: 'bucket' },
  refresh: '5s',
  ...spec,
});

async function start(spec: object = {}, keys: Record<string, string> | null = server.secret): Promise<OperatorFixture> {
  const operator = await OperatorFixture.start();
  if (keys !== null) operator.cluster.secrets.set('bucket', keys);
  operator.cluster.gateway('agents');
  operator.cluster.source('handbook', { spec: specOf(spec) });
  return operator;
}

const lookNow = (operator: OperatorFixture, spec: object = {}): void =>
  operator.cluster.source('handbook', {
    spec: specOf(spec),
    annotations: { 'lyceum.dev/requestedAt': String(performance.now()) },
  });

test('a prefix is served byte by byte; an edit follows and a deletion too, the last skill as well', async () => {
  await server.put({
    'packs/skills/loki/SKILL.md': skillText('loki'),
    'packs/skills/loki/notes #1?/größe 漢字 100%+.md': 'odd',
    'packs/skills/tempo/SKILL.md': skillText('tempo'),
    'elsewhere/skills/other/SKILL.md': skillText('other'),
  });
  await using operator = await start();
  await served(operator, 2);
  const { revision, counts } = operator.cluster.status('sources', 'handbook');
  assert.match(revision, /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual([counts.skills, counts.problems], [2, 0]);
  assert.equal((await operator.read('handbook', 'loki')).toString(), skillText('loki'));
  assert.equal((await operator.read('handbook', 'loki', 'notes #1?/größe 漢字 100%+.md')).toString(), 'odd');

  await server.put({ 'packs/skills/loki/SKILL.md': skillText('loki', 'Changed.') });
  await server.remove('packs/skills/tempo/SKILL.md');
  await eventually(
    'the edit is served',
    async () => (await operator.read('handbook', 'loki')).toString(),
    (text) => text === skillText('loki', 'Changed.'),
  );
  assert.equal(operator.cluster.status('sources', 'handbook').counts.skills, 1);
  await server.remove('packs/skills/loki/SKILL.md', 'packs/skills/loki/notes #1?/größe 漢字 100%+.md');
  lookNow(operator);
  await served(operator, 0);
});

test('an unchanged bucket costs one listing, no object, no status and no event; a restart the same', async () => {
  await server.put({ 'packs/skills/loki/SKILL.md': skillText('loki') });
  await using operator = await start();
  await served(operator, 1);
  const quiet = async (what: string) => {
    const before = [operator.cluster.statusWrites, operator.cluster.events.length];
    const { generation } = await operator.index();
    server.exchanges.length = 0;
    await eventually(what, () => server.exchanges.length > 0);
    await operator.stop();
    assert.deepEqual([...new Set(bucketRequests(server))], ['GET /B?']);
    assert.deepEqual([operator.cluster.statusWrites, operator.cluster.events.length], before);
    assert.equal((await operator.index()).generation, generation);
  };
  await quiet('a refresh looks');
  server.exchanges.length = 0;
  await operator.start();
  await quiet('the restarted operator looks');
});

test('a bucket that moves while it is read is looked at anew at once: no fault, no event, and nothing half', async () => {
  await server.put({ 'packs/skills/loki/SKILL.md': skillText('loki'), 'packs/skills/loki/notes.md': 'old' });
  let moved = false;
  server.behaviour = async ({ url }) => {
    if (moved || url?.includes('?')) return false;
    moved = true;
    await server.put({ 'packs/skills/loki/SKILL.md': skillText('loki', 'New.'), 'packs/skills/loki/notes.md': 'new' });
    return false;
  };
  await using operator = await start();
  await served(operator, 1);
  assert.equal((await operator.read('handbook', 'loki')).toString(), skillText('loki', 'New.'));
  assert.equal((await operator.read('handbook', 'loki', 'notes.md')).toString(), 'new');
  assert.deepEqual(
    operator.cluster.events.filter(({ type }) => type === 'Warning'),
    [],
  );
});

test('a Secret without a key is SecretNotFound without a request; it recovers by itself', async () => {
  await server.put({ 'packs/skills/loki/SKILL.md': skillText('loki') });
  await using operator = await start({}, { accessKeyId: 'x' });
  await ready(operator, 'False/SecretNotFound');
  assert.match(operator.cluster.status('sources', 'handbook').conditions[0].message, /lacks secretAccessKey/);
  assert.deepEqual(server.exchanges, []);
  operator.cluster.secrets.set('bucket', server.secret);
  lookNow(operator);
  await ready(operator, succeeded);
});

test('requests are signed for spec.region; a wrong one is told of with the one to write', async () => {
  await server.put({ 'packs/skills/loki/SKILL.md': skillText('loki') });
  await using operator = await start({ region: 'eu-west-1' });
  await ready(operator, 'False/AuthenticationFailed');
  assert.match(operator.cluster.status('sources', 'handbook').conditions[0].message, /write spec\.region: us-east-1/);
  operator.cluster.source('handbook', { spec: specOf({ region: 'us-east-1' }) });
  await ready(operator, succeeded);
});

test('an URL whose prefix is no text is InvalidSpec', async () => {
  await using operator = await start({ url: server.sourceUrl('%ff') });
  await ready(operator, 'False/InvalidSpec');
});

const turnedBad: Record<string, [reason: string, turn: () => void]> = {
  'a server that is stopped': ['Unreachable', () => void server.stop()],
  'a sign-in page with 200': [
    'UpstreamInvalid',
    () => {
      server.behaviour = (_request, response) => signInPage(response);
    },
  ],
  'a listing that breaks off': [
    'UpstreamInvalid',
    () => {
      server.tamper = (request, answer) => (request.url?.includes('?') ? answer.subarray(0, -30) : undefined);
    },
  ],
  'a server that asks to slow down': [
    'RateLimited',
    () => {
      server.behaviour = (_request, response) => {
        response.writeHead(503, { 'retry-after': '1' }).end('<Error><Code>SlowDown</Code></Error>');
        return true;
      };
    },
  ],
};

for (const [what, [reason, turn]] of Object.entries(turnedBad)) {
  test(`${what} is ${reason}: the last good stays served and stale, and it recovers by itself`, async () => {
    await server.put({ 'packs/skills/loki/SKILL.md': skillText('loki') });
    await using operator = await start();
    await assertLastGoodStays(operator, {
      reason,
      turn,
      look: () => lookNow(operator),
      mend: async () => {
        server.behaviour = undefined;
        server.tamper = undefined;
        if (what === 'a server that is stopped') await server.listen();
      },
    });
  });
}

test('no key is told anywhere: not by a status, an event, a log line or a metric, and not on the volume', async () => {
  await server.put({ 'packs/skills/loki/SKILL.md': skillText('loki') });
  await using operator = await start();
  await ready(operator, succeeded);
  operator.cluster.secrets.set('bucket', { ...server.secret, secretAccessKey: 'canary-wrong' });
  lookNow(operator);
  await ready(operator, 'False/AuthenticationFailed');
  const told = JSON.stringify([...operator.cluster.sources.objects.values(), operator.cluster.events]);
  assert.doesNotMatch(told + operator.log + (await operator.metrics()), /canary/);
  for (const name of await readdir(operator.volume, { recursive: true })) {
    const bytes = await readFile(join(operator.volume, name)).catch(() => Buffer.alloc(0));
    assert(!bytes.includes('canary'), name);
    if (/index\.json$|catalogue/.test(name)) assert(!bytes.includes('127.0.0.1'), name);
  }
});
