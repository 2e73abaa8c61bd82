// Who may copy the catalogue of a gateway: over real TLS, with tokens that a real API server signed for pods and ServiceAccounts.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import { pino } from 'pino';
import { listenToCallers } from '../../cli/operator/callers.ts';
import { type Connected, connect } from '../../cli/operator/connect.ts';
import type { Listener } from '../../operator/listeners.ts';
import { type RunningOperator, startOperator } from '../../operator/operator.ts';
import type { SyncFault } from '../../sync/fault.ts';
import { createSyncMetrics } from '../../sync/metrics.ts';
import { OperatorClient } from '../../sync/operator-client.ts';
import { startSync } from '../../sync/sync.ts';
import { apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { certificate } from '../kubernetes/certificates.ts';

const api = await apiServer();
/** An envtest folder has no controllers, so gateways have no pods there. */
const controllers = existsSync(join(api.bin, 'kube-controller-manager'));
let folder: string;
/** Where the volume is, and a namespace of a team. */
let home: string;
let team: string;
let connected: Connected;
let operator: RunningOperator;
let listener: Listener;
let said = '';
const log = pino(
  { level: 'debug' },
  {
    write(line: string) {
      said += line;
    },
  },
);

const inTeam = (...args: string[]): Promise<string> => api.kubectl(['-n', team, ...args]);
const apply = (manifest: object, namespace = team): Promise<string> =>
  api.kubectl(['-n', namespace, 'apply', '-f', '-'], JSON.stringify(manifest));
const gateway = (name: string, spec: object = {}): object => ({
  apiVersion: 'lyceum.dev/v1alpha1',
  kind: 'SkillGateway',
  metadata: { name },
  spec,
});

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-copies-'));
  [home, team] = [await api.namespace(), await api.namespace()];
  const { kubeconfig } = await api.operatorAccount(home);
  for (const kind of ['role', 'rolebinding']) {
    const { metadata, ...rest } = JSON.parse(
      await api.kubectl(['-n', home, 'get', kind, 'lyceum-operator', '-o', 'json']),
    );
    await apply({ ...rest, metadata: { name: metadata.name } });
  }
  await certificate(folder, 'operator');
  await mkdir(join(folder, 'tls'));
  for (const end of ['crt', 'key']) await copyFile(join(folder, `operator.${end}`), join(folder, `tls/tls.${end}`));
  connected = connect({
    kubeconfig,
    namespaces: [home, team],
    pods: (own) => ({
      image: 'lyceum:test',
      imagePullSecrets: [],
      volumeClaim: 'catalogue',
      namespace: own,
      operator: { url: 'https://operator:9443', caSecret: 'operator-tls' },
      sync: { authority: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n' },
    }),
    log,
  });
  operator = await startOperator({
    cluster: connected.cluster,
    metrics: connected.metrics,
    pods: connected.pods,
    volume: join(folder, 'volume'),
    fileRoot: undefined,
    guard: { allowLoopback: true, deniedCidrs: [] },
    ceiling: { files: 1000, fileSize: 2 ** 20, totalSize: 2 ** 20 },
    concurrentFetches: 2,
    urlOf: () => undefined,
    log,
  });
  listener = (await listenToCallers(
    { tlsFolder: join(folder, 'tls'), callersPort: 0 },
    {
      host: '127.0.0.1',
      volume: join(folder, 'volume'),
      connected,
      operator,
      election: undefined,
      stop: new AbortController().signal,
      log,
    },
  ))!;
  await eventually('namespaces are ready', () => inTeam('get', 'serviceaccount', 'default'));
  await inTeam('create', 'serviceaccount', 'agent');
  await inTeam('create', 'serviceaccount', 'stranger');
  const skill = '---\nname: one\ndescription: One.\n---\nOne.\n';
  await inTeam('create', 'configmap', 'pack', `--from-literal=skills__one__SKILL.md=${skill}`);
  await apply({
    apiVersion: 'lyceum.dev/v1alpha1',
    kind: 'SkillSource',
    metadata: { name: 'pack' },
    spec: { url: 'configmap://pack' },
  });
  await apply(gateway('beside', { replicas: 0, sync: { serviceAccounts: ['agent'] } }));
  await apply(gateway('closed', { replicas: 0 }));
  await eventually('the catalogue is published', async () => (await ask(await tokenOf('agent'), 'beside')) === 200);
});

