// What the chart installs, as Helm 4 and Helm 3 render it: the same objects, with the rights and the shape that are told.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { crdFiles } from '../../operator/resources/crd-files.ts';
import { type Helm, helms, objects, only, type Rendered, type RenderOptions, type Values } from './helm.ts';
import { chart } from './values.ts';

const repository = join(import.meta.dirname, '../..');
const [helm4, helm3] = (await helms()) as [Helm, Helm];
const sidecar = { sidecar: { enabled: true, gateway: 'agents' } };
const digest = `sha256:${'0'.repeat(64)}`;
const preference = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['node0'] }] };
const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] };
const many = {
  fullnameOverride: 'skills',
  image: {
    repository: 'registry.example/team/lyceum',
    digest,
    pullPolicy: 'Always',
    pullSecrets: [{ name: 'registry' }],
  },
  namespaces: ['skills', '2024', 'skills'],
  volume: { accessMode: 'ReadWriteMany', storageClassName: 'nfs', size: '20Gi' },
  resources: { limits: { memory: '1.5G' } },
  logLevel: 'debug',
  concurrentFetches: 8,
  ceilings: { files: 10_000_000, totalSize: '2Gi' },
  denyCidrs: ['10.0.0.0/8', 'fd00::/8'],
  extraCa: { configMap: 'authorities' },
  proxy: { httpsProxy: 'http://proxy.example:3128', noProxy: '.svc,10.0.0.0/8' },
  fileRoot: { persistentVolumeClaim: { claimName: 'shared-skills' } },
  webhooks: { enabled: true, ingress: { enabled: true, host: 'hooks.example.com', tlsSecret: 'hooks-tls' } },
  podAnnotations: { team: 'platform' },
  podLabels: { team: 'platform' },
  nodeSelector: { disk: 'fast' },
  tolerations: [{ operator: 'Exists' }],
  affinity: { nodeAffinity },
};

let plain: Rendered[];
before(async () => {
  plain = await objects(helm4);
});

const podOf = (all: readonly Rendered[]) => only(all, 'Deployment').spec.template;
// biome-ignore lint/suspicious/noExplicitAny: a container as Kubernetes has it
const container = (all: readonly Rendered[], name: string): any =>
  podOf(all).spec.containers.find((one: { name: string }) => one.name === name);
const argumentsOf = (all: readonly Rendered[]): string[] => container(all, 'operator').args;

test('both lines of Helm find nothing to complain of', () => {
  for (const { name, program } of [helm4, helm3]) {
    const { status, stdout } = spawnSync(program, ['lint', '--strict', chart], { encoding: 'utf8' });
    assert.equal(status, 0, `${name}: ${stdout}`);
  }
});

test('both lines of Helm render the same', async () => {
  const cases: RenderOptions[] = [
    {},
    { values: many },
    { values: sidecar },
    { files: [join(repository, 'examples/cluster/values-sidecar.yaml')] },
    { files: [join(repository, 'examples/cluster/values-many-nodes.yaml')] },
  ];
  // Every certificate is another one.
  const but = (all: Rendered[]) =>
    all.map((one) => (one.kind === 'Secret' ? { ...one, data: Object.keys(one.data) } : one));
  for (const options of cases) assert.deepEqual(but(await objects(helm3, options)), but(await objects(helm4, options)));
});

test('the definitions are those of crds/, stay when the release goes, and can be left to another release', async () => {
  const definitions = plain.filter(({ kind }) => kind === 'CustomResourceDefinition');
  const expected = [...crdFiles().values()].map((text) => parse(text) as Rendered);
  const byName = (a: Rendered, b: Rendered) => a.metadata.name.localeCompare(b.metadata.name);
  const bare = definitions.map(({ metadata, ...rest }) => ({ ...rest, metadata: { name: metadata.name } }) as Rendered);
  assert.deepEqual(bare.sort(byName), expected.sort(byName));
  for (const { metadata } of definitions) assert.equal(metadata.annotations?.['helm.sh/resource-policy'], 'keep');
  const without = await objects(helm4, { values: { crds: { enabled: false } } });
  assert.deepEqual(
    without.map(({ kind }) => kind).sort(),
    [
      ...['Deployment', 'PersistentVolumeClaim', 'Pod', 'Role', 'Role', 'RoleBinding', 'RoleBinding'],
      ...['Secret', 'Service', 'ServiceAccount'],
    ].sort(),
  );
});

