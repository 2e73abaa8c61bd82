// Which pods may copy the catalogue of a gateway: its own, and those of the ServiceAccounts that its spec names.
import type { Logger } from 'pino';
import { digestOf } from '../../catalogue/digest.ts';
import type { Clock } from '../clock.ts';
import type { Cluster, KubernetesObject, ObjectKey } from '../kubernetes/cluster.ts';
import { isKind } from '../kubernetes/kubernetes-error.ts';
import { parseSkillGateway } from '../resources/parse.ts';
import type { Callers } from './callers.ts';
import type { PodIdentity } from './token.ts';

/** `own`: it was started for that gateway. Others are let in by its spec. */
export type Copier = { gateway: ObjectKey; own: boolean } | 'unknown' | 'stranger';

export interface CopiersOptions {
  callers: Pick<Callers, 'identity' | 'gatewayOf' | 'pod'>;
  cluster: Pick<Cluster, 'gateways'>;
  clock: Pick<Clock, 'now'>;
  log: Logger;
}

/** A pod asks for many files one after the other: so long it is not looked at again, in milliseconds. */
const knownMilliseconds = 5_000;
const mostKnown = 4096;

export class Copiers {
  readonly #options: CopiersOptions;
  /** By header and asked gateway: until when a pod counts as looked at. */
  readonly #known = new Map<string, number>();

  constructor(options: CopiersOptions) {
    this.#options = options;
  }

  /**
   * @param authorization the header as it came
   * @param asked the name of a gateway in the pod's own namespace
   * @returns `stranger` for a gateway that is not there and for one that he may not copy alike
   * @throws KeysUnavailable; KubernetesError when the pod cannot be looked at
   */
  async identify(authorization: string | undefined, asked: string): Promise<Copier> {
    const { callers, clock } = this.#options;
    const identity = await callers.identity(authorization);
    if (identity === undefined) return 'unknown';
    const key: ObjectKey = `${identity.namespace}/${asked}`;
    const gateway = this.#options.cluster.gateways.get(key);
    if (gateway === undefined || gateway.metadata.deletionTimestamp !== undefined) return 'stranger';
    const admits = admitsCopies(gateway, identity.serviceAccount);
    const known = `${admits} ${digestOf(authorization ?? '')} ${gateway.metadata.uid}`;
    const now = clock.now();
    if ((this.#known.get(known) ?? Number.NEGATIVE_INFINITY) > now) return { gateway: key, own: !admits };
    const mayCopy = admits ? await this.#lives(identity) : (await callers.gatewayOf(identity)) === key;
    if (!mayCopy) return 'stranger';
    this.#remember(known, now + knownMilliseconds);
    return { gateway: key, own: !admits };
  }

  async #lives(identity: PodIdentity): Promise<boolean> {
    try {
      return (await this.#options.callers.pod(identity)) !== undefined;
    } catch (error) {
      if (!isKind(error, 'forbidden')) throw error;
      const { namespace } = identity;
      this.#options.log.warn(
        { namespace },
        'pods of this namespace may not be looked at: nobody there copies a catalogue',
      );
      return false;
    }
  }

  #remember(known: string, until: number): void {
    this.#known.delete(known);
    this.#known.set(known, until);
    if (this.#known.size > mostKnown) this.#known.delete(this.#known.keys().next().value as string);
  }
}

/**
 * Whether pods of a ServiceAccount other than the gateway's own may copy it. Never where there are tokens: their digests
 * stand in what is copied.
 */
export function admitsCopies(gateway: KubernetesObject, serviceAccount: string): boolean {
  const parsed = parseSkillGateway(gateway);
  if (!parsed.ok) return false;
  const { auth, sync } = parsed.spec;
  return auth === undefined && sync.serviceAccounts.includes(serviceAccount);
}
