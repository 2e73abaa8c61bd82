// The Deployment and the Service of a gateway, whole, as they are applied.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderDeployment } from '../../operator/gateway/children/deployment.ts';
import type { PodSettings } from '../../operator/gateway/children/pod-settings.ts';
import { clusterUrl, renderService } from '../../operator/gateway/children/service.ts';
import { gateway, selector, specOf } from './agents.ts';

const settings: PodSettings = {
  image: 'registry.example/lyceum:1',
  imagePullSecrets: [],
  volumeClaim: 'catalogue',
  namespace: 'flow',
};

const labels = { ...selector, 'app.kubernetes.io/managed-by': 'lyceum' };
const metadata = {
  namespace: 'flow',
  name: 'agents',
  labels,
  ownerReferences: [
    { apiVersion: 'lyceum.dev/v1alpha1', kind: 'SkillGateway', name: 'agents', uid: '0000-1', controller: true },
  ],
};

const container = {
  name: 'server',
  image: 'registry.example/lyceum:1',
  args: ['server', '--volume', '/volume', '--namespace', 'flow', '--gateway', 'agents'],
  env: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=384 --max-semi-space-size=16' }],
  ports: [
    { name: 'mcp', containerPort: 8000, protocol: 'TCP' },
    { name: 'metrics', containerPort: 9091, protocol: 'TCP' },
  ],
  resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
  startupProbe: { httpGet: { path: '/livez', port: 'mcp' }, periodSeconds: 1, failureThreshold: 60 },
  readinessProbe: { httpGet: { path: '/readyz', port: 'mcp' }, periodSeconds: 2, timeoutSeconds: 2 },
  livenessProbe: { httpGet: { path: '/livez', port: 'mcp' }, periodSeconds: 10, timeoutSeconds: 5 },
  lifecycle: { preStop: { sleep: { seconds: 5 } } },
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
  volumeMounts: [{ name: 'volume', mountPath: '/volume', readOnly: true }],
};

const spread = ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map((topologyKey) => ({
  topologyKey,
  maxSkew: 1,
  whenUnsatisfiable: 'ScheduleAnyway',
  matchLabelKeys: ['pod-template-hash'],
  labelSelector: { matchLabels: selector },
}));

const podSpec = {
  automountServiceAccountToken: false,
  enableServiceLinks: false,
  securityContext: {
    runAsNonRoot: true,
    runAsUser: 65534,
    runAsGroup: 65534,
    fsGroup: 65534,
    fsGroupChangePolicy: 'OnRootMismatch',
    seccompProfile: { type: 'RuntimeDefault' },
  },
  terminationGracePeriodSeconds: 45,
  topologySpreadConstraints: spread,
  containers: [container],
  volumes: [{ name: 'volume', persistentVolumeClaim: { claimName: 'catalogue' } }],
};

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata,
  spec: {
    replicas: 1,
    selector: { matchLabels: selector },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    progressDeadlineSeconds: 300,
    revisionHistoryLimit: 3,
    template: { metadata: { labels }, spec: podSpec },
  },
};

// biome-ignore lint/suspicious/noExplicitAny: a pod template is looked at by any path
const podOf = (spec: object, more: Partial<PodSettings> = {}): any =>
  (renderDeployment(gateway, specOf(spec), { ...settings, ...more }).spec as { template: unknown }).template;

test('a gateway that says nothing of its pods', () => {
  assert.deepEqual(renderDeployment(gateway, specOf({}), settings), deployment);
  assert.deepEqual(renderService(gateway, specOf({})), {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: {
      type: 'ClusterIP',
      selector,
      ports: [{ name: 'mcp', port: 8000, targetPort: 8000, protocol: 'TCP', appProtocol: 'http' }],
    },
  });
  assert.equal(clusterUrl(gateway, specOf({})), 'http://agents.flow.svc.cluster.local:8000/mcp');
});

