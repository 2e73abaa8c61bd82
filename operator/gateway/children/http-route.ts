// The HTTPRoute of a gateway, by which Gateways of the Gateway API lead to it from outside the cluster. Pure.
import type { ChildManifest } from '../../kubernetes/cluster.ts';
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import { childMetadata, type Owner } from './child-metadata.ts';
import { filled } from './filled.ts';

/**
 * Undefined where the spec asks for none. A spec that asks for one has auth, by a rule. What the Gateway API would fill in is
 * written out, so that nobody else's it is.
 */
export function renderHttpRoute(gateway: Owner, { httpRoute, service }: SkillGatewaySpec): ChildManifest | undefined {
  if (httpRoute === undefined) return undefined;
  const backend = { group: '', kind: 'Service', name: gateway.metadata.name, port: service.port, weight: 1 };
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: childMetadata(gateway),
    spec: filled({
      parentRefs: httpRoute.parentRefs.map((parent) => ({
        group: 'gateway.networking.k8s.io',
        kind: 'Gateway',
        ...parent,
      })),
      hostnames: httpRoute.hostnames,
      rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], backendRefs: [backend] }],
    }),
  };
}
