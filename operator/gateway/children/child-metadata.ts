// By what the children of a gateway are known: their name, their labels and their owner.
import type { ChildManifest, KubernetesObject } from '../../kubernetes/cluster.ts';

export type Owner = Pick<KubernetesObject, 'apiVersion' | 'kind' | 'metadata'>;
export type Labels = Record<string, string>;

/** By these the Deployment and the Service find their pods. A Deployment's selector can never be changed. */
export const selectorOf = (name: string): Labels => ({
  'app.kubernetes.io/name': 'lyceum-gateway',
  'app.kubernetes.io/instance': name,
});

/** The name of the gateway whose pods have such labels; undefined where they are none of a gateway's. */
export const gatewayOfLabels = (labels: Readonly<Labels>): string | undefined =>
  labels['app.kubernetes.io/name'] === 'lyceum-gateway' ? labels['app.kubernetes.io/instance'] : undefined;

export const labelsOf = (name: string): Labels => ({ ...selectorOf(name), 'app.kubernetes.io/managed-by': 'lyceum' });

/** Without blockOwnerDeletion, for which the operator would need a right on the gateway's finalizers. */
export const childMetadata = ({
  apiVersion,
  kind,
  metadata: { namespace, name, uid },
}: Owner): ChildManifest['metadata'] => ({
  namespace,
  name,
  labels: labelsOf(name),
  ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
});
