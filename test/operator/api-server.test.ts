// The whole way, as its users go it: a real API server, the operator and a server as processes, git http-backend, MCP clients.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type ApiServer, apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { GitFixture } from '../fixtures/git-repository.ts';
import { type GitServer, startGitServer } from '../fixtures/git-server.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { skillText } from '../fixtures/operator.ts';

const refreshSeconds = 5;

let api: ApiServer;
let folder: string;
let git: GitServer;
let namespace: string;
let operator: LyceumProcess;
let kubeconfig: string;

const kubectl = (...args: string[]): Promise<string> => api.kubectl(['-n', namespace, ...args]);
const apply = (manifest: object): Promise<string> =>
  api.kubectl(['-n', namespace, 'apply', '-f', '-'], JSON.stringify(manifest));

const sourceOf = (name: string, spec: object): object => ({
  apiVersion: 'lyceum.dev/v1alpha1',
  kind: 'SkillSource',
  metadata: { name },
  spec,
});

const startOperator = (): LyceumProcess =>
  new LyceumProcess([
    ...['operator', '--kubeconfig', kubeconfig, '--namespaces', namespace, '--volume', join(folder, 'volume')],
    ...['--allow-loopback', '--probes-port', '0', '--metrics-port', '0'],
  ]);

before(async () => {
  api = await apiServer();
  folder = await mkdtemp(join(tmpdir(), 'lyceum-story-'));
  git = await startGitServer({ root: folder });
  namespace = await api.namespace();
  kubeconfig = (await api.operatorAccount(namespace)).kubeconfig;
  operator = startOperator();
});

after(async () => {
  await operator?.[Symbol.asyncDispose]();
  await git?.close();
  await rm(folder, { recursive: true, force: true });
});

async function readText(url: string, uri: string): Promise<string> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  try {
    const { contents } = await client.readResource({ uri });
    return (contents[0] as { text: string }).text;
  } finally {
    await client.close();
  }
}

