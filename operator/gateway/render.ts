// The Deployment and the Service of a gateway, from its spec and the installation's settings. Pure: the same gives the same.
import { audience } from '../callers/token.ts';
import type { ChildManifest, KubernetesObject } from '../kubernetes/cluster.ts';
import { parseQuantity } from '../resources/quantities.ts';
import type { SkillGatewaySpec } from '../resources/skill-gateway.ts';

/** What the installation says of the pods of all gateways. */
export interface PodSettings {
  image: string;
  /** Left out: Kubernetes decides by the image's tag. */
  imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never' | undefined;
  /** Secrets for the image's registry, besides those of a gateway. */
  imagePullSecrets: readonly string[];
  /** The claim to the volume that the operator publishes to. */
  volumeClaim: string;
  /** The namespace of the claim: only pods there can mount it. */
  namespace: string;
  /** Labels of the pods on whose node the server pods are kept, for a volume that one node mounts at a time. */
  keepTogether?: Readonly<Record<string, string>> | undefined;
  /** The operator's port for callers, and the Secret whose `ca.crt` its certificate is known by. Left out: servers do not call. */
  operator?: { url: string; caSecret: string } | undefined;
  /** What holds for the operator's own fetches, and for those of servers with a Live source alike. */
  fetching?:
    | {
        deniedCidrs: readonly string[];
        environment: Readonly<Record<string, string>>;
        /** Where the certificates of the installation's own authorities are, in the namespace of the pods. */
        extraCa?: ExtraCa | undefined;
      }
    | undefined;
}

export interface ExtraCa {
  kind: 'configMap' | 'secret';
  name: string;
  key: string;
}

/** A Live source, and the Secret that servers show its WebDAV server. */
export interface LiveSecret {
  source: string;
  secret: string;
}

type Owner = Pick<KubernetesObject, 'apiVersion' | 'kind' | 'metadata'>;
type Labels = Record<string, string>;

const user = 65_534;
const mcpPort = 8000;
const metricsPort = 9091;
const volumePath = '/volume';
const identityPath = '/var/run/secrets/lyceum.dev/operator';
const livePath = '/var/run/secrets/lyceum.dev/live';
const extraCaPath = '/etc/lyceum/extra-ca';
/** Kubernetes renews a token when a fifth of this is left. */
const tokenSeconds = 3600;

/** A rollout that has not come further for so long has failed. */
const progressDeadlineSeconds = 300;

/** @param live of the sources that the gateway selects, in any order */
export function renderDeployment(
  gateway: Owner,
  spec: SkillGatewaySpec,
  settings: PodSettings,
  live: readonly LiveSecret[] = [],
): ChildManifest {
  const { namespace, name } = gateway.metadata;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: childMetadata(gateway),
    spec: {
      replicas: spec.replicas ?? 1,
      selector: { matchLabels: selectorOf(name) },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      progressDeadlineSeconds,
      revisionHistoryLimit: 3,
      template: {
        metadata: filled({ labels: { ...spec.podLabels, ...labelsOf(name) }, annotations: spec.podAnnotations }),
        spec: filled({
          automountServiceAccountToken: false,
          // A Service called lyceum would put LYCEUM_PORT into the pods' environment, where the server reads its options.
          enableServiceLinks: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: user,
            runAsGroup: user,
            fsGroup: user,
            fsGroupChangePolicy: 'OnRootMismatch',
            seccompProfile: { type: 'RuntimeDefault' },
          },
          terminationGracePeriodSeconds: 45,
          imagePullSecrets: pullSecretsOf(spec, settings),
          nodeSelector: spec.nodeSelector,
          tolerations: spec.tolerations,
          affinity: affinityOf(spec, settings),
          topologySpreadConstraints: spec.topologySpreadConstraints?.map((one) => ({
            ...one,
            labelSelector: { matchLabels: selectorOf(name) },
          })),
          containers: [containerOf(namespace, name, spec, settings, live.length > 0)],
          volumes: [
            { name: 'volume', persistentVolumeClaim: { claimName: settings.volumeClaim } },
            ...identityVolumes(settings),
            ...liveVolumes(live, settings.fetching?.extraCa),
          ],
        }),
      },
    },
  };
}

