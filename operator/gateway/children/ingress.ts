// The Ingress of a gateway, by which it is reached from outside the cluster. Pure.
import type { ChildManifest } from '../../kubernetes/cluster.ts';
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import { childMetadata, type Owner } from './child-metadata.ts';
import { filled } from './filled.ts';

/** Undefined where the spec asks for none. A spec that asks for one has auth, by a rule. */
export function renderIngress(gateway: Owner, { ingress, service }: SkillGatewaySpec): ChildManifest | undefined {
  if (ingress === undefined) return undefined;
  const { className, host, path, tlsSecretName, annotations } = ingress;
  const backend = { service: { name: gateway.metadata.name, port: { number: service.port } } };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: filled({ ...childMetadata(gateway), annotations }) as ChildManifest['metadata'],
    spec: filled({
      ingressClassName: className,
      tls: tlsSecretName === undefined ? [] : [{ hosts: [host], secretName: tlsSecretName }],
      rules: [{ host, http: { paths: [{ path, pathType: 'Prefix', backend }] } }],
    }),
  };
}
