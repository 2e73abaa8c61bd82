// Webhooks from git to what is served: real pushes, a real API server, operators as processes, the leader and one that stands by.
import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { GitFixture, git } from '../fixtures/git-repository.ts';
import { type GitServer, startGitServer } from '../fixtures/git-server.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { skillText } from '../fixtures/operator.ts';
import { freePort } from '../fixtures/program.ts';

const api = await apiServer();
const token = 'canary-token-of-webhooks';

let folder: string;
let namespace: string;
let kubeconfig: string;
let server: GitServer;
let clone: string;
let port: number;
let operator: LyceumProcess;

const kubectl = (...args: string[]): Promise<string> => api.kubectl(['-n', namespace, ...args]);
const apply = (manifest: object): Promise<string> =>
  api.kubectl(['-n', namespace, 'apply', '-f', '-'], JSON.stringify(manifest));

const source = async () => JSON.parse(await kubectl('get', 'skillsource', 'pack', '-o', 'json'));
const revision = async (): Promise<string> => (await source()).status?.revision ?? '';
const post = (name: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}/hooks/${namespace}/${name}`, { method: 'POST', headers, body: 'pushed' });

const commit = async (name: string): Promise<string> => {
  await writeFile(join(clone, `skills/one/${name}.md`), name);
  await git(['add', '-A'], clone);
  await git(['commit', '--quiet', '-m', name], clone);
  return (await git(['rev-parse', 'HEAD'], clone)).trim();
};

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-webhooks-'));
  namespace = await api.namespace();
  ({ kubeconfig } = await api.operatorAccount(namespace));
  port = await freePort();
  server = await startGitServer({ root: folder });
  const pack = await GitFixture.create(join(folder, 'pack.git'));
  await pack.commitFiles({ 'skills/one/SKILL.md': skillText('one') });
  clone = join(folder, 'clone');
  const author = ['--config', 'user.name=Ada', '--config', 'user.email=ada@example.com'];
  await git(['clone', '--quiet', ...author, join(folder, 'pack.git'), clone]);
  // What a provider does when somebody has pushed, in the words of docs/webhooks.md.
  const hook = join(folder, 'pack.git/hooks/post-receive');
  const url = `http://127.0.0.1:${port}/hooks/${namespace}/pack`;
  const lines = [
    '#!/bin/sh',
    `body="pushed"`,
    `digest=$(printf %s "$body" | openssl dgst -sha256 -hmac '${token}' -r | cut -d' ' -f1)`,
    `curl --silent --show-error --fail --data "$body" --header "X-Signature: sha256=$digest" ${url}`,
  ];
  await writeFile(hook, `${lines.join('\n')}\n`);
  await chmod(hook, 0o755);
  const apiVersion = 'lyceum.dev/v1alpha1';
  await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hook' }, stringData: { token } });
  const webhook = { provider: 'Generic', secretRef: { name: 'hook' } };
  const spec = { url: server.sourceUrl('pack.git'), webhook };
  await apply({ apiVersion, kind: 'SkillSource', metadata: { name: 'pack' }, spec });
  await apply({ apiVersion, kind: 'SkillGateway', metadata: { name: 'agents' }, spec: {} });
  operator = new LyceumProcess([
    ...['operator', '--kubeconfig', kubeconfig, '--volume', join(folder, 'volume'), '--allow-loopback'],
    ...['--probes-port', '0', '--metrics-port', '0', '--webhooks-port', String(port), '--log-level', 'debug'],
  ]);
  await eventually('it has started', () => operator.log.some(({ msg }) => msg === 'operator started'));
  await kubectl('wait', '--for=condition=Ready', '--timeout=30s', 'skillsource/pack');
});

after(async () => {
  await operator?.[Symbol.asyncDispose]();
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

test('a push is served though the source has no refresh, and those that follow at once, too', async () => {
  for (const name of ['first', 'second', 'third']) {
    const wanted = await commit(name);
    await git(['push', '--quiet'], clone);
    if (name !== 'second') await eventually(`the ${name} push is seen`, revision, (now) => now.endsWith(wanted));
  }
  const results = operator.log.filter(({ msg }) => msg === 'webhook').map(({ result }) => result);
  assert.deepEqual([results.length, results[0]], [3, 'now']);
});

test('strangers make nobody look, and learn nothing', async () => {
  const before = server.exchanges.length;
  const answers = await Promise.all([post('pack'), post('nobody'), post('pack', { Authorization: 'Bearer other' })]);
  for (const answer of answers) {
    assert.deepEqual([answer.status, await answer.text()], [401, '{"error":"Unauthorized"}']);
  }
  assert.equal(server.exchanges.length, before);
});

test('a webhook that finds nothing new transfers no content and changes nothing', async () => {
  const before = await source();
  server.exchanges.length = 0;
  assert.equal((await post('pack', { Authorization: `Bearer ${token}` })).status, 202);
  await eventually('it is looked at', () => server.exchanges.length > 0);
  assert.ok(server.exchanges.reduce((sum, { bytesOut }) => sum + bytesOut, 0) < 1024 * server.exchanges.length);
  assert.equal((await source()).metadata.resourceVersion, before.metadata.resourceVersion);
});

test('one that is told to stop ends, and has said no token', async () => {
  operator.kill('SIGTERM');
  assert.equal(await operator.ended(), 0);
  assert.doesNotMatch(operator.said, /canary/);
});
