// For which gateway a pod speaks: the one whose Deployment it comes from. Pure.

import { gatewayOfLabels } from '../gateway/children/child-metadata.ts';
import type { KubernetesObject, ObjectKey, Store } from '../kubernetes/cluster.ts';
import { keyOf } from '../kubernetes/cluster.ts';

/**
 * A pod belongs to a ReplicaSet that is named after the Deployment and the hash of its template; the Deployment is the
 * gateway's own. The ReplicaSet itself is not read: whoever can make a pod that claims a ReplicaSet can make it claim this one.
 * @param pod as it is now, under the name and uid of the token
 */
export function gatewayOfPod(
  pod: KubernetesObject,
  gateways: Pick<Store, 'get'>,
  deployments: Pick<Store, 'get'> | undefined,
): ObjectKey | undefined {
  const { namespace, labels, controller } = pod.metadata;
  const name = gatewayOfLabels(labels);
  const hash = labels['pod-template-hash'];
  if (name === undefined || hash === undefined) return undefined;
  if (controller?.kind !== 'ReplicaSet' || controller.name !== `${name}-${hash}`) return undefined;
  const gateway = gateways.get(`${namespace}/${name}`);
  const owner = deployments?.get(`${namespace}/${name}`)?.metadata.controller;
  if (gateway === undefined || gateway.metadata.deletionTimestamp !== undefined) return undefined;
  return owner?.uid === gateway.metadata.uid ? keyOf(gateway) : undefined;
}