test('from kubectl apply to what agents read, through commits, deletions and a restart', async () => {
  const pack = await GitFixture.create(join(folder, 'pack.git'));
  const first = { 'skills/one/SKILL.md': skillText('one'), 'skills/two/SKILL.md': skillText('two') };
  let commit = await pack.commitFiles(first);

  await apply(sourceOf('pack', { url: git.sourceUrl('pack.git'), refresh: `${refreshSeconds}s` }));
  await apply({ apiVersion: 'lyceum.dev/v1alpha1', kind: 'SkillGateway', metadata: { name: 'agents' }, spec: {} });
  await kubectl('wait', '--for=condition=Ready', '--timeout=30s', 'skillsource/pack', 'skillgateway/agents');

  await using server = new LyceumProcess([
    ...['server', '--volume', join(folder, 'volume'), '--namespace', namespace, '--gateway', 'agents'],
    ...['--host', '127.0.0.1', '--port', '0', '--metrics-port', '0'],
  ]);
  const origin = await eventually(
    'the server listens',
    () => server.log.find(({ msg }) => msg === 'server started')?.url,
  );
  const url = `${origin}/mcp`;
  await eventually(
    'the server is ready',
    async () => (await fetch(`${origin}/readyz`)).status,
    (status) => status === 200,
  );

  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const rows = (await client.listResources()).resources.map(({ uri }) => uri);
  assert.deepEqual(rows, ['skill://pack']);
  assert.equal(
    ((await client.readResource({ uri: 'skill://pack/one' })).contents[0] as { text: string }).text,
    skillText('one'),
  );
  await client.close();

  const old = new OldClient({ name: 'test', version: '1' });
  await old.connect(new OldTransport(new URL(url)));
  assert.deepEqual(
    (await old.listResources()).resources.map(({ uri }) => uri),
    ['skill://pack'],
  );
  assert.equal(
    ((await old.readResource({ uri: 'skill://pack/two/SKILL.md' })).contents[0] as { text: string }).text,
    skillText('two'),
  );
  await old.close();

  // A commit is served within the refresh plus 2 s, by the same process.
  const pid = server.pid;
  const better = skillText('one', 'Do it better.');
  commit = await pack.commitFiles({ ...first, 'skills/one/SKILL.md': better }, { parent: commit });
  const pushed = performance.now();
  await eventually(
    'the commit is served',
    () => readText(url, 'skill://pack/one'),
    (text) => text === better,
    refreshSeconds + 2,
  );
  assert.ok(performance.now() - pushed < (refreshSeconds + 2) * 1000);
  assert.ok(server.running && server.pid === pid);

  // A broken SKILL.md is named in the status.
  const broken = '---\nname: one\ndescription: Use when: it breaks\n---\nx\n';
  commit = await pack.commitFiles({ ...first, 'skills/one/SKILL.md': broken }, { parent: commit });
  const problems = await eventually(
    'the problem in the status',
    async () => JSON.parse(await kubectl('get', 'sksrc', 'pack', '-o', 'json')).status.problems,
    (list) => list?.length > 0,
  );
  const { path, line, reason, severity } = problems[0];
  assert.deepEqual(
    { path, line, reason, severity },
    { path: 'skills/one/SKILL.md', line: 3, reason: 'LenientYaml', severity: 'warning' },
  );
  const shown = await kubectl('get', 'sksrc');
  assert.match(shown, /^NAME +URL +REVISION +SKILLS +PROBLEMS +READY +STATUS +AGE/);
  assert.match(shown, /^pack +git\+http:\S+ +main@sha1:[0-9a-f]{40} +2 +\d+ +True/m);

  // The operator killed and started again makes no new fetch, writes nothing, and disturbs no reader.
  const versionOf = () => kubectl('get', 'sksrc,skgw', '-o', 'jsonpath={.items[*].metadata.resourceVersion}');
  await kubectl('annotate', 'sksrc', 'pack', 'lyceum.dev/requestedAt=now');
  await eventually(
    'the request is handled',
    () => kubectl('get', 'sksrc', 'pack', '-o', 'jsonpath={.status.lastHandledReconcileAt}'),
    (at) => at === 'now',
  );
  const before = await versionOf();
  operator.kill('SIGKILL');
  await operator.ended();
  git.exchanges.length = 0;
  operator = startOperator();
  await eventually(
    'the new operator has looked',
    () => git.exchanges.length,
    (requests) => requests >= 2,
  );
  assert.ok(
    git.exchanges.every(({ bytesOut }) => bytesOut < 1024),
    'only a probe',
  );
  assert.equal(await readText(url, 'skill://pack/one/SKILL.md'), broken);
  await eventually(
    'readiness',
    async () => {
      const port = operator.log.find(({ msg }) => msg === 'operator started')?.probesPort;
      return (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
    },
    (status) => status === 200,
  );
  assert.equal(await versionOf(), before);

  // kubectl describe shows the events; nothing was refused to the operator's account.
  const events = await kubectl(
    'get',
    'events.events.k8s.io',
    '-o',
    'jsonpath={range .items[*]}{.type} {.reason}{"\\n"}{end}',
  );
  assert.match(events, /^Normal ContentChanged$/m);

  // A deleted SkillSource takes its content with it, the last one too.
  await kubectl('delete', 'sksrc', 'pack');
  await eventually(
    'the content is gone',
    async () => {
      const gone = new Client({ name: 'test', version: '1' });
      await gone.connect(new StreamableHTTPClientTransport(new URL(url)));
      const { resources } = await gone.listResources();
      await gone.close();
      return resources.length;
    },
    (number) => number === 0,
  );
  await assert.rejects(readText(url, 'skill://pack/one'));
  assert.ok(server.running && server.pid === pid);

  operator.kill('SIGTERM');
  assert.equal(await operator.ended(), 0);
  server.kill('SIGTERM');
  assert.equal(await server.ended(), 0);
});
