// The operator's port for its servers: over real TLS, with tokens that a real API server signed for pods that its controllers made.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { pino } from 'pino';
import { type Connected, connect } from '../../cli/operator/connect.ts';
import { Callers } from '../../operator/callers/callers.ts';
import { callersListener } from '../../operator/callers/listener.ts';
import { routesOf } from '../../operator/callers/routes.ts';
import { systemClock } from '../../operator/clock.ts';
import type { Listener } from '../../operator/listeners.ts';
import { type RunningOperator, startOperator } from '../../operator/operator.ts';
import { apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { certificate } from '../kubernetes/certificates.ts';

const api = await apiServer();
/** An envtest folder has no controllers, so there are no pods to speak for. */
const controllers = existsSync(join(api.bin, 'kube-controller-manager'));
let folder: string;
let namespace: string;
let connected: Connected;
let operator: RunningOperator;
let listener: Listener;
let ca: Buffer;
let said = '';
/** How far the operator's wall clock is ahead, in milliseconds. */
let ahead = 0;

const log = pino(
  { level: 'debug' },
  {
    write(line: string) {
      said += line;
    },
  },
);
const inNamespace = (...args: string[]): Promise<string> => api.kubectl(['-n', namespace, ...args]);
const apply = (manifest: object): Promise<string> =>
  api.kubectl(['-n', namespace, 'apply', '-f', '-'], JSON.stringify(manifest));
const gateway = (name: string, spec: object = {}): object => ({
  apiVersion: 'lyceum.dev/v1alpha1',
  kind: 'SkillGateway',
  metadata: { name },
  spec,
});

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-callers-'));
  namespace = await api.namespace();
  const { kubeconfig } = await api.operatorAccount(namespace);
  connected = connect({
    kubeconfig,
    namespaces: [namespace],
    pods: (own) => ({ image: 'lyceum:test', imagePullSecrets: [], volumeClaim: 'catalogue', namespace: own }),
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
  ({ cert: ca } = await certificate(folder, 'operator'));
  await mkdir(join(folder, 'tls'));
  for (const end of ['crt', 'key']) await copyFile(join(folder, `operator.${end}`), join(folder, `tls/tls.${end}`));
  const callers = new Callers({
    connection: connected.connection,
    cluster: connected.cluster,
    sidecar: undefined,
    clock: systemClock,
    now: () => Date.now() + ahead,
  });
  listener = await callersListener({
    host: '127.0.0.1',
    port: 0,
    tlsFolder: join(folder, 'tls'),
    identify: (authorization) => callers.identify(authorization),
    routes: routesOf(operator, log),
    clock: systemClock,
    log,
  });
});

after(async () => {
  await operator?.close();
  await listener?.close();
  await connected?.close();
  await rm(folder, { recursive: true, force: true });
});

interface Reply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is looked at as its caller does
  body: any;
  headers: Record<string, unknown>;
}

function call(authorization?: string, path = '/reindex', method = 'POST', port = listener.port): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const headers = authorization === undefined ? {} : { authorization };
  request({ host: '127.0.0.1', port, path, method, headers, ca, agent: false }, (response) => {
    text(response).then(
      (body) => resolve({ status: response.statusCode!, body: JSON.parse(body), headers: response.headers }),
      reject,
    );
  })
    .on('error', reject)
    .end();
  return promise;
}

/** The name of a pod of a gateway that is not going. */
const podOf = (name: string): Promise<string> =>
  eventually(`a pod of ${name}`, async () => {
    const label = `app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=${name}`;
    const { items } = JSON.parse(await inNamespace('get', 'pods', '-l', label, '-o', 'json'));
    return items.find((pod: { metadata: { deletionTimestamp?: string } }) => !pod.metadata.deletionTimestamp)?.metadata
      .name;
  });

async function token(pod: string | undefined, audience = 'lyceum', ...more: string[]): Promise<string> {
  const bound = pod === undefined ? [] : ['--bound-object-kind', 'Pod', '--bound-object-name', pod];
  return (await inNamespace('create', 'token', 'default', '--audience', audience, ...bound, ...more)).trim();
}