test('a gateway that says all there is to say', () => {
  const spec = specOf({
    replicas: 3,
    resources: { requests: { cpu: 1 }, limits: { cpu: '1.5', memory: 1_073_741_824, 'ephemeral-storage': '1Gi' } },
    nodeSelector: { disk: 'fast' },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    affinity: { podAntiAffinity: {} },
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
    podLabels: { team: 'platform' },
    podAnnotations: { note: 'x' },
    imagePullSecrets: [{ name: 'mine' }, { name: 'registry' }],
  });
  const all = { ...settings, imagePullPolicy: 'Never' as const, imagePullSecrets: ['registry'] };
  assert.deepEqual(renderDeployment(gateway, spec, all), {
    ...deployment,
    spec: {
      ...deployment.spec,
      replicas: 3,
      template: {
        metadata: { labels: { team: 'platform', ...labels }, annotations: { note: 'x' } },
        spec: {
          ...podSpec,
          imagePullSecrets: [{ name: 'registry' }, { name: 'mine' }],
          nodeSelector: { disk: 'fast' },
          tolerations: [{ key: 'dedicated', operator: 'Exists' }],
          affinity: { podAntiAffinity: {} },
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'zone',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: selector },
            },
          ],
          containers: [
            {
              ...container,
              imagePullPolicy: 'Never',
              env: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=768 --max-semi-space-size=16' }],
              resources: {
                requests: { cpu: '1' },
                limits: { cpu: '1.5', memory: '1073741824', 'ephemeral-storage': '1Gi' },
              },
            },
          ],
        },
      },
    },
  });
});

test('the Service has the port, the type and the annotations of the spec', () => {
  const spec = specOf({ service: { type: 'LoadBalancer', port: 80, annotations: { internal: 'true' } } });
  const { metadata: written, spec: service } = renderService(gateway, spec);
  assert.deepEqual(written.annotations, { internal: 'true' });
  assert.deepEqual([service.type, (service.ports as { port: number }[])[0]!.port], ['LoadBalancer', 80]);
  assert.equal(clusterUrl(gateway, spec), 'http://agents.flow.svc.cluster.local:80/mcp');
});

test('what has nothing in it is not applied', () => {
  const empty = { nodeSelector: {}, tolerations: [], podLabels: {}, podAnnotations: {} };
  assert.deepEqual(podOf({ ...empty, imagePullSecrets: [] }), deployment.spec.template);
});

test('without a limit on memory the server keeps the heap that Node takes by itself', () => {
  const [server] = podOf({ resources: {} }).spec.containers;
  assert.deepEqual([server.env, server.resources], [undefined, undefined]);
});

test('no pods are wanted where replicas is 0', () => {
  assert.equal(renderDeployment(gateway, specOf({ replicas: 0 }), settings).spec.replicas, 0);
});

describe('pods that are kept on the node of others', () => {
  const keepTogether = { app: 'lyceum', release: 'one' };
  const beside = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: keepTogether } };
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';

  test('are drawn there', () => {
    assert.deepEqual(podOf({}, { keepTogether }).spec.affinity, { podAffinity: { [required]: [beside] } });
  });

  test('besides what the gateway wishes', () => {
    const own = { topologyKey: 'zone', labelSelector: { matchLabels: { a: 'b' } } };
    const affinity = {
      nodeAffinity: { [required]: { nodeSelectorTerms: [{ matchFields: [] }] } },
      podAffinity: {
        [required]: [own],
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: own }],
      },
    };
    assert.deepEqual(podOf({ affinity }, { keepTogether }).spec.affinity, {
      ...affinity,
      podAffinity: { ...affinity.podAffinity, [required]: [beside, own] },
    });
  });
});

test("servers are told where the operator is, and have a token of their pod's that is for nobody else", () => {
  const operator = { url: 'https://lyceum-operator.flow.svc:9443', caSecret: 'lyceum-operator-tls' };
  const pod = podOf({}, { operator });
  const folder = '/var/run/secrets/lyceum.dev/operator';
  assert.deepEqual(pod.spec, {
    ...podSpec,
    containers: [
      {
        ...container,
        args: [
          ...container.args,
          ...['--operator-url', operator.url],
          ...['--operator-ca', `${folder}/ca.crt`, '--operator-token', `${folder}/token`],
        ],
        volumeMounts: [...container.volumeMounts, { name: 'operator', mountPath: folder, readOnly: true }],
      },
    ],
    volumes: [
      ...podSpec.volumes,
      {
        name: 'operator',
        projected: {
          sources: [
            { serviceAccountToken: { audience: 'lyceum', expirationSeconds: 3600, path: 'token' } },
            { secret: { name: operator.caSecret, items: [{ key: 'ca.crt', path: 'ca.crt' }], optional: true } },
          ],
        },
      },
    ],
  });
});

