// Deployments and Services of gateways on a real API server, whose controllers make pods of them; nobody runs those.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pino } from 'pino';
import { type Connected, connect } from '../../cli/operator/connect.ts';
import { type RunningOperator, startOperator } from '../../operator/operator.ts';
import { apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';

const api = await apiServer();
/** An envtest folder has no controllers: what they do is not tested then. */
const controllers = existsSync(join(api.bin, 'kube-controller-manager'));
let folder: string;
let kubeconfig: string;
/** Where the claim is, and another one that is watched too. */
let namespace: string;
let elsewhere: string;
let connected: Connected;
let operator: RunningOperator;

async function start(): Promise<void> {
  connected = connect({
    kubeconfig,
    namespaces: [namespace, elsewhere],
    pods: (own) => ({ image: 'lyceum:test', imagePullSecrets: [], volumeClaim: 'catalogue', namespace: own }),
    log: pino({ level: 'silent' }),
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
    log: pino({ level: 'silent' }),
  });
}

async function stop(): Promise<void> {
  await operator?.close();
  await connected?.close();
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-pods-'));
  [namespace, elsewhere] = [await api.namespace(), await api.namespace()];
  ({ kubeconfig } = await api.operatorAccount(namespace));
  const role = await api.kubectl(['get', 'role', 'lyceum-operator', '-n', namespace, '-o', 'json']);
  const binding = await api.kubectl(['get', 'rolebinding', 'lyceum-operator', '-n', namespace, '-o', 'json']);
  for (const text of [role, binding]) {
    const { apiVersion, kind, metadata, ...rest } = JSON.parse(text);
    await kubectl(['-n', elsewhere, 'apply', '-f', '-'], {
      apiVersion,
      kind,
      metadata: { name: metadata.name },
      ...rest,
    });
  }
  await start();
});

after(async () => {
  await stop();
  await rm(folder, { recursive: true, force: true });
});

const withControllers = (what: string, body: () => Promise<void>): void => {
  if (controllers) test(what, body);
};

const kubectl = (args: readonly string[], input?: object): Promise<string> =>
  api.kubectl(args, input && JSON.stringify(input));
const here = (...args: string[]): Promise<string> => kubectl(['-n', namespace, ...args]);
const apply = (manifest: object, where = namespace): Promise<string> =>
  kubectl(['-n', where, 'apply', '-f', '-'], manifest);
const gateway = (name: string, spec: object = {}): object => ({
  apiVersion: 'lyceum.dev/v1alpha1',
  kind: 'SkillGateway',
  metadata: { name },
  spec,
});

const roots: Record<string, string> = {
  deployment: 'apis/apps/v1',
  service: 'api/v1',
  pod: 'api/v1',
  resourcequota: 'api/v1',
  skillgateway: 'apis/lyceum.dev/v1alpha1',
};
const pathOf = (kind: string, where: string): string => `/${roots[kind]}/namespaces/${where}/${kind}s`;

/** @param what `deployment/agents` */
// biome-ignore lint/suspicious/noExplicitAny: objects are looked at as a user does, by any path
async function get(what: string, where = namespace): Promise<any> {
  const [kind, name] = what.split('/') as [string, string];
  const { status, body } = await api.request('GET', `${pathOf(kind, where)}/${name}`);
  assert.ok(status === 200 || status === 404, JSON.stringify(body));
  return status === 200 ? body : undefined;
}

async function condition(name: string, type = 'Ready', where = namespace): Promise<string> {
  const { status } = await get(`skillgateway/${name}`, where);
  const found = status.conditions?.find((one: { type: string }) => one.type === type);
  return found ? `${found.status} ${found.reason}: ${found.message}` : '';
}

const stands = (name: string, pattern: RegExp, where = namespace): Promise<string> =>
  eventually(
    `${name} is ${pattern}`,
    () => condition(name, 'Ready', where),
    (text) => pattern.test(text),
  );

/** The versions of both children: they move with every write that changes anything. */
async function versions(name: string): Promise<string[]> {
  const [deployment, service] = await Promise.all([get(`deployment/${name}`), get(`service/${name}`)]);
  return [deployment.metadata.generation, service.metadata.resourceVersion];
}

/** Plays the kubelet: every pod of a gateway runs and is ready. */
async function runPods(name: string): Promise<void> {
  const selector = encodeURIComponent(`app.kubernetes.io/instance=${name}`);
  const { body } = await api.request('GET', `${pathOf('pod', namespace)}?labelSelector=${selector}`);
  const { items } = body as { items: { metadata: { name: string; deletionTimestamp?: string } }[] };
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
  for (const { metadata } of items) {
    if (metadata.deletionTimestamp === undefined) {
      await api.tryKubectl(['-n', namespace, 'patch', 'pod', metadata.name, ...patch]);
    }
  }
}

