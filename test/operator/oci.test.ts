// OCI artifacts under the operator, against a real registry: what is served, what a look costs, what faults do; once the whole
// way, with a real API server, an image pull secret and programs.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';
import { type RegistryFixture, registryLogin, registryRequests, startRegistry } from '../fixtures/registry-server.ts';
import { tarOf } from '../fixtures/tar.ts';
import { assertLastGoodStays, ready, served, signInPage, succeeded } from './support.ts';

let registry: RegistryFixture;
before(async () => {
  registry = await startRegistry({ access: 'password' });
});
beforeEach(() => registry.reset());
after(() => registry.close());

let repositories = 0;
let repository = '';
beforeEach(() => {
  repository = `team/skills-${++repositories}`;
});

const push = (files: Record<string, string>): Promise<string> =>
  registry.push(repository, 'v1', [
    { bytes: gzipSync(tarOf(Object.entries(files).map(([name, content]) => ({ name, content })))) },
  ]);

const pullSecret = (login: { username: string; password: string }) => ({
  '.dockerconfigjson': JSON.stringify({ auths: { [registry.host]: login } }),
});

const specOf = (spec: object) => ({
  url: registry.sourceUrl(`${repository}:v1`),
  secretRef: { name: 'pull' },
  refresh: '5s',
  ...spec,
});

async function start(spec: object = {}, keys: Record<string, string> = pullSecret(registryLogin)) {
  const operator = await OperatorFixture.start();
  operator.cluster.secrets.set('pull', keys);
  operator.cluster.gateway('agents');
  operator.cluster.source('handbook', { spec: specOf(spec) });
  return operator;
}

const lookNow = (operator: OperatorFixture, spec: object = {}): void =>
  operator.cluster.source('handbook', {
    spec: specOf(spec),
    annotations: { 'lyceum.dev/requestedAt': String(performance.now()) },
  });

test('an artifact is served byte by byte; a new push follows, and what it lacks is gone', async () => {
  const digest = await push({
    'skills/loki/SKILL.md': skillText('loki'),
    'skills/loki/größe 漢字.md': 'odd\r\n',
    'skills/tempo/SKILL.md': skillText('tempo'),
  });
  await using operator = await start();
  await served(operator, 2);
  const { revision, counts } = operator.cluster.status('sources', 'handbook');
  assert.equal(revision, `v1@${digest}`);
  assert.deepEqual([counts.skills, counts.problems], [2, 0]);
  assert.equal((await operator.read('handbook', 'loki', 'größe 漢字.md')).toString(), 'odd\r\n');

  await push({ 'skills/loki/SKILL.md': skillText('loki', 'Changed.') });
  await eventually(
    'the push is served',
    async () => (await operator.read('handbook', 'loki')).toString(),
    (text) => text === skillText('loki', 'Changed.'),
  );
  assert.equal(operator.cluster.status('sources', 'handbook').counts.skills, 1);
});

test("a SKILL.md at the artifact's root is a skill of its own name, and without one of the library's", async () => {
  await push({ 'SKILL.md': skillText('git-helper'), 'scripts/run.sh': 'echo' });
  await using operator = await start({ library: 'tools' });
  await served(operator, 1);
  assert.equal((await operator.read('handbook', 'git-helper', 'scripts/run.sh')).toString(), 'echo');
  await push({ 'SKILL.md': 'Just do it.' });
  lookNow(operator, { library: 'tools' });
  await eventually(
    'it is read under the name of the library',
    async () => (await operator.catalogue('handbook'))?.artifacts.map(({ address }) => address),
    (addresses) => addresses?.join() === 'tools',
  );
});

test('an unchanged artifact costs no layer, no status and no event, after a restart too', async () => {
  await push({ 'skills/loki/SKILL.md': skillText('loki') });
  await using operator = await start();
  await ready(operator, succeeded);
  await eventually('the gateway serves it', () => operator.cluster.status('gateways', 'agents')?.catalogue?.skills);
  const quiet = async (what: string) => {
    const before = [operator.cluster.statusWrites, operator.cluster.events.length];
    const { generation } = await operator.index();
    registry.exchanges.length = 0;
    await eventually(what, () => registry.exchanges.length > 1);
    await operator.stop();
    assert.deepEqual([...new Set(registryRequests(registry))], [`HEAD ${repository}/manifests/v1`]);
    assert.deepEqual([operator.cluster.statusWrites, operator.cluster.events.length], before);
    assert.equal((await operator.index()).generation, generation);
  };
  await quiet('a refresh looks');
  registry.exchanges.length = 0;
  await operator.start();
  await quiet('the restarted operator looks');
});

test('an artifact by its digest is asked for once, whatever its refresh, and not after a restart', async () => {
  const digest = await push({ 'skills/loki/SKILL.md': skillText('loki') });
  const url = registry.sourceUrl(`${repository}@${digest}`);
  await using operator = await start({ url });
  await ready(operator, succeeded);
  assert.equal(operator.cluster.status('sources', 'handbook').revision, digest);
  await operator.stop();
  registry.exchanges.length = 0;
  await operator.start();
  operator.cluster.source('other', { spec: specOf({ url: registry.sourceUrl(`${repository}:v1`) }) });
  await eventually(
    'another source was looked at meanwhile',
    () => operator.cluster.condition('sources', 'other', 'Ready'),
    (condition) => condition === succeeded,
  );
  assert(!registryRequests(registry).some((one) => one.includes(digest.slice(0, 15)) && one.includes('manifests')));
});

