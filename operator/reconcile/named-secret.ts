// The Secret that a custom resource names: what is in it, or why it cannot be had and what to do.
import type { Cluster, SecretContent } from '../kubernetes/cluster.ts';
import { isKind } from '../kubernetes/kubernetes-error.ts';
import { SourceFault } from '../reasons.ts';

/**
 * @param field where the name stands, told as what may be changed: `spec.secretRef`
 * @throws SourceFault SecretNotFound; KubernetesError when the API server is away
 */
export async function namedSecret(
  cluster: Pick<Cluster, 'readSecret'>,
  namespace: string,
  name: string,
  field: string,
): Promise<SecretContent> {
  const secret = await cluster.readSecret(namespace, name).catch((error: unknown) => {
    if (!isKind(error, 'forbidden')) throw error;
    const remedy = "allow get on secrets in the Role of the operator's ServiceAccount";
    const what = `the operator may not read Secret "${name}" in namespace "${namespace}"`;
    throw new SourceFault('SecretNotFound', `${what}: ${remedy}`, { cause: error });
  });
  if (secret) return secret;
  throw new SourceFault(
    'SecretNotFound',
    `Secret "${name}" is not there in namespace "${namespace}": create it, or change ${field}`,
  );
}
