// Who calls the operator, and for which gateway he speaks: from a bearer token to a SkillGateway.
import type { Clock } from '../clock.ts';
import type { Cluster, KubernetesObject, ObjectKey } from '../kubernetes/cluster.ts';
import type { Connection } from '../kubernetes/connection.ts';
import { isKind } from '../kubernetes/kubernetes-error.ts';
import { acceptOf, collectionPath, pods, trim } from '../kubernetes/watched-resource.ts';
import { gatewayOfPod } from './gateway-of-pod.ts';
import { Issuer } from './issuer.ts';
import { type PodIdentity, podOfToken } from './token.ts';

/** `unknown`: the token is missing or not accepted. `stranger`: a pod, but of no gateway. */
export type Caller = { gateway: ObjectKey } | 'unknown' | 'stranger';

export interface CallersOptions {
  connection: Pick<Connection, 'getJson'>;
  cluster: Pick<Cluster, 'gateways' | 'children'>;
  /** The gateway that a server in the operator's own pod serves, and the namespace and host name of that pod. */
  sidecar?: { gateway: ObjectKey; namespace: string; hostname: string } | undefined;
  clock: Clock;
  /** Milliseconds of the wall clock: tokens expire by it. */
  now(): number;
}

const mostPodBytes = 1024 * 1024;

export class Callers {
  readonly #options: CallersOptions;
  readonly #issuer: Issuer;

  constructor(options: CallersOptions) {
    this.#options = options;
    this.#issuer = new Issuer(options.connection, options.clock);
  }

  /**
   * @param authorization the header as it came
   * @throws KeysUnavailable; KubernetesError when the pod cannot be looked at
   */
  async identify(authorization: string | undefined): Promise<Caller> {
    const identity = await this.identity(authorization);
    if (identity === undefined) return 'unknown';
    const gateway = this.#besideOperator(identity) ?? (await this.gatewayOf(identity));
    return gateway === undefined ? 'stranger' : { gateway };
  }

  /** The pod that a header speaks for; undefined where it is not accepted. @throws KeysUnavailable */
  async identity(authorization: string | undefined): Promise<PodIdentity | undefined> {
    const token = /^Bearer +([\w.~+/=-]+) *$/i.exec(authorization ?? '')?.[1];
    return token === undefined ? undefined : await podOfToken(token, this.#issuer, this.#options.now());
  }

  #besideOperator({ namespace, name }: PodIdentity): ObjectKey | undefined {
    const { sidecar, cluster } = this.#options;
    if (sidecar?.namespace !== namespace || sidecar.hostname !== hostnameOf(name)) return undefined;
    return cluster.gateways.get(sidecar.gateway) === undefined ? undefined : sidecar.gateway;
  }

  /** The gateway that a pod was started for. @throws KubernetesError */
  async gatewayOf(identity: PodIdentity): Promise<ObjectKey | undefined> {
    const { cluster } = this.#options;
    const deployments = cluster.children?.store('Deployment');
    // Elsewhere there are no pods of a gateway, and none that the operator may read.
    if (!deployments?.list().some(({ metadata }) => metadata.namespace === identity.namespace)) return undefined;
    const pod = await this.pod(identity);
    return pod && gatewayOfPod(pod, cluster.gateways, deployments);
  }

  /**
   * A token outlives its pod: another pod of the same name is not the one that it was made out for.
   * @throws KubernetesError
   */
  async pod({ namespace, name, uid }: PodIdentity): Promise<KubernetesObject | undefined> {
    const path = `${collectionPath(pods, namespace)}/${encodeURIComponent(name)}`;
    try {
      const accept = acceptOf(pods, 'get');
      const pod = trim(pods, await this.#options.connection.getJson(path, {}, { accept, mostBytes: mostPodBytes }));
      return pod.metadata.uid === uid ? pod : undefined;
    } catch (error) {
      if (isKind(error, 'notFound')) return undefined;
      throw error;
    }
  }
}

/** The host name that Kubernetes gives to a pod. */
const hostnameOf = (pod: string): string => pod.slice(0, 63).replace(/[-.]+$/, '');
