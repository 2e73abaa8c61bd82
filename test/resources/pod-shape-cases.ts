// Specs of SkillGateways that give the pods a shape, good and bad.
import { type Case, objectName, on, words } from './case.ts';

const labels = /as Kubernetes has/;
const annotations = /annotations as Kubernetes has them.*not yours to set/;
const ownLabels = /are set for you: remove them/;
const quantity = /write bytes, or a quantity such as/;
const cpus = /write CPUs such as 500m, 1 or 1\.5/;
const taint = /Equal needs a key; Exists takes no value/;
const serviceName = /the name becomes a Service's/;

const limits = (amounts: object) => ({ resources: { limits: amounts } });
const tolerations = (...list: object[]) => ({ tolerations: list });
const spread = (...list: object[]) => ({ topologySpreadConstraints: list });
const zones = { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' };

const podTerm = {
  topologyKey: 'kubernetes.io/hostname',
  labelSelector: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'c', operator: 'Exists' }] },
  namespaces: ['other'],
  namespaceSelector: {},
};
const nodeTerm = {
  matchExpressions: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64', 'arm64'] }],
  matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['old'] }],
};
const podRules = {
  requiredDuringSchedulingIgnoredDuringExecution: [podTerm],
  preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: podTerm }],
};

export const podShapeCases: Case[] = [
  {
    what: 'every field',
    spec: {
      replicas: 2,
      service: { type: 'LoadBalancer', port: 80, annotations: { 'example.com/internal': 'true' } },
      resources: {
        requests: { cpu: '500m', memory: '256Mi', 'ephemeral-storage': '64Mi' },
        limits: { cpu: 2, memory: 1073741824, 'ephemeral-storage': '1Gi' },
      },
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [
        { key: 'dedicated', value: 'agents', effect: 'NoSchedule' },
        { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 },
      ],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [nodeTerm] },
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: nodeTerm }],
        },
        podAffinity: podRules,
        podAntiAffinity: podRules,
      },
      topologySpreadConstraints: [
        { ...zones, minDomains: 2, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' },
        { ...zones, whenUnsatisfiable: 'ScheduleAnyway' },
      ],
      podLabels: { team: 'platform', 'app.kubernetes.io/part-of': 'agents' },
      podAnnotations: { 'prometheus.io/scrape': 'true', 'example.com/note': 'a b, c' },
      imagePullSecrets: [{ name: 'registry' }, { name: 'mirror' }],
    },
  },
  { what: 'no pods', spec: { replicas: 0 } },
  { what: 'as many pods as there may be', spec: { replicas: 100 } },
  { what: 'more pods than there may be', spec: { replicas: 101 }, refused: on('spec.replicas') },
  { what: 'fewer pods than none', spec: { replicas: -1 }, refused: on('spec.replicas') },
  { what: 'replicas as a text', spec: { replicas: '2' }, refused: on('spec.replicas') },
  {
    what: 'a name that no Service can have, since it begins with a digit',
    name: '1agents',
    spec: {},
    refused: on('metadata', serviceName),
  },
  { what: 'a name with a dot', name: 'agents.flow', spec: {}, refused: on('metadata', serviceName) },
  { what: 'a name of 64 characters', name: words(64), spec: {}, refused: on('metadata', serviceName) },
  { what: 'a name of 63 characters', name: words(63), spec: {} },
  { what: 'an unknown type of Service', spec: { service: { type: 'ExternalName' } }, refused: on('spec.service.type') },
  { what: 'a port that is none', spec: { service: { port: 65_536 } }, refused: on('spec.service.port') },
  {
    what: "an annotation of the Service that is the operator's",
    spec: { service: { annotations: { 'lyceum.dev/x': 'y' } } },
    refused: on('spec.service.annotations', annotations),
  },
  { what: 'no bounds on resources', spec: { resources: {} } },
  { what: 'a part of a CPU', spec: limits({ cpu: '0.5' }) },
  { what: 'CPUs as megahertz', spec: limits({ cpu: '500Mhz' }), refused: on('spec.resources.limits.cpu', cpus) },
  { what: 'no CPU', spec: limits({ cpu: 0 }), refused: on('spec.resources.limits.cpu', cpus) },
  { what: 'memory in MB', spec: limits({ memory: '512MB' }), refused: on('spec.resources.limits.memory', quantity) },
  {
    what: 'less memory than none',
    spec: limits({ memory: -1 }),
    refused: on('spec.resources.limits.memory', quantity),
  },
  {
    what: 'disk as a word',
    spec: { resources: { requests: { 'ephemeral-storage': 'much' } } },
    refused: on('spec.resources.requests.ephemeral-storage', quantity),
  },
  { what: 'memory as a list', spec: limits({ memory: ['1Gi'] }), refused: on('spec.resources.limits.memory') },
  {
    what: 'a node label with a blank',
    spec: { nodeSelector: { 'a b': 'c' } },
    refused: on('spec.nodeSelector', labels),
  },
  {
    what: 'a toleration without a key',
    spec: tolerations({ value: 'x' }),
    refused: on('spec.tolerations[0]', taint),
  },
  {
    what: 'a toleration that exists and has a value',
    spec: tolerations({ key: 'a', operator: 'Exists', value: 'x' }),
    refused: on('spec.tolerations[0]', taint),
  },
  {
    what: 'seconds without NoExecute',
    spec: tolerations({ key: 'a', value: 'b' }, { key: 'a', value: 'b', effect: 'NoSchedule', tolerationSeconds: 1 }),
    refused: on('spec.tolerations[1].tolerationSeconds', /goes with the effect NoExecute/),
  },
  {
    what: 'a taint with a blank',
    spec: tolerations({ key: 'a b', value: 'c d' }),
    refused: [
      ...on('spec.tolerations[0].key', /the key of a taint/),
      ...on('spec.tolerations[0].value', /the value of/),
    ],
  },
  {
    what: 'one spread rule twice',
    spec: spread(zones, { ...zones, maxSkew: 2 }),
    refused: on('spec.topologySpreadConstraints', /stands here once/),
  },
  {
    what: 'a spread rule over nothing',
    spec: spread({ ...zones, topologyKey: 'a zone' }),
    refused: on('spec.topologySpreadConstraints[0].topologyKey', /a label of nodes/),
  },
  {
    what: 'minDomains where pods are scheduled anyway',
    spec: spread({ ...zones, whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 }),
    refused: on('spec.topologySpreadConstraints[0].minDomains', /goes with DoNotSchedule/),
  },
  {
    what: 'a spread rule without its skew',
    spec: spread({ topologyKey: 'a', whenUnsatisfiable: 'ScheduleAnyway' }),
    refused: on('spec.topologySpreadConstraints[0].maxSkew'),
  },
  {
    what: 'a weight of 0',
    spec: {
      affinity: {
        podAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 0, podAffinityTerm: podTerm }],
        },
      },
    },
    refused: on('spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight'),
  },
  ...['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by'].map((key) => ({
    what: `the label ${key}`,
    spec: { podLabels: { [key]: 'mine' } },
    refused: on('spec.podLabels', ownLabels),
  })),
  ...['pod-template-hash', 'lyceum.dev/volume', 'x.lyceum.dev/y'].map((key) => ({
    what: `the label ${key}`,
    spec: { podLabels: { team: 'a', [key]: 'mine' } },
    refused: on('spec.podLabels', ownLabels),
  })),
  {
    what: 'a pod label with two slashes',
    spec: { podLabels: { 'a/b/c': 'd' } },
    refused: on('spec.podLabels', labels),
  },
  ...[
    'container.apparmor.security.beta.kubernetes.io/server',
    'seccomp.security.alpha.kubernetes.io/pod',
    'lyceum.dev/requestedAt',
    'no name',
  ].map((key) => ({
    what: `the annotation ${key}`,
    spec: { podAnnotations: { [key]: 'unconfined' } },
    refused: on('spec.podAnnotations', annotations),
  })),
  {
    what: 'too many annotations',
    spec: { podAnnotations: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`a${n}`, 'b'])) },
    refused: on('spec.podAnnotations'),
  },
  {
    what: 'an autoscaler',
    spec: { autoscaling: { minReplicas: 1, maxReplicas: 10, targetCPUUtilizationPercentage: 70 } },
  },
  { what: 'an autoscaler that says how many at most', spec: { autoscaling: { maxReplicas: 2 } } },
  {
    what: 'an autoscaler beside replicas',
    spec: { replicas: 2, autoscaling: { maxReplicas: 4 } },
    refused: on('spec.autoscaling', /give replicas or autoscaling, not both/),
  },
  {
    what: 'an autoscaler of fewer pods than its least',
    spec: { autoscaling: { minReplicas: 5, maxReplicas: 4 } },
    refused: on('spec.autoscaling', /minReplicas is at most maxReplicas/),
  },
  {
    what: 'an autoscaler that does not say how many at most',
    spec: { autoscaling: { minReplicas: 2 } },
    refused: on('spec.autoscaling.maxReplicas'),
  },
  {
    what: 'an autoscaler without CPUs to count in',
    spec: { autoscaling: { maxReplicas: 4 }, resources: { requests: { memory: '1Gi' } } },
    refused: on('spec.autoscaling', /set that too/),
  },
  {
    what: 'a network policy with every kind of peer',
    spec: {
      networkPolicy: {
        from: [
          { podSelector: {} },
          { namespaceSelector: { matchLabels: { team: 'a' } }, podSelector: { matchLabels: { app: 'n8n' } } },
          { namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'In', values: ['a'] }] } },
          { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } },
          { ipBlock: { cidr: 'fd00::/8' } },
        ],
      },
    },
  },
  {
    what: 'a network policy that lets nobody in',
    spec: { networkPolicy: { from: [] } },
    refused: on('spec.networkPolicy.from'),
  },
  {
    what: 'a peer that is nobody',
    spec: { networkPolicy: { from: [{}] } },
    refused: on('spec.networkPolicy.from[0]', /give podSelector, namespaceSelector or both; or ipBlock alone/),
  },
  {
    what: 'a peer that is addresses and pods',
    spec: { networkPolicy: { from: [{ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }] } },
    refused: on('spec.networkPolicy.from[0]', /or ipBlock alone/),
  },
  {
    what: 'a range that is none',
    spec: { networkPolicy: { from: [{ ipBlock: { cidr: '10.0.0.1' } }] } },
    refused: on('spec.networkPolicy.from[0].ipBlock.cidr', /write a range of addresses/),
  },
  {
    what: 'an exception that is no range',
    spec: { networkPolicy: { from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['all'] } }] } },
    refused: on('spec.networkPolicy.from[0].ipBlock.except', /write a range of addresses/),
  },
  {
    what: 'a peer with a label that is none',
    spec: { networkPolicy: { from: [{ podSelector: { matchLabels: { 'a b': 'c' } } }] } },
    refused: on('spec.networkPolicy.from[0].podSelector.matchLabels', labels),
  },
  {
    what: 'one pull secret twice',
    spec: { imagePullSecrets: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] },
    refused: on('spec.imagePullSecrets', /stands here once/),
  },
  {
    what: 'a pull secret in capitals',
    spec: { imagePullSecrets: [{ name: 'Registry' }] },
    refused: on('spec.imagePullSecrets[0].name', objectName),
  },
];