const turnedBad: Record<string, [reason: string, turn: () => void]> = {
  'a registry that is stopped': ['Unreachable', () => void registry.stop()],
  'a sign-in page with 200': [
    'UpstreamInvalid',
    () => {
      registry.behaviour = (_request, response) => signInPage(response);
    },
  ],
  'a layer that is another one': [
    'UpstreamInvalid',
    () => {
      registry.tamper = (request, answer) =>
        request.url?.includes('/blobs/') ? Buffer.alloc(answer.length) : undefined;
    },
  ],
  'a registry that asks to slow down': [
    'RateLimited',
    () => {
      registry.behaviour = (_request, response) => {
        response.writeHead(429, { 'retry-after': '1' }).end('canary');
        return true;
      };
    },
  ],
};

for (const [what, [reason, turn]] of Object.entries(turnedBad)) {
  test(`${what} is ${reason}: the last good stays served and stale, and it recovers by itself`, async () => {
    await push({ 'skills/loki/SKILL.md': skillText('loki') });
    await using operator = await start();
    await assertLastGoodStays(operator, {
      reason,
      turn: async () => {
        await push({ 'skills/loki/SKILL.md': skillText('loki', 'Newer.') });
        turn();
      },
      look: () => lookNow(operator),
      mend: async () => {
        registry.behaviour = undefined;
        registry.tamper = undefined;
        if (what === 'a registry that is stopped') await registry.listen();
      },
    });
    await eventually(
      'the push is served',
      async () => (await operator.read('handbook', 'loki')).toString(),
      (text) => text === skillText('loki', 'Newer.'),
    );
  });
}

test('no credential is told anywhere: not by a status, an event, a log line or a metric, and not on the volume', async () => {
  await push({ 'skills/loki/SKILL.md': skillText('loki') });
  await using operator = await start();
  await ready(operator, succeeded);
  operator.cluster.secrets.set('pull', pullSecret({ ...registryLogin, password: 'canary-wrong' }));
  lookNow(operator);
  await ready(operator, 'False/AuthenticationFailed');
  operator.cluster.secrets.set('pull', { '.dockerconfigjson': '{"auths":{"canary.example.com":{"auth":"canary"}}}' });
  lookNow(operator);
  await ready(operator, 'False/SecretNotFound');
  const told = JSON.stringify([...operator.cluster.sources.objects.values(), operator.cluster.events]);
  const secret = Buffer.from(`${registryLogin.username}:${registryLogin.password}`).toString('base64');
  for (const canary of ['canary', secret]) {
    assert(!(told + operator.log + (await operator.metrics())).includes(canary));
    for (const name of await readdir(operator.volume, { recursive: true })) {
      const bytes = await readFile(join(operator.volume, name)).catch(() => Buffer.alloc(0));
      assert(!bytes.includes(canary), name);
    }
  }
});

test('with a real API server: an image pull secret opens the registry, and programs serve what is in it', async (t) => {
  const api = await apiServer();
  const namespace = await api.namespace();
  const folder = await mkdtemp(join(tmpdir(), 'lyceum-oci-story-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const digest = await push({ 'skills/loki/SKILL.md': skillText('loki') });
  const kubectl = (...args: string[]) => api.kubectl(['-n', namespace, ...args]);
  await kubectl(
    ...['create', 'secret', 'docker-registry', 'pull', `--docker-server=${registry.host}`],
    ...[`--docker-username=${registryLogin.username}`, `--docker-password=${registryLogin.password}`],
  );
  const kubeconfig = (await api.operatorAccount(namespace)).kubeconfig;
  await using operator = new LyceumProcess([
    ...['operator', '--kubeconfig', kubeconfig, '--namespaces', namespace, '--volume', join(folder, 'volume')],
    ...['--allow-loopback', '--probes-port', '0', '--metrics-port', '0'],
  ]);
  const objects = [
    { kind: 'SkillSource', metadata: { name: 'handbook' }, spec: specOf({}) },
    { kind: 'SkillGateway', metadata: { name: 'agents' }, spec: {} },
  ];
  for (const object of objects) {
    await api.kubectl(
      ['-n', namespace, 'apply', '-f', '-'],
      JSON.stringify({ apiVersion: 'lyceum.dev/v1alpha1', ...object }),
    );
  }
  await kubectl('wait', '--for=condition=Ready', '--timeout=30s', 'skillsource/handbook');
  const { status } = JSON.parse(await kubectl('get', 'sksrc', 'handbook', '-o', 'json'));
  assert.equal(status.revision, `v1@${digest}`);
  await using server = new LyceumProcess([
    ...['server', '--volume', join(folder, 'volume'), '--namespace', namespace, '--gateway', 'agents'],
    ...['--host', '127.0.0.1', '--port', '0', '--metrics-port', '0'],
  ]);
  const origin = await eventually(
    'the server listens',
    () => server.log.find(({ msg }) => msg === 'server started')?.url,
  );
  const text = await eventually(
    'the skill is served',
    async () => (await fetch(`${origin}/.well-known/agent-skills/index.json`)).text(),
    (answer) => answer.includes('"loki"'),
  );
  assert.doesNotMatch(text + operator.said + server.said + JSON.stringify(status), /canary/);
});

test('lyceum check says what an artifact would serve', async () => {
  await push({ 'skills/loki/SKILL.md': skillText('loki') });
  const open = await startRegistry();
  try {
    await open.push('acme/handbook', 'v1', [
      { bytes: tarOf([{ name: 'skills/loki/SKILL.md', content: skillText('loki') }]) },
    ]);
    await using process = new LyceumProcess(['check', open.sourceUrl('acme/handbook:v1')]);
    assert.equal(await process.ended(), 0, process.said);
    assert.match(process.said, /^handbook \(oci\+http:.*, v1@sha256:[0-9a-f]{64}\): 1 skill of 1 would be served/m);
  } finally {
    await open.close();
  }
});