describe('rights', () => {
  const { rules } = parse(readFileSync(join(repository, 'operator/kubernetes/role.yaml'), 'utf8')) as Rendered;
  const onServers = ({ resources: [resource] }: { resources: string[] }) =>
    [
      ...[
        'deployments',
        'services',
        'pods',
        'horizontalpodautoscalers',
        'poddisruptionbudgets',
        'networkpolicies',
        'ingresses',
        'httproutes',
      ],
    ].includes(resource!);
  const cases: { what: string; values: Values; expected: Record<string, unknown[]> }[] = [
    { what: "in the release's namespace", values: {}, expected: { skills: rules } },
    {
      what: 'in each namespace that it watches, to start servers only where the volume is',
      values: { namespaces: ['skills', 'team-a'] },
      expected: { skills: rules, 'team-a': rules.filter((rule: { resources: string[] }) => !onServers(rule)) },
    },
    {
      what: 'in each of them to start servers that copy the catalogue',
      values: { namespaces: ['skills', 'team-a'], sync: { enabled: true } },
      expected: { skills: rules, 'team-a': rules },
    },
    {
      what: 'and none to start servers where one stands beside it',
      values: sidecar,
      expected: { skills: rules.filter((rule: { resources: string[] }) => !onServers(rule)) },
    },
  ];
  for (const { what, values, expected } of cases) {
    test(`the operator gets the Role that Lyceum ships, ${what}`, async () => {
      const all = await objects(helm4, { values });
      const of = (wanted: string) =>
        all.filter(({ kind, metadata }) => kind === wanted && metadata.name !== 'lyceum-leader');
      assert.deepEqual(Object.fromEntries(of('Role').map((role) => [role.metadata.namespace, role.rules])), expected);
      assert.deepEqual(
        of('RoleBinding').map(({ metadata }) => metadata.namespace),
        Object.keys(expected),
      );
      for (const binding of of('RoleBinding')) {
        assert.deepEqual(binding.roleRef, { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'lyceum' });
        assert.deepEqual(binding.subjects, [{ kind: 'ServiceAccount', name: 'lyceum', namespace: 'skills' }]);
      }
      assert.ok(argumentsOf(all).includes(`--namespaces=${Object.keys(expected).join()}`));
      assert.ok(all.every(({ kind }) => !kind.startsWith('ClusterRole')));
    });
  }

  test('the operator of a whole cluster gets a ClusterRole, and the right to start servers where the volume is alone', async () => {
    for (const [values, servers] of [
      [{ clusterWide: true }, true],
      [{ ...sidecar, clusterWide: true }, false],
    ] as const) {
      const all = await objects(helm4, { values });
      const cluster = only(all, 'ClusterRole');
      assert.equal(cluster.metadata.name, 'skills.lyceum');
      assert.deepEqual(
        cluster.rules,
        rules.filter((rule: { resources: string[] }) => !onServers(rule)),
      );
      const binding = only(all, 'ClusterRoleBinding');
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'skills.lyceum' };
      assert.deepEqual(binding.roleRef, roleRef);
      assert.deepEqual(binding.subjects, [{ kind: 'ServiceAccount', name: 'lyceum', namespace: 'skills' }]);
      const roles = all.filter(({ kind, metadata }) => kind === 'Role' && metadata.name === 'lyceum');
      assert.deepEqual(
        roles.map((role) => [role.metadata.namespace, role.rules]),
        servers ? [['skills', rules.filter(onServers)]] : [],
      );
      assert.ok(argumentsOf(all).includes('--all-namespaces'));
      assert.ok(argumentsOf(all).every((argument) => !argument.startsWith('--namespaces')));
    }
  });

  test('the operator of a whole cluster may start servers everywhere where they copy the catalogue, and is told so', async () => {
    const all = await objects(helm4, { values: { clusterWide: true, sync: { enabled: true } } });
    assert.deepEqual(only(all, 'ClusterRole').rules, rules);
    assert.ok(all.every(({ kind, metadata }) => kind !== 'Role' || metadata.name !== 'lyceum'));
    assert.ok(argumentsOf(all).includes('--sync'));
    assert.ok(!argumentsOf(plain).includes('--sync'));
  });

  test("it gets one Lease, its own, in the release's namespace alone", async () => {
    const all = await objects(helm4, { values: { namespaces: ['skills', 'team-a'] } });
    const [role, binding] = all.filter(({ metadata }) => metadata.name === 'lyceum-leader');
    assert.equal(role?.metadata.namespace, 'skills');
    const lease = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
    assert.deepEqual(role?.rules, [
      { ...lease, verbs: ['create'] },
      { ...lease, resourceNames: ['lyceum'], verbs: ['get', 'update'] },
    ]);
    assert.deepEqual(binding?.roleRef, { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'lyceum-leader' });
    assert.ok(argumentsOf(all).includes('--lease=lyceum'));
    const beside = await objects(helm4, { values: sidecar });
    assert.ok(beside.every(({ metadata }) => metadata.name !== 'lyceum-leader'));
    assert.ok(argumentsOf(beside).every((argument) => !argument.startsWith('--lease')));
  });

  test("the operator's container alone has the ServiceAccount's token", async () => {
    const beside = await objects(helm4, { values: sidecar });
    for (const all of [plain, beside]) {
      assert.equal(only(all, 'ServiceAccount').automountServiceAccountToken, false);
      assert.equal(podOf(all).spec.automountServiceAccountToken, false);
      const mounts = podOf(all).spec.containers.map((one: { name: string; volumeMounts: { name: string }[] }) => [
        one.name,
        one.volumeMounts.some(({ name }) => name === 'api-access'),
      ]);
      assert.deepEqual(
        Object.fromEntries(mounts),
        all === beside ? { operator: true, server: false } : { operator: true },
      );
    }
  });
});