export function renderService(gateway: Owner, { service }: SkillGatewaySpec): ChildManifest {
  const { name } = gateway.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: filled({ ...childMetadata(gateway), annotations: service.annotations }) as ChildManifest['metadata'],
    spec: {
      type: service.type,
      selector: selectorOf(name),
      ports: [{ name: 'mcp', port: service.port, targetPort: mcpPort, protocol: 'TCP', appProtocol: 'http' }],
    },
  };
}

/** Where clients in the cluster reach a gateway. */
export const clusterUrl = ({ metadata: { namespace, name } }: Owner, { service }: SkillGatewaySpec): string =>
  `http://${name}.${namespace}.svc.cluster.local:${service.port}/mcp`;

/** By these the Deployment and the Service find their pods. A Deployment's selector can never be changed. */
const selectorOf = (name: string): Labels => ({
  'app.kubernetes.io/name': 'lyceum-gateway',
  'app.kubernetes.io/instance': name,
});

/** The name of the gateway whose pods have such labels; undefined where they are none of a gateway's. */
export const gatewayOfLabels = (labels: Readonly<Labels>): string | undefined =>
  labels['app.kubernetes.io/name'] === 'lyceum-gateway' ? labels['app.kubernetes.io/instance'] : undefined;

const labelsOf = (name: string): Labels => ({ ...selectorOf(name), 'app.kubernetes.io/managed-by': 'lyceum' });

/** Without blockOwnerDeletion, for which the operator would need a right on the gateway's finalizers. */
const childMetadata = ({ apiVersion, kind, metadata: { namespace, name, uid } }: Owner): ChildManifest['metadata'] => ({
  namespace,
  name,
  labels: labelsOf(name),
  ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
});

function containerOf(
  namespace: string,
  name: string,
  { resources }: SkillGatewaySpec,
  { image, imagePullPolicy, operator, fetching }: PodSettings,
  hasLive: boolean,
): Record<string, unknown> {
  const memory = resources.limits?.memory;
  return filled({
    name: 'server',
    image,
    imagePullPolicy,
    args: [
      ...['server', '--volume', volumePath, '--namespace', namespace, '--gateway', name],
      ...operatorOptions(operator),
      ...(hasLive ? liveOptions(fetching) : []),
    ],
    env: [
      ...(memory === undefined ? [] : [{ name: 'NODE_OPTIONS', value: heapOptions(memory) }]),
      ...(hasLive ? Object.entries(fetching?.environment ?? {}).map(([key, value]) => ({ name: key, value })) : []),
    ],
    ports: [
      { name: 'mcp', containerPort: mcpPort, protocol: 'TCP' },
      { name: 'metrics', containerPort: metricsPort, protocol: 'TCP' },
    ],
    resources: filled({ requests: amounts(resources.requests), limits: amounts(resources.limits) }),
    // On a busy node a server takes long to start; it must not be ended for that.
    startupProbe: { httpGet: { path: '/livez', port: 'mcp' }, periodSeconds: 1, failureThreshold: 60 },
    readinessProbe: { httpGet: { path: '/readyz', port: 'mcp' }, periodSeconds: 2, timeoutSeconds: 2 },
    livenessProbe: { httpGet: { path: '/livez', port: 'mcp' }, periodSeconds: 10, timeoutSeconds: 5 },
    // Until every proxy has heard that the pod is going, it serves on.
    lifecycle: { preStop: { sleep: { seconds: 5 } } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'volume', mountPath: volumePath, readOnly: true },
      ...(operator === undefined ? [] : [{ name: 'operator', mountPath: identityPath, readOnly: true }]),
      ...(hasLive ? [{ name: 'live', mountPath: livePath, readOnly: true }] : []),
      ...(hasLive && fetching?.extraCa ? [{ name: 'extra-ca', mountPath: extraCaPath, readOnly: true }] : []),
    ],
  });
}