/** Runs pods until the gateway is ready. */
async function untilReady(name: string, generation: number): Promise<void> {
  await eventually(
    `${name} is ready`,
    async () => {
      await runPods(name);
      const { status } = await get(`skillgateway/${name}`);
      return status.observedGeneration === generation && (await condition(name));
    },
    (text) => text !== false && text.startsWith('True'),
  );
}

/** The operator has looked at the gateway once more, since something it is to publish changed. */
async function lookedAgain(name: string, spec: object): Promise<void> {
  await apply(gateway(name, spec));
  const { metadata } = await get(`skillgateway/${name}`);
  await eventually(
    `${name} is looked at`,
    async () => (await get(`skillgateway/${name}`)).status.observedGeneration,
    (observed) => observed === metadata.generation,
  );
}

test('a gateway gets a Deployment and a Service', async () => {
  await apply(gateway('agents', { replicas: 2 }));
  await stands('agents', /^Unknown Progressing/);
  assert.match(await condition('agents', 'Reconciling'), /^True Progressing/);
  const { metadata } = await get('skillgateway/agents');
  for (const child of [await get('deployment/agents'), await get('service/agents')]) {
    const { name, uid } = metadata;
    const [owner] = child.metadata.ownerReferences;
    assert.deepEqual(owner, { apiVersion: 'lyceum.dev/v1alpha1', kind: 'SkillGateway', name, uid, controller: true });
    assert.equal(child.metadata.labels['app.kubernetes.io/managed-by'], 'lyceum');
    const managers = child.metadata.managedFields
      .filter((one: { manager: string }) => one.manager !== 'kube-controller-manager')
      .map((one: { manager: string; operation: string }) => `${one.manager} ${one.operation}`);
    assert.deepEqual(managers, ['lyceum Apply']);
  }
});

withControllers('a gateway is ready when its pods are', async () => {
  await untilReady('agents', 1);
  assert.equal(await condition('agents'), 'True Succeeded: The catalogue is published; 2 pods serve it');
  assert.equal(await condition('agents', 'Reconciling'), '');
  const { status } = await get('skillgateway/agents');
  assert.deepEqual([status.replicas, status.readyReplicas], [2, 2]);
  assert.equal(status.url, `http://agents.${namespace}.svc.cluster.local:8000/mcp`);
  assert.match(await here('get', 'skgw', 'agents'), /REPLICAS +READY +AGE\nagents +http:\S+ +0 +0 +2 +True/);
});

test('new settings and new content change nothing of the pods, and nor does an operator that starts anew', async () => {
  const before = await versions('agents');
  const resourceVersion = async (): Promise<string> => (await get('deployment/agents')).metadata.resourceVersion;
  const version = await resourceVersion();
  await here(
    'create',
    'configmap',
    'pack',
    '--from-literal=skills__one__SKILL.md=---\nname: one\ndescription: One.\n---\nOne.',
  );
  await apply({
    apiVersion: 'lyceum.dev/v1alpha1',
    kind: 'SkillSource',
    metadata: { name: 'pack' },
    spec: { url: 'configmap://pack' },
  });
  await eventually(
    'the skill is published',
    async () => (await get('skillgateway/agents')).status.catalogue.skills === 1,
  );
  const settings = {
    instructions: 'Read.',
    scope: { tags: ['x'] },
    libraries: [{ name: 'pack', title: 'Pack' }],
    sources: { names: ['pack'] },
  };
  await lookedAgain('agents', { replicas: 2, ...settings });
  await stop();
  await start();
  await lookedAgain('agents', { replicas: 2, ...settings, instructions: 'Read on.' });
  assert.deepEqual(await versions('agents'), before);
  assert.equal(await resourceVersion(), version);
});

test('a gateway that is looked at again sends nothing to the API server but its status', async () => {
  const patches = async (): Promise<number> => {
    const metric = await connected.registry.getSingleMetric('rest_client_requests_total')!.get();
    return metric.values.filter(({ labels }) => labels.method === 'PATCH').reduce((sum, { value }) => sum + value, 0);
  };
  const sent = await patches();
  await lookedAgain('agents', { replicas: 2, instructions: 'Again.' });
  assert.equal(await patches(), sent + 1);
});

