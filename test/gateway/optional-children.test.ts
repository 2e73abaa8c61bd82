// What a gateway may have besides its pods and its Service: an autoscaler, a disruption budget, a NetworkPolicy, ways in from outside.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assemble } from '../../operator/gateway/assembly.ts';
import { renderChildren } from '../../operator/gateway/children/children.ts';
import type { LiveSecret, PodSettings } from '../../operator/gateway/children/pod-settings.ts';
import type { ChildManifest } from '../../operator/kubernetes/cluster.ts';
import { gateway, selector, specOf } from './agents.ts';

const settings: PodSettings = { image: 'lyceum:1', imagePullSecrets: [], volumeClaim: 'catalogue', namespace: 'flow' };
const oneNode = { ...settings, keepTogether: { app: 'operator' } };

function children(spec: object, more: PodSettings = settings, live: LiveSecret[] = []): ChildManifest[] {
  return renderChildren(gateway, specOf(spec), more, live);
}
// biome-ignore lint/suspicious/noExplicitAny: a spec is looked at by any path
const childSpec = (all: ChildManifest[], kind: string): any => all.find((child) => child.kind === kind)?.spec;
const kindsOf = (all: ChildManifest[]): string[] => all.map(({ kind }) => kind);

test('a gateway that asks for nothing has its pods and its Service', () => {
  assert.deepEqual(kindsOf(children({})), ['Service', 'Deployment']);
});

describe('An autoscaler', () => {
  test('says how many pods there are, and the Deployment says nothing of it', () => {
    const all = children({ autoscaling: { minReplicas: 3, maxReplicas: 9, targetCPUUtilizationPercentage: 60 } });
    const autoscaler = all.find(({ kind }) => kind === 'HorizontalPodAutoscaler');
    assert.equal(autoscaler?.apiVersion, 'autoscaling/v2');
    assert.deepEqual(autoscaler?.spec, {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'agents' },
      minReplicas: 3,
      maxReplicas: 9,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } },
      ],
    });
    assert.ok(!('replicas' in childSpec(all, 'Deployment')));
  });

  test('has two pods at least and 80 percent where nothing else is said', () => {
    const { minReplicas, metrics } = childSpec(
      children({ autoscaling: { maxReplicas: 4 } }),
      'HorizontalPodAutoscaler',
    );
    assert.deepEqual([minReplicas, metrics[0].resource.target.averageUtilization], [2, 80]);
  });
});

describe('A disruption budget', () => {
  const budget = { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector: { matchLabels: selector } };
  for (const [what, spec, more, expected] of [
    ['lets one pod of several go at a time', { replicas: 2 }, settings, budget],
    ['likewise where there are at least two', { autoscaling: { minReplicas: 2, maxReplicas: 4 } }, settings, budget],
    ['holds up no drain for a single pod', { replicas: 1 }, settings, undefined],
    ['nor for one that may be alone', { autoscaling: { minReplicas: 1, maxReplicas: 4 } }, settings, undefined],
    ['nor where all are kept on one node', { replicas: 3 }, oneNode, undefined],
  ] as const) {
    test(what, () => assert.deepEqual(childSpec(children(spec, more), 'PodDisruptionBudget'), expected));
  }
});