const operatorOptions = (operator: PodSettings['operator']): string[] =>
  operator === undefined
    ? []
    : [
        ...['--operator-url', operator.url],
        ...['--operator-ca', `${identityPath}/ca.crt`, '--operator-token', `${identityPath}/token`],
      ];

/**
 * By what a server is known to the operator: a token of its pod for nobody else, which is good for nothing at the API
 * server. The authority's certificate is optional, so that pods start while no operator is installed.
 */
function identityVolumes({ operator }: PodSettings): object[] {
  if (operator === undefined) return [];
  const authority = { name: operator.caSecret, items: [{ key: 'ca.crt', path: 'ca.crt' }], optional: true };
  const token = { audience, expirationSeconds: tokenSeconds, path: 'token' };
  return [{ name: 'operator', projected: { sources: [{ serviceAccountToken: token }, { secret: authority }] } }];
}

const liveOptions = (fetching: PodSettings['fetching']): string[] => [
  ...['--live-secrets', livePath],
  ...(fetching === undefined || fetching.deniedCidrs.length === 0
    ? []
    : ['--deny-cidr', fetching.deniedCidrs.join(',')]),
  ...(fetching?.extraCa === undefined ? [] : ['--extra-ca-file', `${extraCaPath}/${fetching.extraCa.key}`]),
];

/**
 * Of each Secret the keys that are needed, and optional, so that pods start while one is missing. The authorities are not,
 * since a server would trust too few of them until its next start.
 */
function liveVolumes(live: readonly LiveSecret[], extraCa: ExtraCa | undefined): object[] {
  if (live.length === 0) return [];
  const keys = ['username', 'password', 'ca.crt'];
  const sources = live
    .toSorted((a, b) => (a.source < b.source ? -1 : 1))
    .map(({ source, secret }) => ({
      secret: { name: secret, items: keys.map((key) => ({ key, path: `${source}/${key}` })), optional: true },
    }));
  return [{ name: 'live', projected: { sources } }, ...(extraCa === undefined ? [] : [extraCaVolume(extraCa)])];
}

function extraCaVolume({ kind, name, key }: ExtraCa): object {
  const items = [{ key, path: key }];
  return kind === 'secret'
    ? { name: 'extra-ca', secret: { secretName: name, items } }
    : { name: 'extra-ca', configMap: { name, items } };
}

/** Node does not look at the limit of its container: it is told three quarters of it, the rest is for what is not heap. */
function heapOptions(memory: string | number): string {
  const mebibytes = Math.floor((parseQuantity(String(memory)) * 0.75) / 2 ** 20);
  return `--max-old-space-size=${Math.max(1, mebibytes)} --max-semi-space-size=16`;
}

const amounts = (given: Record<string, string | number | undefined> | undefined): Labels =>
  Object.fromEntries(
    Object.entries(given ?? {}).flatMap(([what, amount]) => (amount === undefined ? [] : [[what, String(amount)]])),
  );

function pullSecretsOf({ imagePullSecrets = [] }: SkillGatewaySpec, settings: PodSettings): { name: string }[] {
  const names = new Set([...settings.imagePullSecrets, ...imagePullSecrets.map(({ name }) => name)]);
  return [...names].map((name) => ({ name }));
}

function affinityOf({ affinity }: SkillGatewaySpec, { keepTogether }: PodSettings): object | undefined {
  if (keepTogether === undefined) return affinity;
  const beside = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { ...keepTogether } } };
  const podAffinity = affinity?.podAffinity;
  return {
    ...affinity,
    podAffinity: {
      ...podAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: [
        beside,
        ...(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ],
    },
  };
}

/** Without fields that have nothing in them: what is not applied is given up. */
function filled(fields: Record<string, unknown>): Record<string, unknown> {
  const isEmpty = (value: unknown): boolean =>
    value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}
