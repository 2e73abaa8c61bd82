// The HorizontalPodAutoscaler of a gateway. Pure.
import type { ChildManifest } from '../../kubernetes/cluster.ts';
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import { childMetadata, type Owner } from './child-metadata.ts';

/** Undefined where the spec says how many pods there are. */
export function renderAutoscaler(gateway: Owner, { autoscaling }: SkillGatewaySpec): ChildManifest | undefined {
  if (autoscaling === undefined) return undefined;
  const { minReplicas, maxReplicas, targetCPUUtilizationPercentage } = autoscaling;
  const target = { type: 'Utilization', averageUtilization: targetCPUUtilizationPercentage };
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: childMetadata(gateway),
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: gateway.metadata.name },
      minReplicas,
      maxReplicas,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
    },
  };
}
