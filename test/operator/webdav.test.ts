// A WebDAV folder under the operator, against a real Apache: what is served, what a look costs, what faults do.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';
import { asked, secret, startWebDavServer, type WebDavServerFixture } from '../fixtures/webdav-server.ts';
import { assertLastGoodStays, ready, served, signInPage, succeeded } from './support.ts';

let server: WebDavServerFixture;
before(async () => {
  server = await startWebDavServer('Apache with Basic');
});
afterEach(() => server.reset());
after(() => server.close());

async function start(spec: object = {}, keys: Record<string, string> | null = secret): Promise<OperatorFixture> {
  const operator = await OperatorFixture.start();
  if (keys !== null) operator.cluster.secrets.set('cloud', keys);
  operator.cluster.gateway('agents');
  operator.cluster.source('handbook', {
    spec: { url: server.sourceUrl(), secretRef: { name: 'cloud' }, refresh: '5s', ...spec },
  });
  return operator;
}

const lookNow = (operator: OperatorFixture, spec: object = {}): void =>
  operator.cluster.source('handbook', {
    spec: { url: server.sourceUrl(), secretRef: { name: 'cloud' }, refresh: '5s', ...spec },
    annotations: { 'lyceum.dev/requestedAt': String(performance.now()) },
  });

test('a folder is served byte by byte, awkward names too; an edit follows and a deletion too, the last skill as well', async () => {
  await server.write({
    'skills/loki/SKILL.md': skillText('loki'),
    'skills/loki/notes #1?/größe 漢字 100%.md': 'odd',
    'skills/tempo/SKILL.md': skillText('tempo'),
  });
  await using operator = await start();
  await served(operator, 2);
  const { revision, counts } = operator.cluster.status('sources', 'handbook');
  assert.match(revision, /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual([counts.skills, counts.problems], [2, 0]);
  assert.equal((await operator.read('handbook', 'loki')).toString(), skillText('loki'));
  assert.equal((await operator.read('handbook', 'loki', 'notes #1?/größe 漢字 100%.md')).toString(), 'odd');

  await server.write({ 'skills/loki/SKILL.md': skillText('loki', 'Changed.') }, 30);
  await server.remove('skills/tempo');
  lookNow(operator);
  await eventually(
    'the edit is served',
    async () => (await operator.read('handbook', 'loki')).toString(),
    (text) => text === skillText('loki', 'Changed.'),
  );
  assert.equal(operator.cluster.status('sources', 'handbook').counts.skills, 1);
  await server.remove('skills');
  lookNow(operator);
  await eventually(
    'the last skill is gone',
    () => operator.cluster.status('sources', 'handbook').counts.skills,
    (skills) => skills === 0,
  );
  assert.equal(operator.cluster.condition('sources', 'handbook', 'Ready'), succeeded);
});

test('a subdirectory that was emptied has no skills; one that is gone keeps the last good', async () => {
  await server.write({
    'packs/skills/loki/SKILL.md': skillText('loki'),
    'packs/skills/tempo/SKILL.md': skillText('tempo'),
  });
  await using operator = await start({ subdirectory: 'packs' });
  await served(operator, 2);
  await server.remove('packs/skills/loki');
  await server.remove('packs/skills/tempo');
  lookNow(operator, { subdirectory: 'packs' });
  await served(operator, 0);
  await server.write({ 'packs/skills/loki/SKILL.md': skillText('loki') });
  lookNow(operator, { subdirectory: 'packs' });
  await served(operator, 1);
  await server.remove('packs');
  lookNow(operator, { subdirectory: 'packs' });
  await ready(operator, 'False/NotFound');
  assert.equal(operator.cluster.status('sources', 'handbook').counts.skills, 1);
});

test('an unchanged folder costs one PROPFIND a folder, no file, no status and no event; a restart the same', async () => {
  await server.write({ 'skills/loki/SKILL.md': skillText('loki') });
  await using operator = await start();
  await served(operator, 1);
  const folders = ['PROPFIND /dav/', 'PROPFIND /dav/skills/', 'PROPFIND /dav/skills/loki/'];
  const quiet = async (what: string) => {
    const before = [operator.cluster.statusWrites, operator.cluster.events.length];
    const { generation } = await operator.index();
    server.exchanges.length = 0;
    await eventually(what, () => asked(server).length >= folders.length);
    await operator.stop();
    assert.deepEqual(asked(server).slice(0, folders.length), folders);
    assert.deepEqual([operator.cluster.statusWrites, operator.cluster.events.length], before);
    assert.equal((await operator.index()).generation, generation);
  };
  await quiet('a refresh looks');
  server.exchanges.length = 0;
  await operator.start();
  await quiet('the restarted operator looks');
});

test('a Secret that is missing, or lacks a key, is SecretNotFound without a request; it recovers by itself', async () => {
  await server.write({ 'skills/loki/SKILL.md': skillText('loki') });
  await using operator = await start({}, null);
  await ready(operator, 'False/SecretNotFound');
  operator.cluster.secrets.set('cloud', { username: 'ann' });
  lookNow(operator);
  await eventually(
    'the missing key is named',
    () => operator.cluster.status('sources', 'handbook').conditions[0].message,
    (message) => /lacks password/.test(message),
  );
  assert.deepEqual(server.exchanges, []);
  operator.cluster.secrets.set('cloud', secret);
  lookNow(operator);
  await ready(operator, succeeded);
});

test('a wrong password is AuthenticationFailed, publishes nothing, and fails no other source', async () => {
  await server.write({ 'skills/loki/SKILL.md': skillText('loki') });
  await using operator = await start({}, { ...secret, password: 'canary-wrong' });
  operator.cluster.configMap('rules', { skills__house__SKILL: '', 'skills__house__SKILL.md': skillText('house') });
  operator.cluster.source('rules', { spec: { url: 'configmap://rules' } });
  operator.cluster.source('away', { spec: { url: 'webdav+http://127.0.0.1:1/dav', secretRef: { name: 'cloud' } } });
  await ready(operator, 'False/AuthenticationFailed');
  await ready(operator, 'False/Unreachable', 'away');
  await ready(operator, succeeded, 'rules');
  assert.equal((await operator.index()).sources.find(({ name }) => name === 'handbook')?.catalogue, undefined);
  assert.doesNotMatch(
    JSON.stringify([...operator.cluster.sources.objects.values(), operator.cluster.events]),
    /canary/,
  );
  assert.doesNotMatch(operator.log + (await operator.metrics()), /canary/);
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
      server.tamper = (_request, answer) => answer.subarray(0, answer.length - 30);
    },
  ],
  'a server that lists every folder as empty': [
    'UpstreamInvalid',
    () => {
      server.behaviour = (request) => {
        request.headers.depth = '0';
        return false;
      };
    },
  ],
};

for (const [what, [reason, turn]] of Object.entries(turnedBad)) {
  test(`${what} is ${reason}: the last good stays served and stale, and it recovers by itself`, async () => {
    await server.write({ 'skills/loki/SKILL.md': skillText('loki') });
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
    assert.doesNotMatch(operator.log + JSON.stringify(operator.cluster.events), /canary/);
  });
}

test('the password is nowhere on the volume, and the address of the folder in no catalogue', async () => {
  await server.write({ 'skills/loki/SKILL.md': skillText('loki') });
  await using operator = await start();
  await ready(operator, succeeded);
  for (const name of await readdir(operator.volume, { recursive: true })) {
    const bytes = await readFile(join(operator.volume, name)).catch(() => Buffer.alloc(0));
    assert(!bytes.includes('canary') && !bytes.includes('jörg'), name);
    if (/index\.json$|catalogue/.test(name)) assert(!bytes.includes('127.0.0.1'), name);
  }
});