/** A gateway with one source that nobody refreshes, and a token of one of its pods. */
async function served(name: string): Promise<{ bearer: string; pod: string }> {
  await inNamespace(
    'create',
    'configmap',
    name,
    '--from-literal=skills__one__SKILL.md=---\nname: one\ndescription: One.\n---\n',
  );
  await apply({
    apiVersion: 'lyceum.dev/v1alpha1',
    kind: 'SkillSource',
    metadata: { name, labels: { of: name } },
    spec: { url: `configmap://${name}` },
  });
  await apply(gateway(name, { sources: { selector: { matchLabels: { of: name } } } }));
  await inNamespace('wait', '--for=condition=Ready', '--timeout=20s', `skillsource/${name}`);
  const pod = await podOf(name);
  return { bearer: `Bearer ${await token(pod)}`, pod };
}

const withControllers = (what: string, body: () => Promise<void>): void => {
  if (controllers) test(what, body);
};

const unauthorized = { status: 401, body: { error: 'Unauthorized' } };
const forbidden = { status: 403, body: { error: 'Forbidden' } };
const refused = async (authorization: string | undefined, expected: object, what: string): Promise<void> => {
  const { status, body, headers } = await call(authorization);
  assert.deepEqual({ status, body }, expected, what);
  assert.equal(headers['www-authenticate'], status === 401 ? 'Bearer' : undefined, what);
};

withControllers('a pod of a gateway has everything looked at that its gateway serves, and nothing else', async () => {
  const { bearer } = await served('agents');
  await served('others');
  const { status, body } = await call(bearer);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.rebuilt, ['agents']);
  const { catalogue } = JSON.parse(await inNamespace('get', 'skillgateway', 'agents', '-o', 'json')).status;
  assert.equal(body.generation, catalogue.generation);
});

withControllers(
  'whoever shows no token that the API server signed for a pod is not told why he is refused',
  async () => {
    const { bearer, pod } = await served('plain');
    const good = bearer.slice('Bearer '.length);
    const [header, claims, signature] = good.split('.') as [string, string, string];
    const altered = Buffer.from(JSON.stringify({ ...decodeJwt(good), sub: 'somebody' })).toString('base64url');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const forge = (kid: string | undefined) =>
      new SignJWT(decodeJwt(good))
        .setProtectedHeader({ alg: 'ES256', ...(kid === undefined ? {} : { kid }) })
        .sign(privateKey);
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    const secret = new TextEncoder().encode(await readFile(join(api.folder, 'accounts.pub'), 'utf8'));
    const { kid } = decodeProtectedHeader(good);
    const symmetric = await new SignJWT(decodeJwt(good)).setProtectedHeader({ alg: 'HS256', kid: kid! }).sign(secret);
    const cases: Record<string, string | undefined> = {
      'no header': undefined,
      'an empty header': '',
      'a word': 'Bearer lyceum',
      Basic: `Basic ${Buffer.from(`x:${good}`).toString('base64')}`,
      'a token without its signature': `Bearer ${header}.${claims}.`,
      'a token whose claims were altered': `Bearer ${header}.${altered}.${signature}`,
      'a token of no algorithm': `Bearer ${none}.${claims}.`,
      'one signed with another key of the same id': `Bearer ${await forge(kid)}`,
      'one signed with an unknown key': `Bearer ${await forge('unknown')}`,
      'one signed with a key without an id': `Bearer ${await forge(undefined)}`,
      'one signed with the public key as a secret': `Bearer ${symmetric}`,
      'a token for the API server': `Bearer ${await token(pod, 'https://kubernetes.default.svc.cluster.local')}`,
      'a token that is bound to no pod': `Bearer ${await token(undefined)}`,
    };
    for (const [what, authorization] of Object.entries(cases)) await refused(authorization, unauthorized, what);
    await refused(bearer.replace('Bearer', 'bearer'), { status: 200, body: (await call(bearer)).body }, 'the good one');
    assert.ok(!said.includes(signature), 'no token stands in the log');
  },
);

withControllers('a token is good until it expires', async () => {
  const { bearer } = await served('late');
  const { exp } = decodeJwt(bearer.slice('Bearer '.length));
  try {
    ahead = exp! * 1000 - Date.now() - 30_000;
    assert.equal((await call(bearer)).status, 200);
    ahead += 60_000;
    await refused(bearer, unauthorized, 'half a minute after');
    ahead = -3600_000;
    await refused(bearer, unauthorized, 'before it was made');
  } finally {
    ahead = 0;
  }
});