describe('the operator', () => {
  test('its options are ones that it has', async () => {
    const help = spawnSync(process.execPath, [join(repository, 'cli/main.ts'), 'operator', '--help'], {
      encoding: 'utf8',
    }).stdout;
    const has = new Set(help.match(/--[a-z-]+/g));
    for (const options of [{}, { values: many }, { values: sidecar }, { values: { clusterWide: true } }]) {
      const all = await objects(helm4, options);
      const [command, ...rest] = argumentsOf(all);
      assert.equal(command, 'operator');
      for (const argument of rest) assert.ok(has.has(argument.split('=')[0]!), argument);
    }
  });

  test('server pods get the image, the claim and the node of the operator', () => {
    const together =
      'app.kubernetes.io/component=operator,app.kubernetes.io/instance=lyceum,app.kubernetes.io/name=lyceum';
    assert.equal(container(plain, 'operator').image, 'lyceum:0.2.0');
    for (const expected of [
      '--gateway-image=lyceum:0.2.0',
      '--gateway-image-pull-policy=IfNotPresent',
      '--volume-claim=lyceum',
      '--operator-namespace=skills',
      `--keep-together=${together}`,
    ])
      assert.ok(argumentsOf(plain).includes(expected), expected);
    const labels = podOf(plain).metadata.labels;
    for (const pair of together.split(',')) {
      const [key, value] = pair.split('=') as [string, string];
      assert.equal(labels[key], value);
    }
  });

  test('it comes back to the node whose servers hold the volume, and starts anywhere where there is none', () => {
    const [term, ...more] = podOf(plain).spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution;
    assert.deepEqual(more, []);
    assert.equal(term.topologyKey, 'kubernetes.io/hostname');
    // Its own name among them is what lets the first pod in: Kubernetes lets a pod that matches its own term begin.
    assert.deepEqual(term.labelSelector.matchExpressions, [
      { key: 'app.kubernetes.io/name', operator: 'In', values: ['lyceum', 'lyceum-gateway'] },
    ]);
  });

  test('with a volume for many nodes nobody is kept anywhere', async () => {
    const all = await objects(helm4, { values: { volume: { accessMode: 'ReadWriteMany' } } });
    assert.equal(podOf(all).spec.affinity, undefined);
    assert.ok(argumentsOf(all).every((argument) => !argument.startsWith('--keep-together')));
    assert.deepEqual(only(all, 'PersistentVolumeClaim').spec.accessModes, ['ReadWriteMany']);
  });

  test('what is set reaches it', async () => {
    const all = await objects(helm4, { values: many });
    const pod = podOf(all);
    const operator = container(all, 'operator');
    assert.equal(only(all, 'Deployment').metadata.name, 'skills');
    assert.equal(operator.image, `registry.example/team/lyceum@${digest}`);
    for (const expected of [
      `--gateway-image=registry.example/team/lyceum@${digest}`,
      '--gateway-image-pull-policy=Always',
      '--gateway-image-pull-secrets=registry',
      '--namespaces=skills,2024',
      '--concurrent-fetches=8',
      '--max-files=10000000',
      '--max-total-size=2Gi',
      '--deny-cidr=10.0.0.0/8,fd00::/8',
      '--extra-ca-file=/etc/lyceum/extra-ca/ca.crt',
      '--gateway-extra-ca=configmap/authorities/ca.crt',
      '--file-root=/files',
      '--log-level=debug',
    ])
      assert.ok(operator.args.includes(expected), expected);
    const { NODE_OPTIONS, ...proxies } = Object.fromEntries(
      operator.env
        .filter(({ value }: { value?: string }) => value !== undefined)
        .map(({ name, value }: { name: string; value: string }) => [name, value]),
    );
    assert.deepEqual(proxies, { HTTPS_PROXY: 'http://proxy.example:3128', NO_PROXY: '.svc,10.0.0.0/8' });
    assert.match(NODE_OPTIONS, /--max-old-space-size=1072\b/);
    assert.deepEqual(pod.spec.imagePullSecrets, [{ name: 'registry' }]);
    assert.equal(pod.metadata.labels.team, 'platform');
    assert.equal(pod.metadata.annotations.team, 'platform');
    assert.deepEqual(pod.spec.nodeSelector, { disk: 'fast' });
    assert.deepEqual(pod.spec.tolerations, [{ operator: 'Exists' }]);
    assert.ok(pod.spec.affinity.nodeAffinity);
    const volumes = Object.fromEntries(pod.spec.volumes.map((one: { name: string }) => [one.name, one]));
    assert.deepEqual(volumes['extra-ca'].configMap, { name: 'authorities' });
    assert.deepEqual(volumes['file-root'].persistentVolumeClaim, { claimName: 'shared-skills' });
    for (const { name, readOnly } of operator.volumeMounts) assert.equal(readOnly ?? false, name !== 'volume', name);
  });

  test("an annotation in the place of the chart's own stands once", async () => {
    const values = { podAnnotations: { 'kubectl.kubernetes.io/default-container': 'proxy' } };
    assert.deepEqual(podOf(await objects(helm4, { values })).metadata.annotations, values.podAnnotations);
  });

  test('Node is told three quarters of the memory', async () => {
    for (const [limit, heap] of [
      ['512Mi', 384],
      ['1Gi', 768],
      ['1500M', 1072],
      ['536870912', 384],
    ] as const) {
      const all = await objects(helm4, { values: { resources: { limits: { memory: limit } } } });
      const value = `--max-semi-space-size=4 --max-old-space-size=${heap}`;
      assert.deepEqual(container(all, 'operator').env[0], { name: 'NODE_OPTIONS', value }, limit);
    }
    const without = await objects(helm4, { values: { resources: { limits: null } } });
    assert.deepEqual(container(without, 'operator').env[0], {
      name: 'NODE_OPTIONS',
      value: '--max-semi-space-size=4',
    });
  });

  test('no Service of its namespace is taken for one of its options', () => {
    assert.equal(podOf(plain).spec.enableServiceLinks, false);
  });

  const inTurn = { type: 'Recreate' };
  const standingBy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
  const readWriteMany = { volume: { accessMode: 'ReadWriteMany' } };
  const shapes: { what: string; values: Values; strategy: object; spread: boolean }[] = [
    { what: 'one beside its servers ends before the next begins', values: {}, strategy: inTurn, spread: false },
    { what: 'so does one with a sidecar', values: sidecar, strategy: inTurn, spread: false },
    {
      what: 'one on a volume that many nodes mount hands over to the next',
      values: readWriteMany,
      strategy: standingBy,
      spread: false,
    },
    {
      what: 'several on one node hand over, and nothing holds up the drain of that node',
      values: { replicas: 2 },
      strategy: standingBy,
      spread: false,
    },
    {
      what: 'several on many nodes are spread, and are not evicted all at once',
      values: { ...readWriteMany, replicas: 3 },
      strategy: standingBy,
      spread: true,
    },
  ];
  for (const { what, values, strategy, spread } of shapes) {
    test(`how many there are: ${what}`, async () => {
      const all = await objects(helm4, { values });
      const { spec } = only(all, 'Deployment');
      assert.deepEqual([spec.replicas, spec.strategy], [values.replicas ?? 1, strategy]);
      const selector = { matchLabels: spec.selector.matchLabels };
      assert.deepEqual(
        spec.template.spec.topologySpreadConstraints,
        spread
          ? [
              {
                topologyKey: 'kubernetes.io/hostname',
                maxSkew: 1,
                whenUnsatisfiable: 'ScheduleAnyway',
                labelSelector: selector,
              },
            ]
          : undefined,
      );
      const budgets = all.filter(({ kind }) => kind === 'PodDisruptionBudget').map((one) => one.spec);
      assert.deepEqual(
        budgets,
        spread ? [{ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector }] : [],
      );
    });
  }
});