test('what somebody edits is put right: what he changes, adds and removes', async () => {
  const wanted = (await get('deployment/agents')).spec;
  const wantedService = (await get('service/agents')).spec;
  const right = (what: string, kind: string, spec: unknown): Promise<unknown> =>
    eventually(
      `${what} is put right`,
      () => get(`${kind}/agents`),
      (object) => {
        try {
          assert.deepEqual(object.spec, spec);
          return true;
        } catch {
          return false;
        }
      },
    );
  await here('scale', 'deployment/agents', '--replicas=5');
  await here('set', 'image', 'deployment/agents', 'server=example.com/mine');
  await here('set', 'env', 'deployment/agents', 'LYCEUM_LOG_LEVEL=trace');
  await right('the number of pods, their image and their environment', 'deployment', wanted);

  const more = { spec: { template: { spec: { hostNetwork: true, containers: [{ name: 'more', image: 'x' }] } } } };
  await here('patch', 'deployment', 'agents', '-p', JSON.stringify(more));
  const ports = [{ port: 9000, name: 'more', targetPort: 9000 }];
  await here('patch', 'service', 'agents', '-p', JSON.stringify({ spec: { type: 'NodePort', ports } }));
  await here('label', 'deployment,service', 'agents', 'app.kubernetes.io/managed-by-');
  await right('the container', 'deployment', wanted);
  await right('the Service', 'service', wantedService);
  await eventually('the labels are back', async () => {
    const both = [await get('deployment/agents'), await get('service/agents')];
    return both.every(({ metadata }) => metadata.labels['app.kubernetes.io/managed-by'] === 'lyceum');
  });
});

test('annotations of others stay, and a restart of the pods is nobody’s fault', async () => {
  await here('annotate', 'deployment', 'agents', 'example.com/mine=yes');
  await here('rollout', 'restart', 'deployment/agents');
  await here('set', 'env', 'deployment/agents', 'A=B');
  const { metadata, spec } = await eventually(
    'the environment is put right',
    () => get('deployment/agents'),
    (object) => object.spec.template.spec.containers[0].env.length === 1,
  );
  assert.equal(metadata.annotations['example.com/mine'], 'yes');
  assert.ok(spec.template.metadata.annotations['kubectl.kubernetes.io/restartedAt']);
});

test('what somebody deletes comes back', async () => {
  const uids = async (): Promise<(string | undefined)[]> =>
    [await get('deployment/agents'), await get('service/agents')].map((child) => child?.metadata.uid);
  const before = await uids();
  await here('delete', 'deployment/agents', 'service/agents');
  await eventually('both are back', uids, (now) => now.every((uid, at) => uid !== undefined && uid !== before[at]));
});

test('a new shape is applied, and a field that is left out again is given up', async () => {
  const shaped = {
    replicas: 1,
    resources: { limits: { cpu: '1000m', memory: '1Gi' } },
    nodeSelector: { disk: 'fast' },
    tolerations: [{ key: 'dedicated', value: 'agents' }],
    podLabels: { team: 'platform' },
    podAnnotations: { 'example.com/a': 'b' },
    imagePullSecrets: [{ name: 'registry' }],
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
    affinity: { podAntiAffinity: {} },
    service: { port: 80, annotations: { 'example.com/lb': 'x' } },
  };
  await apply(gateway('shaped', { replicas: 1 }));
  const plain = await eventually('the Deployment', () => get('deployment/shaped'));
  const plainService = await eventually('the Service', () => get('service/shaped'));
  await apply(gateway('shaped', shaped));
  const made = await eventually(
    'the new shape',
    () => get('deployment/shaped'),
    ({ metadata }) => metadata.generation === 2,
  );
  const pod = made.spec.template;
  assert.deepEqual(pod.spec.nodeSelector, { disk: 'fast' });
  assert.equal(pod.metadata.labels.team, 'platform');
  assert.equal((await get('service/shaped')).spec.ports[0].port, 80);
  const url = `http://shaped.${namespace}.svc.cluster.local:80/mcp`;
  await eventually('its URL is told', async () => (await get('skillgateway/shaped')).status.url === url);

  // An amount that Kubernetes writes in its own way (1000m is 1) is no reason to write again.
  await stop();
  await start();
  await lookedAgain('shaped', { ...shaped, instructions: 'Read.' });
  assert.equal((await get('deployment/shaped')).metadata.generation, 2);

  await apply(gateway('shaped', { replicas: 1 }));
  const back = await eventually(
    'the old shape',
    () => get('deployment/shaped'),
    ({ metadata }) => metadata.generation === 3,
  );
  assert.deepEqual(back.spec, plain.spec);
  const service = await get('service/shaped');
  assert.deepEqual([service.spec, service.metadata.annotations], [plainService.spec, undefined]);
});