withControllers('a pod that is no gateway speaks for none, whatever its labels say', async () => {
  const { pod } = await served('real');
  const { metadata, spec } = JSON.parse(await inNamespace('get', 'pod', pod, '-o', 'json'));
  const { containers } = spec;
  const { 'pod-template-hash': _hash, ...labels } = metadata.labels;
  const { pod: other } = await served('other');
  const { ownerReferences } = JSON.parse(await inNamespace('get', 'pod', other, '-o', 'json')).metadata;
  const pods: Record<string, object> = {
    stranger: {},
    labelled: { labels },
    hashed: { labels: { ...labels, 'pod-template-hash': 'x' } },
    owned: { labels: { ...labels, 'pod-template-hash': 'x' }, ownerReferences },
  };
  for (const [name, more] of Object.entries(pods)) {
    const bare = [{ name: 'x', image: containers[0].image }];
    await apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name, ...more }, spec: { containers: bare } });
    const own = await eventually('a token', () => token(name));
    await refused(`Bearer ${own}`, forbidden, name);
  }
});

withControllers("a gateway's token is worth nothing once its gateway or its pod is gone", async () => {
  const { bearer, pod } = await served('gone');
  assert.equal((await call(bearer)).status, 200);
  await inNamespace('delete', 'pod', pod, '--force', '--grace-period=0', '--wait=true');
  await refused(bearer, forbidden, 'the pod is gone');

  const next = await podOf('gone');
  const another = `Bearer ${await token(next)}`;
  assert.equal((await call(another)).status, 200);
  await inNamespace('delete', 'skillgateway', 'gone', '--cascade=orphan');
  await eventually(
    'the operator has heard of it',
    () => call(another),
    ({ status }) => status === 403,
  );
});

withControllers('a pod of a namespace that the operator does not watch is a stranger', async () => {
  const { pod } = await served('near');
  const { metadata, spec } = JSON.parse(await inNamespace('get', 'pod', pod, '-o', 'json'));
  const elsewhere = await api.namespace();
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: pod, labels: metadata.labels },
    spec: { containers: [{ name: 'x', image: spec.containers[0].image }] },
  };
  await eventually('the pod', () => api.kubectl(['-n', elsewhere, 'apply', '-f', '-'], JSON.stringify(manifest)));
  const bound = ['--bound-object-kind', 'Pod', '--bound-object-name', pod];
  const foreign = await api.kubectl(['-n', elsewhere, 'create', 'token', 'default', '--audience', 'lyceum', ...bound]);
  await refused(`Bearer ${foreign.trim()}`, forbidden, 'elsewhere');
});

withControllers('paths and methods that there are not are told only to those who are known', async () => {
  const { bearer } = await served('paths');
  for (const [path, method] of [
    ['/', 'GET'],
    ['/reindex', 'GET'],
    ['/reindex/', 'POST'],
    ['/constructor', 'POST'],
  ] as const) {
    assert.equal((await call(undefined, path, method)).status, 401);
    assert.equal((await call(bearer, path, method)).status, 404, `${method} ${path}`);
  }
  assert.equal((await call(bearer, '/reindex?x=1')).status, 200);
});

test('what the operator cannot do is told with a status of its own', async () => {
  const answerOf = (synced: boolean, answer: Awaited<ReturnType<RunningOperator['reindex']>>) =>
    routesOf({ synced: () => synced, reindex: async () => answer, countDownloads: async () => 'kept' }, log)[
      'POST /reindex'
    ]!({ gateway: 'flow/agents', authorization: '', body: async () => Buffer.alloc(0) });
  assert.equal((await answerOf(false, { rebuilt: [], unfinished: [] })).status, 503);
  assert.deepEqual(await answerOf(true, 'InvalidSpec'), { status: 409, body: { error: 'InvalidSpec' } });
});

test('lyceum operator listens where it has a certificate, and does not start with a folder that has none', async () => {
  const elsewhere = await api.namespace();
  const { kubeconfig } = await api.operatorAccount(elsewhere);
  const options = [
    ...['operator', '--kubeconfig', kubeconfig, '--namespaces', elsewhere, '--volume', join(folder, 'other-volume')],
    ...['--probes-port', '0', '--metrics-port', '0', '--callers-port', '0', '--tls-folder'],
  ];
  await using process = new LyceumProcess([...options, join(folder, 'tls')]);
  const port = await eventually(
    'the port',
    () => process.log.find(({ msg }) => msg === 'operator started')?.callersPort as number | undefined,
  );
  assert.equal((await call('Bearer x', '/reindex', 'POST', port)).status, 401);
  process.kill('SIGTERM');
  assert.equal(await process.ended(), 0);

  await using without = new LyceumProcess([...options, join(folder, 'none')]);
  assert.equal(await without.ended(), 1);
  assert.match(without.said, /none\/tls\.(crt|key) cannot be read \(ENOENT\)/);
});
