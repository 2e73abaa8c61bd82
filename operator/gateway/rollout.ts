// How far the pods of a gateway are, from its Deployment as Kubernetes tells it. Pure.
import type { KubernetesObject } from '../kubernetes/cluster.ts';

export interface Rollout {
  /** `done`: the wanted pods run what the Deployment says, and no others are left. */
  state: 'done' | 'rolling' | 'failed';
  message: string;
  /** Pods that there are. */
  replicas: number;
  readyReplicas: number;
}

interface DeploymentCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}

interface DeploymentStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  conditions?: DeploymentCondition[];
}

export function rolloutOf({ metadata, spec, status }: KubernetesObject): Rollout {
  const {
    observedGeneration = 0,
    replicas = 0,
    updatedReplicas: updated = 0,
    readyReplicas = 0,
    availableReplicas: available = 0,
    conditions = [],
  } = (status ?? {}) as DeploymentStatus;
  const { replicas: wanted = 1 } = (spec ?? {}) as { replicas?: number };
  const stands = (state: Rollout['state'], message: string): Rollout => ({ state, message, replicas, readyReplicas });
  const have = (type: string): DeploymentCondition | undefined => conditions.find((one) => one.type === type);

  if (observedGeneration < metadata.generation) {
    return stands('rolling', 'Kubernetes has not taken up the current configuration yet');
  }
  if (updated === wanted && replicas === wanted && available === wanted) {
    return stands('done', `${count(wanted)} ${wanted === 1 ? 'serves' : 'serve'} it`);
  }
  const serving = `${count(available)} ${available === 1 ? 'serves' : 'serve'}`;
  const refused = have('ReplicaFailure');
  if (refused?.status === 'True') {
    return stands('failed', `Kubernetes does not create the pods: ${refused.message ?? refused.reason}; ${serving}`);
  }
  if (have('Progressing')?.reason === 'ProgressDeadlineExceeded') {
    return stands(
      'failed',
      `The pods do not get ready; ${serving}. See: kubectl -n ${metadata.namespace} describe pods ` +
        `-l app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=${metadata.name}`,
    );
  }
  return stands(
    'rolling',
    `${updated} of ${count(wanted)} ${wanted === 1 ? 'has' : 'have'} the current configuration; ${serving}`,
  );
}

const count = (pods: number): string => `${pods} ${pods === 1 ? 'pod' : 'pods'}`;