test('a field is given up also after an edit was put right', async () => {
  await apply(gateway('edited', { replicas: 1, nodeSelector: { disk: 'fast' } }));
  await eventually('the Deployment', () => get('deployment/edited'));
  await here('set', 'env', 'deployment/edited', 'A=B');
  await eventually(
    'the edit is put right',
    () => get('deployment/edited'),
    ({ spec }) => {
      return !spec.template.spec.containers[0].env.some(({ name }: { name: string }) => name === 'A');
    },
  );
  await apply(gateway('edited', { replicas: 1 }));
  await eventually(
    'the field is given up',
    () => get('deployment/edited'),
    ({ spec }) => spec.template.spec.nodeSelector === undefined,
  );
});

test("a Deployment or Service of the gateway's name that is somebody else's is left alone, and the status says so", async () => {
  const leftAlone = async (kind: 'Deployment' | 'Service', ...making: string[]): Promise<void> => {
    const name = `taken-${kind.toLowerCase()}`;
    const path = `${kind.toLowerCase()}/${name}`;
    await here('create', kind.toLowerCase(), ...making.map((word) => (word === 'NAME' ? name : word)));
    const foreign = await eventually(
      'it is seen',
      () => get(path),
      (object) => kind === 'Service' || !controllers || object.status.observedGeneration === 1,
    );
    await apply(gateway(name));
    await stands(name, new RegExp(`^False RolloutFailed: The ${kind} ${name} stands in the way`));
    assert.match(await condition(name, 'Stalled'), /^True RolloutFailed/);
    assert.match(await condition(name, 'SourcesReady'), /^True/);
    await lookedAgain(name, { instructions: 'Read.', replicas: 1 });
    assert.equal((await get(path)).metadata.resourceVersion, foreign.metadata.resourceVersion);
    assert.equal(await get(`${kind === 'Service' ? 'deployment' : 'service'}/${name}`), undefined);
    await here('delete', path);
    await stands(name, /^Unknown Progressing/);
  };
  await Promise.all([
    leftAlone('Deployment', 'NAME', '--image=x', '--replicas=0'),
    leftAlone('Service', 'clusterip', 'NAME', '--tcp=80'),
  ]);
});

test('a shape that the API server refuses is told in its own words, and a mended one is taken', async () => {
  await apply(gateway('refused', { resources: { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } } }));
  const told = await stands('refused', /^False RolloutFailed: The API server refuses the Deployment refused: /);
  assert.match(told, /must be less than or equal to memory limit/);
  await apply(gateway('refused', {}));
  await stands('refused', /^Unknown Progressing/);
});

withControllers('pods that Kubernetes does not create are told with the reason', async () => {
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'none' },
    spec: { hard: { 'count/pods': '0' } },
  };
  await apply(quota);
  try {
    await eventually('the quota holds', async () => (await get('resourcequota/none')).status?.hard !== undefined);
    await apply(gateway('quota'));
    await stands(
      'quota',
      /^False RolloutFailed: Kubernetes does not create the pods: .*exceeded quota.*; 0 pods serve/,
    );
  } finally {
    await here('delete', 'resourcequota/none');
  }
});

test('a gateway outside the namespace of the claim is refused, and says where it belongs', async () => {
  await apply(gateway('far'), elsewhere);
  const told = await stands('far', /^False VolumeNotReachable/, elsewhere);
  assert.ok(told.includes('claim catalogue') && told.includes(`namespace ${namespace}`), told);
  assert.match(await condition('far', 'Stalled', elsewhere), /^True VolumeNotReachable/);
  for (const kind of ['deployment', 'service']) assert.equal(await get(`${kind}/far`, elsewhere), undefined);
});

withControllers('the children of a gateway go with it, and one of the same name gets its own', async () => {
  const before = (await get('deployment/agents')).metadata.uid;
  await here('delete', 'skillgateway/agents');
  await apply(gateway('agents', { replicas: 1 }));
  const { uid } = (await get('skillgateway/agents')).metadata;
  await eventually(
    'a Deployment of the new gateway',
    () => get('deployment/agents'),
    (child) => child?.metadata.ownerReferences[0].uid === uid && child.metadata.uid !== before,
  );
  await here('delete', 'skillgateway/agents');
  const children = async (): Promise<unknown[]> =>
    (await Promise.all([get('deployment/agents'), get('service/agents')])).filter((child) => child !== undefined);
  await eventually('both are gone', children, ({ length }) => length === 0);
});
