// All children of a gateway, as its spec wants them. Pure: the same gives the same.
import type { ChildManifest } from '../../kubernetes/cluster.ts';
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import { renderAutoscaler } from './autoscaler.ts';
import type { Owner } from './child-metadata.ts';
import { renderDeployment } from './deployment.ts';
import { renderDisruptionBudget } from './disruption-budget.ts';
import { renderHttpRoute } from './http-route.ts';
import { renderIngress } from './ingress.ts';
import { renderNetworkPolicy } from './network-policy.ts';
import type { LiveSecret, PodSettings } from './pod-settings.ts';
import { renderService } from './service.ts';

/**
 * In the order in which they are applied. Of a kind that is not among them the gateway wants none.
 * @param live of the sources that the gateway selects, in any order
 */
export const renderChildren = (
  gateway: Owner,
  spec: SkillGatewaySpec,
  settings: PodSettings,
  live: readonly LiveSecret[],
): ChildManifest[] =>
  [
    renderService(gateway, spec),
    renderNetworkPolicy(gateway, spec, live),
    renderDeployment(gateway, spec, settings, live),
    renderAutoscaler(gateway, spec),
    renderDisruptionBudget(gateway, spec, settings),
    renderIngress(gateway, spec),
    renderHttpRoute(gateway, spec),
  ].filter((child) => child !== undefined);
