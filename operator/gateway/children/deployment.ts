// The Deployment of a gateway. Pure: the same gives the same.
import type { ChildManifest } from '../../kubernetes/cluster.ts';
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import { childMetadata, type Owner, selectorOf } from './child-metadata.ts';
import type { LiveSecret, PodSettings } from './pod-settings.ts';
import { podTemplate } from './pod-template.ts';

/** A rollout that has not come further for so long has failed. */
const progressDeadlineSeconds = 300;

/** @param live of the sources that the gateway selects, in any order */
export function renderDeployment(
  gateway: Owner,
  spec: SkillGatewaySpec,
  settings: PodSettings,
  live: readonly LiveSecret[] = [],
): ChildManifest {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: childMetadata(gateway),
    spec: {
      ...(spec.autoscaling === undefined ? { replicas: spec.replicas ?? 1 } : {}),
      selector: { matchLabels: selectorOf(gateway.metadata.name) },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      progressDeadlineSeconds,
      revisionHistoryLimit: 3,
      template: podTemplate(gateway, spec, settings, live),
    },
  };
}