test('what a gateway serves, and to whom, is no part of the shape of its pods', () => {
  const served = {
    sources: { names: ['a'] },
    libraries: [{ name: 'a', title: 'A' }],
    reindex: 'Anyone',
    scope: { library: 'a', tags: ['b'] },
    instructions: 'Read.',
  };
  assert.deepEqual(renderDeployment(gateway, specOf(served), settings), deployment);
  const annotated = { ...gateway, metadata: { ...gateway.metadata, generation: 9, annotations: { a: 'b' } } };
  assert.deepEqual(renderDeployment(annotated, specOf({}), settings), deployment);
});

test('a gateway with Live sources mounts exactly the keys that they need, whatever order the sources come in', () => {
  const live = [
    { source: 'notes', secret: 'nextcloud' },
    { source: 'handbook', secret: 'office-cloud' },
  ];
  const fetching = { deniedCidrs: ['10.0.0.0/8', 'fd00::/8'], environment: { HTTPS_PROXY: 'http://proxy:3128' } };
  const rendered = renderDeployment(gateway, specOf({}), { ...settings, fetching }, live);
  assert.deepEqual(renderDeployment(gateway, specOf({}), { ...settings, fetching }, live.toReversed()), rendered);
  // biome-ignore lint/suspicious/noExplicitAny: a manifest is looked at as a user does, by any path
  const pod = (rendered as any).spec.template.spec;
  const items = (source: string) =>
    ['username', 'password', 'ca.crt'].map((key) => ({ key, path: `${source}/${key}` }));
  assert.deepEqual(pod.volumes[1], {
    name: 'live',
    projected: {
      sources: [
        { secret: { name: 'office-cloud', items: items('handbook'), optional: true } },
        { secret: { name: 'nextcloud', items: items('notes'), optional: true } },
      ],
    },
  });
  const [server] = pod.containers;
  const mountPath = '/var/run/secrets/lyceum.dev/live';
  assert.deepEqual(server.volumeMounts[1], { name: 'live', mountPath, readOnly: true });
  assert.deepEqual(server.args.slice(-4), ['--live-secrets', mountPath, '--deny-cidr', '10.0.0.0/8,fd00::/8']);
  assert.deepEqual(server.env[1], { name: 'HTTPS_PROXY', value: 'http://proxy:3128' });

  const without = JSON.stringify(renderDeployment(gateway, specOf({}), { ...settings, fetching }));
  assert.doesNotMatch(without, /live-secrets|"live"|proxy|deny/, 'a gateway without any has none of that');
});

test('servers with Live sources trust the authorities of the installation, from the ConfigMap or Secret that holds them', () => {
  const live = [{ source: 'notes', secret: 'nextcloud' }];
  const items = [{ key: 'root.pem', path: 'root.pem' }];
  for (const [kind, volume] of [
    ['configMap', { name: 'extra-ca', configMap: { name: 'authorities', items } }],
    ['secret', { name: 'extra-ca', secret: { secretName: 'authorities', items } }],
  ] as const) {
    const fetching = { deniedCidrs: [], environment: {}, extraCa: { kind, name: 'authorities', key: 'root.pem' } };
    // biome-ignore lint/suspicious/noExplicitAny: a manifest is looked at as a user does, by any path
    const rendered = renderDeployment(gateway, specOf({}), { ...settings, fetching }, live) as any;
    const pod = rendered.spec.template.spec;
    assert.deepEqual(pod.volumes[2], volume);
    const [server] = pod.containers;
    const mountPath = '/etc/lyceum/extra-ca';
    assert.deepEqual(server.volumeMounts[2], { name: 'extra-ca', mountPath, readOnly: true });
    assert.deepEqual(server.args.slice(-2), ['--extra-ca-file', `${mountPath}/root.pem`]);
    const without = renderDeployment(gateway, specOf({}), { ...settings, fetching });
    assert.deepEqual(without, deployment, 'a gateway that fetches nothing trusts nobody');
  }
});
