// The PodDisruptionBudget of a gateway. Pure.
import type { ChildManifest } from '../../kubernetes/cluster.ts';
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import { childMetadata, type Owner, selectorOf } from './child-metadata.ts';
import { settingsFor } from './placement.ts';
import type { PodSettings } from './pod-settings.ts';

/**
 * Undefined for a single pod, and where all pods are kept on one node: a budget would hold up the drain of that node, and
 * nothing would be won by it.
 */
export function renderDisruptionBudget(
  gateway: Owner,
  spec: SkillGatewaySpec,
  installation: PodSettings,
): ChildManifest | undefined {
  const fewest = spec.autoscaling?.minReplicas ?? spec.replicas ?? 1;
  const { keepTogether } = settingsFor(gateway, spec, installation);
  if (fewest < 2 || keepTogether !== undefined) return undefined;
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: childMetadata(gateway),
    spec: {
      maxUnavailable: 1,
      // A pod that does not serve is not worth waiting for.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: selectorOf(gateway.metadata.name) },
    },
  };
}