test('a NetworkPolicy for the operator names the ports that it has, and is there when it is asked for', async () => {
  assert.ok(plain.every(({ kind }) => kind !== 'NetworkPolicy'));
  for (const [values, named] of [
    [{ networkPolicy: { enabled: true } }, ['callers', 'metrics', 'probes']],
    [{ networkPolicy: { enabled: true }, webhooks: { enabled: true } }, ['callers', 'metrics', 'probes', 'webhooks']],
    [{ ...sidecar, networkPolicy: { enabled: true } }, ['callers', 'metrics', 'server-metrics', 'probes', 'mcp']],
  ] as const) {
    const all = await objects(helm4, { values });
    const { spec } = only(all, 'NetworkPolicy');
    const ports: string[] = spec.ingress.flatMap((rule: { ports: { port: string }[] }) =>
      rule.ports.map(({ port }) => port),
    );
    assert.deepEqual(ports, named);
    const has = podOf(all).spec.containers.flatMap(({ ports: own = [] }: { ports?: { name: string }[] }) =>
      own.map(({ name }) => name),
    );
    assert.deepEqual(ports.toSorted(), has.toSorted(), 'every port of the pod, and none that it has not');
    assert.deepEqual(spec.podSelector, only(all, 'Deployment').spec.selector);
    assert.deepEqual(spec.egress, [{}]);
  }
  const egress = [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }];
  const bound = await objects(helm4, { values: { networkPolicy: { enabled: true, egress } } });
  assert.deepEqual(only(bound, 'NetworkPolicy').spec.egress, egress);
});

