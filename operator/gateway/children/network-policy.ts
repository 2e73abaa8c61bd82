// The NetworkPolicy of a gateway. Pure.
import type { ChildManifest } from '../../kubernetes/cluster.ts';
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import { childMetadata, type Owner, selectorOf } from './child-metadata.ts';
import type { LiveSecret } from './pod-settings.ts';
import { callersPort, mcpPort, metricsPort, syncPort } from './ports.ts';

const tcp = (port: number) => ({ protocol: 'TCP', port });
const wholeCluster = [{ namespaceSelector: {} }];

/** @param live of the sources that the gateway selects: servers then go out to wherever those are */
export function renderNetworkPolicy(
  gateway: Owner,
  { networkPolicy }: SkillGatewaySpec,
  live: readonly LiveSecret[],
): ChildManifest | undefined {
  if (networkPolicy === undefined) return undefined;
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: childMetadata(gateway),
    spec: {
      podSelector: { matchLabels: selectorOf(gateway.metadata.name) },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        { from: networkPolicy.from, ports: [tcp(mcpPort)] },
        { from: wholeCluster, ports: [tcp(metricsPort), tcp(syncPort)] },
      ],
      egress:
        live.length > 0
          ? [{}]
          : [{ ports: [{ protocol: 'UDP', port: 53 }, tcp(53)] }, { to: wholeCluster, ports: [tcp(callersPort)] }],
    },
  };
}