after(async () => {
  await operator?.close();
  await listener?.close();
  await connected?.close();
  await rm(folder, { recursive: true, force: true });
});

let pods = 0;
/** A pod of a ServiceAccount. Nobody runs it. */
async function podOf(serviceAccount: string, namespace = team): Promise<string> {
  const name = `pod-${pods++}`;
  const spec = { serviceAccountName: serviceAccount, containers: [{ name: 'x', image: 'x' }] };
  await eventually('the pod', () => apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec }, namespace));
  return name;
}

async function tokenOf(
  serviceAccount: string,
  { pod, audience = 'lyceum', namespace = team }: { pod?: string; audience?: string; namespace?: string } = {},
): Promise<string> {
  const bound = ['--bound-object-kind', 'Pod', '--bound-object-name', pod ?? (await podOf(serviceAccount, namespace))];
  const args = ['-n', namespace, 'create', 'token', serviceAccount, '--audience', audience, ...bound];
  return (await api.kubectl(args)).trim();
}

/** What a token gets for a gateway's index.json: the status, or the reason of the fault and its message. */
async function ask(token: string, gateway: string): Promise<number | string> {
  await writeFile(join(folder, 'token'), token);
  const client = new OperatorClient({
    url: `https://127.0.0.1:${listener.port}`,
    ca: join(folder, 'operator.crt'),
    token: join(folder, 'token'),
    gateway,
  });
  try {
    const { status, body } = await client.get('/catalogue/index.json', {}, {}, AbortSignal.timeout(10_000));
    body.resume();
    return status;
  } catch (error) {
    return `${(error as SyncFault).reason}: ${(error as Error).message.replaceAll(gateway, 'X')}`;
  } finally {
    await client.close();
  }
}

test('a pod of a ServiceAccount that a gateway names copies it whole', async () => {
  await writeFile(join(folder, 'own-token'), await tokenOf('agent'));
  const sync = startSync({
    folder: join(folder, 'copy'),
    namespace: team,
    operator: {
      url: `https://127.0.0.1:${listener.port}`,
      ca: join(folder, 'operator.crt'),
      token: join(folder, 'own-token'),
      gateway: 'beside',
    },
    sizeLimit: 2 ** 24,
    metrics: createSyncMetrics(),
    log,
  });
  try {
    await eventually('the copy', () => sync.hasCatalogue());
  } finally {
    await sync.close();
  }
  assert.ok(existsSync(join(folder, `copy/gateways/${team}/beside/index.json`)));
});

test('what may not be copied and what is not there is refused alike', async () => {
  const agent = await tokenOf('agent');
  const absent = await ask(agent, 'absent');
  assert.match(String(absent), /^NotAllowed: this pod may not copy/);
  assert.equal(await ask(agent, 'closed'), absent, 'a gateway that names nobody');
  assert.equal(await ask(await tokenOf('stranger'), 'beside'), absent, 'a ServiceAccount that is not named');
  await eventually('the account', () => api.kubectl(['-n', home, 'get', 'serviceaccount', 'default']));
  await api.kubectl(['-n', home, 'create', 'serviceaccount', 'agent']);
  const foreign = await tokenOf('agent', { namespace: home });
  assert.equal(await ask(foreign, 'beside'), absent, 'its namesake of another namespace');
  for (const odd of [`../${team}/beside`, `${team}/beside`, '', '__proto__']) {
    assert.match(String(await ask(foreign, odd)), /^NotAllowed/, odd);
  }
});

