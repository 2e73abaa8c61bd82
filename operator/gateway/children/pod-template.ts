// The pods of a gateway: where they run, what they mount, and that they are restricted. Pure.
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import { labelsOf, type Owner, selectorOf } from './child-metadata.ts';
import { filled } from './filled.ts';
import { liveVolumes } from './live-secrets.ts';
import { identityVolumes } from './operator-identity.ts';
import type { LiveSecret, PodSettings } from './pod-settings.ts';
import { serverContainer } from './server-container.ts';

const user = 65_534;

/** @param live of the sources that the gateway selects, in any order */
export function podTemplate(
  gateway: Owner,
  spec: SkillGatewaySpec,
  settings: PodSettings,
  live: readonly LiveSecret[],
): object {
  const { namespace, name } = gateway.metadata;
  return {
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
      containers: [serverContainer(namespace, name, spec, settings, live.length > 0)],
      volumes: [
        { name: 'volume', persistentVolumeClaim: { claimName: settings.volumeClaim } },
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
