// The Service of a gateway. Pure.
import type { ChildManifest } from '../../kubernetes/cluster.ts';
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import { childMetadata, type Owner, selectorOf } from './child-metadata.ts';
import { filled } from './filled.ts';
import { mcpPort } from './ports.ts';

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
