// Pods of a gateway that copy the catalogue in the place of mounting its volume.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placementOf } from '../../operator/gateway/children/placement.ts';
import type { PodSettings } from '../../operator/gateway/children/pod-settings.ts';
import { podTemplate } from '../../operator/gateway/children/pod-template.ts';
import { parseSkillGateway } from '../../operator/resources/parse.ts';
import type { SkillGatewaySpec } from '../../operator/resources/skill-gateway.ts';

const authority = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const settings: PodSettings = {
  image: 'lyceum:1',
  imagePullSecrets: ['registry'],
  volumeClaim: 'catalogue',
  namespace: 'lyceum',
  keepTogether: { app: 'lyceum' },
  operator: { url: 'https://operator.lyceum.svc:9443', caSecret: 'operator-tls' },
  sync: { authority },
  fetching: {
    deniedCidrs: [],
    environment: {},
    extraCa: { kind: 'configMap', name: 'authorities', key: 'ca.crt' },
  },
};

const gatewayIn = (namespace: string) => ({
  apiVersion: 'lyceum.dev/v1alpha1',
  kind: 'SkillGateway',
  metadata: {
    namespace,
    name: 'agents',
    uid: 'u1',
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: {},
    annotations: {},
  },
});

function specOf(spec: object): SkillGatewaySpec {
  const parsed = parseSkillGateway({ metadata: { name: 'agents' }, spec });
  assert.ok(parsed.ok);
  return parsed.spec;
}

const live = [{ source: 'notes', secret: 'nextcloud' }];
// biome-ignore lint/suspicious/noExplicitAny: a pod template is looked at by any path
const podOf = (namespace: string, spec: object = {}, more: Partial<PodSettings> = {}): any =>
  podTemplate(gatewayIn(namespace), specOf(spec), { ...settings, ...more }, live);
const volume = (pod: { spec: { volumes: { name: string }[] } }, name: string) =>
  pod.spec.volumes.find((one) => one.name === name);

test('in another namespace the pod copies, and needs nothing of the namespace of the volume', () => {
  const pod = podOf('team-a', { sync: { sizeLimit: '2Gi' }, imagePullSecrets: [{ name: 'own' }] });
  assert.deepEqual(volume(pod, 'volume'), { name: 'volume', emptyDir: { sizeLimit: '2Gi' } });
  const text = JSON.stringify(pod.spec);
  for (const strange of ['catalogue"', 'operator-tls', '"registry"', 'authorities', 'podAffinity']) {
    assert.ok(!text.includes(strange), strange);
  }
  assert.deepEqual(pod.spec.imagePullSecrets, [{ name: 'own' }]);
  assert.equal(pod.metadata.annotations['lyceum.dev/operator-ca'], authority);
  const file = { path: 'ca.crt', fieldRef: { fieldPath: "metadata.annotations['lyceum.dev/operator-ca']" } };
  assert.deepEqual(volume(pod, 'operator'), {
    name: 'operator',
    projected: {
      sources: [
        { serviceAccountToken: { audience: 'lyceum', expirationSeconds: 3600, path: 'token' } },
        { downwardAPI: { items: [file] } },
      ],
    },
  });
});

test('the copy starts before the server, runs as long, may write where that one reads, and stops before the limit', () => {
  const [sync, ...others] = podOf('team-a').spec.initContainers;
  assert.deepEqual(others, []);
  const identity = '/var/run/secrets/lyceum.dev/operator';
  assert.deepEqual(sync.args, [
    ...['sync', '--volume', '/volume', '--namespace', 'team-a', '--gateway', 'agents'],
    ...['--size-limit', String(Math.floor(2 ** 30 * 0.9)), '--operator-url', 'https://operator.lyceum.svc:9443'],
    ...['--operator-ca', `${identity}/ca.crt`, '--operator-token', `${identity}/token`],
  ]);
  assert.equal(sync.restartPolicy, 'Always');
  assert.deepEqual(sync.startupProbe.httpGet, { path: '/startz', port: 'sync' });
  assert.deepEqual(sync.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  assert.deepEqual(sync.volumeMounts[0], { name: 'volume', mountPath: '/volume' });
  const [server] = podOf('team-a').spec.containers;
  assert.deepEqual(server.volumeMounts[0], { name: 'volume', mountPath: '/volume', readOnly: true });
});

test('beside the volume a gateway copies when it asks for it, and its pods then run on any node', () => {
  assert.deepEqual(volume(podOf('lyceum'), 'volume'), {
    name: 'volume',
    persistentVolumeClaim: { claimName: 'catalogue' },
  });
  assert.equal(podOf('lyceum').spec.initContainers, undefined);
  const copying = podOf('lyceum', { sync: { enabled: true } });
  assert.deepEqual(volume(copying, 'volume'), { name: 'volume', emptyDir: { sizeLimit: '1Gi' } });
  assert.equal(copying.spec.affinity, undefined);
  assert.equal(copying.metadata.annotations, undefined);
  assert.match(JSON.stringify(volume(copying, 'operator')), /operator-tls/);
  assert.deepEqual(copying.spec.imagePullSecrets, [{ name: 'registry' }]);
});

test('where the installation gives no copies it is told what to do', () => {
  const { sync: _, ...without } = settings;
  const of = (namespace: string, spec: object = {}) => placementOf(gatewayIn(namespace), specOf(spec), without);
  assert.deepEqual(of('lyceum'), { from: 'volume' });
  const elsewhere = of('team-a');
  assert.ok(elsewhere.from === 'none');
  assert.match(elsewhere.message, /in namespace lyceum\. Create .* there, or set sync\.enabled of the chart/);
  const asking = of('lyceum', { sync: { enabled: true } });
  assert.ok(asking.from === 'none');
  assert.match(asking.message, /spec\.sync\.enabled asks for a copy.*set sync\.enabled of the chart/);
});