describe('the volume', () => {
  test('a claim of the chart stays when the release goes', async () => {
    const claim = only(plain, 'PersistentVolumeClaim');
    assert.equal(claim.metadata.annotations?.['helm.sh/resource-policy'], 'keep');
    assert.deepEqual(claim.spec, { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } } });
  });

  test('the class of the claim: the default one, one by name, none', async () => {
    for (const [storageClassName, expected] of [
      ['', undefined],
      ['fast', 'fast'],
      ['-', ''],
    ]) {
      const all = await objects(helm4, { values: { volume: { storageClassName } } });
      assert.equal(only(all, 'PersistentVolumeClaim').spec.storageClassName, expected);
    }
  });

  test('a claim that is there already is taken in its place', async () => {
    const all = await objects(helm4, { values: { volume: { existingClaim: 'catalogues' } } });
    assert.ok(all.every(({ kind }) => kind !== 'PersistentVolumeClaim'));
    assert.ok(argumentsOf(all).includes('--volume-claim=catalogues'));
    const [volume] = podOf(all).spec.volumes;
    assert.deepEqual(volume, { name: 'volume', persistentVolumeClaim: { claimName: 'catalogues' } });
  });
});

describe('a server beside the operator', () => {
  let all: Rendered[];
  before(async () => {
    all = await objects(helm4, { values: sidecar });
  });

  test('reads the same folder, which goes with the pod; no claim is made and the operator starts no other pods', () => {
    assert.deepEqual(podOf(all).spec.volumes[0], { name: 'volume', emptyDir: { sizeLimit: '5Gi' } });
    assert.ok(all.every(({ kind }) => kind !== 'PersistentVolumeClaim'));
    assert.ok(argumentsOf(all).every((argument) => !/^--(volume-claim|gateway-image|keep-together)/.test(argument)));
    assert.ok(argumentsOf(all).includes('--sidecar-gateway=skills/agents'));
    const server = container(all, 'server');
    assert.deepEqual(server.args.slice(0, 4), ['server', '--volume=/volume', '--namespace=skills', '--gateway=agents']);
    assert.deepEqual(server.volumeMounts[0], { name: 'volume', mountPath: '/volume', readOnly: true });
  });

  test('its Service has the name of the gateway, and leads to it while the operator starts anew', () => {
    const service = all.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'agents')!;
    assert.equal(service.spec.publishNotReadyAddresses, true);
    assert.deepEqual(service.spec.ports, [{ name: 'mcp', port: 8000, targetPort: 'mcp' }]);
    for (const [key, value] of Object.entries(service.spec.selector))
      assert.equal(podOf(all).metadata.labels[key], value);
  });
});