describe('Pods', () => {
  const spreadOf = (spec: object, more?: PodSettings) =>
    childSpec(children(spec, more), 'Deployment').template.spec.topologySpreadConstraints?.map(
      ({ topologyKey }: { topologyKey: string }) => topologyKey,
    );
  test('are spread over zones and nodes as far as there are any', () => {
    assert.deepEqual(spreadOf({}), ['topology.kubernetes.io/zone', 'kubernetes.io/hostname']);
  });
  test('are spread as the spec says, where it says so', () => {
    const rule = { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' };
    assert.deepEqual(spreadOf({ topologySpreadConstraints: [rule] }), ['rack']);
    assert.equal(spreadOf({ topologySpreadConstraints: [] }), undefined);
  });
  test('are not spread where they are kept on one node', () => {
    assert.equal(spreadOf({}, oneNode), undefined);
  });
});

describe('An Ingress', () => {
  const auth = { tokens: { secretRef: { name: 'agents-tokens' } } };
  const outside = (ingress: object, more: object = {}) => children({ auth, ingress, ...more });

  test('leads all of a name to the Service', () => {
    const backend = { service: { name: 'agents', port: { number: 80 } } };
    assert.deepEqual(childSpec(outside({ host: 'skills.example.com' }, { service: { port: 80 } }), 'Ingress'), {
      rules: [{ host: 'skills.example.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
    });
  });

  test('has the class, the path, the Secret and the annotations of the spec', () => {
    const annotations = { 'cert-manager.io/cluster-issuer': 'letsencrypt' };
    const all = outside({ className: 'nginx', host: 'a.example', path: '/mcp', tlsSecretName: 'tls', annotations });
    const { ingressClassName, tls, rules } = childSpec(all, 'Ingress');
    assert.deepEqual([ingressClassName, tls], ['nginx', [{ hosts: ['a.example'], secretName: 'tls' }]]);
    assert.equal(rules[0].http.paths[0].path, '/mcp');
    assert.deepEqual(all.at(-1)?.metadata.annotations, annotations);
  });
});

describe('An HTTPRoute', () => {
  const auth = { tokens: { secretRef: { name: 'agents-tokens' } } };
  const routeOf = (httpRoute: object, more: object = {}) =>
    childSpec(children({ auth, httpRoute, ...more }), 'HTTPRoute');
  const parent = { group: 'gateway.networking.k8s.io', kind: 'Gateway' };

  test('leads all of its names from its Gateways to the Service', () => {
    const parentRefs = [
      { name: 'public', namespace: 'infra', sectionName: 'https' },
      { name: 'inner', port: 8443 },
    ];
    const hostnames = ['skills.example.com', 'agents.example.com'];
    assert.deepEqual(routeOf({ parentRefs, hostnames }, { service: { port: 80 } }), {
      parentRefs: [
        { ...parent, name: 'public', namespace: 'infra', sectionName: 'https' },
        { ...parent, name: 'inner', port: 8443 },
      ],
      hostnames,
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/' } }],
          backendRefs: [{ group: '', kind: 'Service', name: 'agents', port: 80, weight: 1 }],
        },
      ],
    });
  });

  test('has no names where the spec leaves them to the listeners', () => {
    assert.ok(!('hostnames' in routeOf({ parentRefs: [{ name: 'public' }] })));
  });

  test('and an Ingress stand side by side, and all their names are own hosts of the gateway', () => {
    const ingress = { host: 'skills.example.com' };
    const httpRoute = { parentRefs: [{ name: 'public' }], hostnames: ['skills.example.com', 'agents.example.com'] };
    assert.deepEqual(kindsOf(children({ auth, ingress, httpRoute })).slice(-2), ['Ingress', 'HTTPRoute']);
    const hostsOf = (spec: object) => assemble(specOf(spec), []).content.hosts;
    assert.deepEqual(hostsOf({ auth, ingress, httpRoute }), ['skills.example.com', 'agents.example.com']);
    assert.deepEqual(hostsOf({ auth, httpRoute }), ['skills.example.com', 'agents.example.com']);
    assert.equal(hostsOf({ auth, httpRoute: { parentRefs: [{ name: 'public' }] } }), undefined);
  });
});

describe('A NetworkPolicy', () => {
  const from = [{ namespaceSelector: { matchLabels: { agents: 'yes' } } }, { ipBlock: { cidr: '10.0.0.0/8' } }];
  const everybody = [{ namespaceSelector: {} }];

  test('lets in whom it names, Prometheus of this cluster besides; and out to DNS and the operator', () => {
    assert.deepEqual(childSpec(children({ networkPolicy: { from } }), 'NetworkPolicy'), {
      podSelector: { matchLabels: selector },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        { from, ports: [{ protocol: 'TCP', port: 8000 }] },
        {
          from: everybody,
          ports: [
            { protocol: 'TCP', port: 9091 },
            { protocol: 'TCP', port: 9092 },
          ],
        },
      ],
      egress: [
        {
          ports: [
            { protocol: 'UDP', port: 53 },
            { protocol: 'TCP', port: 53 },
          ],
        },
        { to: everybody, ports: [{ protocol: 'TCP', port: 9443 }] },
      ],
    });
  });

  test('lets servers with a Live source out to wherever that is', () => {
    const live = [{ source: 'cloud', secret: 'nextcloud' }];
    assert.deepEqual(childSpec(children({ networkPolicy: { from } }, settings, live), 'NetworkPolicy').egress, [{}]);
  });

  test('stands before the pods that it is for', () => {
    const kinds = kindsOf(children({ networkPolicy: { from }, replicas: 2 }));
    assert.deepEqual(kinds, ['Service', 'NetworkPolicy', 'Deployment', 'PodDisruptionBudget']);
  });
});