test('a token for somebody else, of no pod or of a pod that is gone gets nothing', async () => {
  const refused = /^NotAllowed: the operator does not accept the token/;
  const pod = await podOf('agent');
  const audience = 'https://kubernetes.default.svc.cluster.local';
  assert.match(String(await ask(await tokenOf('agent', { pod, audience }), 'beside')), refused);
  assert.match(
    String(await ask((await inTeam('create', 'token', 'agent', '--audience', 'lyceum')).trim(), 'beside')),
    refused,
  );
  assert.match(String(await ask('x', 'beside')), refused);
  const good = await tokenOf('agent', { pod });
  await inTeam('delete', 'pod', pod, '--force', '--grace-period=0', '--wait=true');
  assert.match(String(await ask(good, 'beside')), /^NotAllowed: this pod may not copy/);
  await apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: pod },
    spec: { serviceAccountName: 'agent', containers: [{ name: 'x', image: 'x' }] },
  });
  assert.match(String(await ask(good, 'beside')), /^NotAllowed: this pod may not copy/, 'a namesake of the pod');
  assert.ok(!said.includes(good.split('.')[2]!), 'no token stands in the log');
});

test('whoever is taken out of the spec while he waits for news gets none', async () => {
  await apply(gateway('waiting', { replicas: 0, sync: { serviceAccounts: ['agent'] } }));
  const token = await tokenOf('agent');
  await eventually('it is published', async () => (await ask(token, 'waiting')) === 200);
  await writeFile(join(folder, 'waiting-token'), token);
  const client = new OperatorClient({
    url: `https://127.0.0.1:${listener.port}`,
    ca: join(folder, 'operator.crt'),
    token: join(folder, 'waiting-token'),
    gateway: 'waiting',
  });
  const get = (headers: Record<string, string>) =>
    client.get('/catalogue/index.json', {}, headers, AbortSignal.timeout(20_000));
  try {
    const first = await get({});
    first.body.resume();
    const waiting = get({ 'if-none-match': String(first.headers.etag), prefer: 'wait=15' });
    const outcome = waiting.then(
      ({ status, body }) => {
        body.resume();
        return `${status}`;
      },
      (error: SyncFault) => error.reason,
    );
    await apply(gateway('waiting', { replicas: 0, instructions: 'News, not for the agent.' }));
    assert.equal(await outcome, 'NotPublished');
  } finally {
    await client.close();
  }
});

test('whoever is taken out of the spec gets nothing more', async () => {
  await apply(gateway('leaving', { replicas: 0, sync: { serviceAccounts: ['agent'] } }));
  const token = await tokenOf('agent');
  await eventually('it is published', async () => (await ask(token, 'leaving')) === 200);
  await apply(gateway('leaving', { replicas: 0 }));
  await eventually('it is refused', async () => /^NotAllowed/.test(String(await ask(token, 'leaving'))));
});

if (controllers) {
  test('a gateway of another namespace gets pods, which copy it and no other', async () => {
    await apply(gateway('agents', { replicas: 1 }));
    const pod = await eventually('a pod', async () => {
      const label = 'app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=agents';
      const { items } = JSON.parse(await inTeam('get', 'pods', '-l', label, '-o', 'json'));
      return items[0]?.metadata.name as string | undefined;
    });
    const { spec, metadata } = JSON.parse(await inTeam('get', 'pod', pod!, '-o', 'json'));
    assert.equal(spec.initContainers[0].name, 'sync');
    assert.match(metadata.annotations['lyceum.dev/operator-ca'], /BEGIN CERTIFICATE/);
    const token = await tokenOf('default', { pod: pod! });
    assert.ok(decodeJwt(token).exp);
    assert.equal(await ask(token, 'agents'), 200);
    assert.match(String(await ask(token, 'beside')), /^NotAllowed/);
    const message = async (): Promise<string> =>
      JSON.parse(await inTeam('get', 'skillgateway', 'agents', '-o', 'json')).status.conditions.find(
        ({ type }: { type: string }) => type === 'Ready',
      ).message;
    await eventually('it waits for its pods', async () => /pod/.test(await message()));
  });
}