describe('the port for servers', () => {
  const host = 'lyceum-operator.skills.svc';
  const decoded = (text: string): Buffer => Buffer.from(text, 'base64');

  test('has a certificate that is made out to its Service and known by an authority whose key is kept nowhere', () => {
    const { metadata, type, data } = only(plain, 'Secret');
    assert.deepEqual([metadata.name, type], ['lyceum-operator-tls', 'kubernetes.io/tls']);
    assert.deepEqual(Object.keys(data).sort(), ['ca.crt', 'tls.crt', 'tls.key']);
    const [authority, certificate] = [data['ca.crt'], data['tls.crt']].map((one) => new X509Certificate(decoded(one)));
    assert.ok(certificate!.checkIssued(authority!) && certificate!.verify(authority!.publicKey));
    assert.ok(certificate!.checkPrivateKey(createPrivateKey(decoded(data['tls.key']))));
    assert.equal(certificate!.checkHost(host), host);
    assert.ok(Date.parse(certificate!.validTo) - Date.now() > 9 * 365 * 86_400_000);
    assert.ok(!certificate!.ca);
  });

  test('has a Service, by which servers are told where it is', async () => {
    const { metadata, spec } = only(plain, 'Service');
    assert.equal(metadata.name, 'lyceum-operator');
    assert.deepEqual(spec.ports, [{ name: 'callers', port: 9443, targetPort: 'callers' }]);
    for (const [key, value] of Object.entries(spec.selector)) assert.equal(podOf(plain).metadata.labels[key], value);
    const port = container(plain, 'operator').ports.find(({ name }: { name: string }) => name === 'callers');
    assert.equal(port.containerPort, 9443);
    for (const expected of [
      '--tls-folder=/etc/lyceum/tls',
      `--callers-url=https://${host}:9443`,
      '--callers-ca-secret=lyceum-operator-tls',
    ])
      assert.ok(argumentsOf(plain).includes(expected), expected);
    const volume = podOf(plain).spec.volumes.find(({ name }: { name: string }) => name === 'tls');
    assert.deepEqual(volume.secret, { secretName: 'lyceum-operator-tls' });
    const long = await objects(helm4, { values: { fullnameOverride: 'a'.repeat(63) } });
    assert.ok(only(long, 'Service').metadata.name.length <= 63);
  });

  test('takes a Secret that is there already', async () => {
    for (const values of [{}, sidecar]) {
      const all = await objects(helm4, { values: { ...values, tls: { existingSecret: 'our-tls' } } });
      assert.ok(all.every(({ kind }) => kind !== 'Secret'));
      const text = JSON.stringify(podOf(all));
      assert.match(text, /"secretName":"our-tls"/);
      assert.ok(!text.includes('lyceum-operator-tls'));
      assert.match(text, values === sidecar ? /"name":"our-tls"/ : /--callers-ca-secret=our-tls/);
    }
  });

  test("a server beside the operator has a token for the operator alone, and not the operator's own", async () => {
    const all = await objects(helm4, { values: sidecar });
    const folder = '/var/run/secrets/lyceum.dev/operator';
    const server = container(all, 'server');
    for (const expected of [
      `--operator-url=https://${host}:9443`,
      `--operator-ca=${folder}/ca.crt`,
      `--operator-token=${folder}/token`,
    ])
      assert.ok(server.args.includes(expected), expected);
    assert.deepEqual(
      server.volumeMounts.map(({ name, mountPath, readOnly }: Record<string, string>) => [name, mountPath, readOnly]),
      [
        ['volume', '/volume', true],
        ['operator', folder, true],
      ],
    );
    const { projected } = podOf(all).spec.volumes.find(({ name }: { name: string }) => name === 'operator');
    const [{ serviceAccountToken }, { secret }] = projected.sources;
    assert.equal(serviceAccountToken.audience, 'lyceum');
    assert.deepEqual(secret.items, [{ key: 'ca.crt', path: 'ca.crt' }]);
  });
});

