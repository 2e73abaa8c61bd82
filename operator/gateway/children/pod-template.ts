// The pods of a gateway: where they run, what they mount, and that they are restricted. Pure.
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import { labelsOf, type Owner, selectorOf } from './child-metadata.ts';
import { filled } from './filled.ts';
import { liveVolumes } from './live-secrets.ts';
import { identityAnnotations, identityVolumes } from './operator-identity.ts';
import { settingsFor } from './placement.ts';
import type { LiveSecret, PodSettings } from './pod-settings.ts';
import { serverContainer } from './server-container.ts';
import { syncContainers } from './sync-container.ts';

const user = 65_534;

/** @param live of the sources that the gateway selects, in any order */
export function podTemplate(
  gateway: Owner,
  spec: SkillGatewaySpec,
  installation: PodSettings,
  live: readonly LiveSecret[],
): object {
  const { namespace, name } = gateway.metadata;
  const settings = settingsFor(gateway, spec, installation);
  return {
    metadata: filled({
      labels: { ...spec.podLabels, ...labelsOf(name) },
      annotations: { ...spec.podAnnotations, ...identityAnnotations(settings) },
    }),
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
      topologySpreadConstraints: spreadOf(spec, settings)?.map((one) => ({
        ...one,
        labelSelector: { matchLabels: selectorOf(name) },
      })),
      initContainers: syncContainers(gateway.metadata, spec, settings),
      containers: [serverContainer(namespace, name, spec, settings, live.length > 0)],
      volumes: [
        settings.sync === undefined
          ? { name: 'volume', persistentVolumeClaim: { claimName: settings.volumeClaim } }
          : { name: 'volume', emptyDir: { sizeLimit: String(spec.sync.sizeLimit) } },
        ...identityVolumes(settings),
        ...liveVolumes(live, settings.fetching?.extraCa),
      ],
    }),
  };
}

function pullSecretsOf({ imagePullSecrets = [] }: SkillGatewaySpec, settings: PodSettings): { name: string }[] {
  const names = new Set([...settings.imagePullSecrets, ...imagePullSecrets.map(({ name }) => name)]);
  return [...names].map((name) => ({ name }));
}

/** Over nodes and zones as far as there are any, unless the spec says otherwise or all are kept on one node. */
const evenly = ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map((topologyKey) => ({
  topologyKey,
  maxSkew: 1,
  whenUnsatisfiable: 'ScheduleAnyway',
  // Pods of the template before do not count: they go.
  matchLabelKeys: ['pod-template-hash'],
}));

const spreadOf = (
  { topologySpreadConstraints }: SkillGatewaySpec,
  { keepTogether }: PodSettings,
): readonly object[] | undefined => topologySpreadConstraints ?? (keepTogether === undefined ? evenly : undefined);

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