describe('the port for webhooks', () => {
  const ingress = {
    enabled: true,
    host: 'hooks.example.com',
    className: 'nginx',
    tlsSecret: 'hooks-tls',
    annotations: { a: 'b' },
  };

  test('is not there where nobody asks for it', () => {
    assert.ok(argumentsOf(plain).every((argument) => !argument.startsWith('--webhooks-port')));
    assert.ok(plain.every(({ kind }) => kind !== 'Ingress'));
  });

  test('has the way from the host of an Ingress to the operator, for /hooks and nothing else', async () => {
    const all = await objects(helm4, { values: { webhooks: { enabled: true, ingress } } });
    assert.ok(argumentsOf(all).includes('--webhooks-port=9292'));
    assert.ok(
      container(all, 'operator').ports.some((port: object) =>
        isDeepStrictEqual(port, { name: 'webhooks', containerPort: 9292 }),
      ),
    );
    const service = only(all, 'Service');
    assert.deepEqual(service.spec.ports[1], { name: 'webhooks', port: 9292, targetPort: 'webhooks' });
    const { metadata, spec } = only(all, 'Ingress');
    assert.deepEqual([metadata.name, metadata.annotations], ['lyceum-webhooks', { a: 'b' }]);
    assert.deepEqual(spec, {
      ingressClassName: 'nginx',
      tls: [{ hosts: ['hooks.example.com'], secretName: 'hooks-tls' }],
      rules: [
        {
          host: 'hooks.example.com',
          http: {
            paths: [
              {
                path: '/hooks',
                pathType: 'Prefix',
                backend: { service: { name: service.metadata.name, port: { name: 'webhooks' } } },
              },
            ],
          },
        },
      ],
    });
  });

  test('is there without an Ingress, for those who have another way in', async () => {
    const all = await objects(helm4, { values: { ...sidecar, webhooks: { enabled: true } } });
    assert.ok(argumentsOf(all).includes('--webhooks-port=9292'));
    assert.ok(all.every(({ kind }) => kind !== 'Ingress'));
  });
});

test('names and namespaces that look like numbers stay text', async () => {
  const all = await objects(helm4, { release: '123', namespace: '2024' });
  // The name of a Service begins with a letter.
  const others: Record<string, string> = {
    Service: 'lyceum-123-lyceum-operator',
    Secret: 'lyceum-123-lyceum-operator-tls',
    Pod: 'lyceum-123-lyceum-operator-test',
  };
  for (const { kind, metadata } of all.filter(({ kind }) => kind !== 'CustomResourceDefinition')) {
    const expected = others[kind] ?? '123-lyceum';
    assert.deepEqual([metadata.name.replace(/-leader$/, ''), metadata.namespace], [expected, '2024'], kind);
    assert.equal(metadata.labels?.['app.kubernetes.io/instance'], '123', kind);
  }
});

test('a release may have a dot in its name, which no Service may', async () => {
  const all = await objects(helm4, { release: 'team.lyceum' });
  assert.equal(only(all, 'Service').metadata.name, 'team-lyceum-operator');
  assert.ok(argumentsOf(all).includes('--callers-url=https://team-lyceum-operator.skills.svc:9443'));
});

test('helm test starts one restricted pod that knows the operator by its authority, and is gone when it has succeeded', async () => {
  const { metadata, spec } = only(plain, 'Pod');
  assert.equal(metadata.annotations?.['helm.sh/hook'], 'test');
  assert.equal(metadata.annotations?.['helm.sh/hook-delete-policy'], 'before-hook-creation,hook-succeeded');
  const [tested] = spec.containers;
  assert.equal(tested.image, container(plain, 'operator').image);
  assert.deepEqual(tested.command.slice(-2), ['https://lyceum-operator.skills.svc:9443', '/etc/lyceum/tls/ca.crt']);
  assert.equal(spec.automountServiceAccountToken, false);
  assert.deepEqual(spec.volumes[0].secret.items, [{ key: 'ca.crt', path: 'ca.crt' }]);
});
