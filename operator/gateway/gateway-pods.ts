// Keeps the Deployment and the Service of a gateway as they are rendered, whatever others do to them, and tells how they stand.
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import {
  type ChildManifest,
  type Children,
  type KubernetesObject,
  keyOf,
  type ObjectKey,
} from '../kubernetes/cluster.ts';
import { KubernetesError, type KubernetesErrorKind } from '../kubernetes/kubernetes-error.ts';
import type { GatewayFaultReason } from '../reasons.ts';
import type { SkillGatewaySpec } from '../resources/skill-gateway.ts';
import { clusterUrl, type LiveSecret, type PodSettings, renderDeployment, renderService } from './render.ts';
import { rolloutOf } from './rollout.ts';

export interface GatewayPodsOptions {
  children: Children;
  settings: PodSettings;
  now(): number;
  log: Logger;
}

export type PodsStanding = (
  | { state: 'ready' | 'progressing' }
  | { state: 'failed'; reason: Extract<GatewayFaultReason, 'RolloutFailed' | 'VolumeNotReachable'> }
) & {
  message: string;
  /** Absent where there is no Deployment of this gateway. */
  replicas?: number;
  readyReplicas?: number;
  url?: string;
  /** When to look again though nothing has changed. */
  requeueAfterSeconds?: number;
};

/** What the operator wrote last, and what the API server made of it. */
interface Settled {
  manifest: ChildManifest;
  shape: object;
  at: number;
}

/** What others do to a child is put right at most so often: two programs that disagree must not chase each other. */
const restMilliseconds = 1000;
/** An object that stands in the way carries no label of the operator, so nobody tells when it goes. */
const inTheWaySeconds = 5;
const refusedSeconds = 60;
const goingSeconds = 5;

export class GatewayPods {
  readonly #options: GatewayPodsOptions;
  /** By kind and key of the child. */
  readonly #settled = new Map<string, Settled>();

  constructor(options: GatewayPodsOptions) {
    this.#options = options;
  }

  /** Whether pods of the gateway's namespace can mount the volume; where not, why. */
  outOfReach({ metadata: { namespace } }: KubernetesObject): PodsStanding | undefined {
    const { volumeClaim, namespace: reached } = this.#options.settings;
    if (namespace === reached) return undefined;
    return {
      state: 'failed',
      reason: 'VolumeNotReachable',
      message:
        `Pods of this namespace cannot mount the catalogue: its claim ${volumeClaim} is in namespace ${reached}. ` +
        'Create the SkillGateway and its SkillSources there',
    };
  }

  /** @throws KubernetesError when the API server is away, or somebody else wrote at the same moment */
  async settle(
    gateway: KubernetesObject,
    spec: SkillGatewaySpec,
    live: readonly LiveSecret[] = [],
  ): Promise<PodsStanding> {
    const url = clusterUrl(gateway, spec);
    const wanted = [renderService(gateway, spec), renderDeployment(gateway, spec, this.#options.settings, live)];
    const found = await Promise.all(wanted.map((manifest) => this.#find(manifest)));
    const obstacle = found.map((child) => child && obstacleOf(child, gateway)).find((one) => one !== undefined);
    if (obstacle !== undefined) return obstacle;

    let rest: number | undefined;
    const children: KubernetesObject[] = [];
    for (const [at, manifest] of wanted.entries()) {
      const child = found[at];
      const need = child === undefined ? 'now' : this.#need(manifest, child);
      if (child !== undefined && need !== 'now') {
        children.push(child);
        if (need !== 'none') rest = Math.max(rest ?? 0, need);
        continue;
      }
      try {
        children.push(await this.#apply(manifest, child));
      } catch (error) {
        return { ...refusal(manifest, error), ...countsOf(found[1]) };
      }
    }
    const { state, message, replicas, readyReplicas } = rolloutOf(children[1]!);
    const counts = { url, replicas, readyReplicas };
    if (rest !== undefined) {
      const again = 'Somebody changes what the operator keeps; it is put right again in a moment';
      return { state: 'progressing', message: again, ...counts, requeueAfterSeconds: rest / 1000 };
    }
    if (state === 'failed') return { state, reason: 'RolloutFailed', message, ...counts };
    return { state: state === 'done' ? 'ready' : 'progressing', message, ...counts };
  }

  /** The gateway is gone, and its children go with it. */
  forget(gateway: ObjectKey): void {
    for (const kind of ['Deployment', 'Service']) this.#settled.delete(`${kind} ${gateway}`);
  }

  #find({ kind, metadata }: ChildManifest): Promise<KubernetesObject | undefined> | KubernetesObject {
    const { children } = this.#options;
    return children.store(kind).get(keyOf({ metadata })) ?? children.read(kind, metadata.namespace, metadata.name);
  }

  /** Whether a child must be applied: now, in so many milliseconds, or not at all. */
  #need(manifest: ChildManifest, child: KubernetesObject): 'none' | 'now' | number {
    const settled = this.#settled.get(identityOf(manifest));
    if (settled === undefined || !isDeepStrictEqual(settled.manifest, manifest)) return 'now';
    if (isDeepStrictEqual(settled.shape, shapeOf(child, manifest))) return 'none';
    const pause = settled.at + restMilliseconds - this.#options.now();
    return pause > 0 ? pause : 'now';
  }

  async #apply(manifest: ChildManifest, found: KubernetesObject | undefined): Promise<KubernetesObject> {
    const { children, log, now } = this.#options;
    const child = await children.apply(manifest, found);
    const shape = shapeOf(child, manifest);
    this.#settled.set(identityOf(manifest), { manifest, shape, at: now() });
    if (found === undefined || !isDeepStrictEqual(shape, shapeOf(found, manifest))) {
      log.info({ gateway: keyOf(child), kind: manifest.kind, created: found === undefined }, 'applied');
    }
    return child;
  }
}

const identityOf = ({ kind, metadata }: ChildManifest): string => `${kind} ${keyOf({ metadata })}`;

/** What the operator cares about in a child: its spec whole, and of its metadata what it wrote itself. */
function shapeOf(child: KubernetesObject, { metadata }: ChildManifest): object {
  const own = (values: Readonly<Record<string, string>>, written: Record<string, string> = {}): object =>
    Object.fromEntries(Object.keys(written).map((key) => [key, values[key]]));
  const { uid, labels, annotations, controller } = child.metadata;
  return {
    uid,
    labels: own(labels, metadata.labels),
    annotations: own(annotations, metadata.annotations),
    controller,
    spec: child.spec,
  };
}

/** Why a child that is there cannot be this gateway's, or not for long. */
function obstacleOf(child: KubernetesObject, gateway: KubernetesObject): PodsStanding | undefined {
  const { kind, metadata } = child;
  const { controller, deletionTimestamp } = metadata;
  const called = `${kind} ${metadata.name}`;
  const isNamesakes = controller?.kind === gateway.kind && controller.name === gateway.metadata.name;
  if (controller?.uid !== gateway.metadata.uid && !isNamesakes) {
    return {
      state: 'failed',
      reason: 'RolloutFailed',
      message: `The ${called} stands in the way: it is not this gateway's, so it is left alone. Give the gateway another name, or delete it where nobody needs it`,
      requeueAfterSeconds: inTheWaySeconds,
    };
  }
  if (controller.uid === gateway.metadata.uid && deletionTimestamp === undefined) return undefined;
  return {
    state: 'progressing',
    message: `The former ${called} is being deleted`,
    requeueAfterSeconds: goingSeconds,
  };
}

/** What an API server says that is away or has no time. 500 is also what it says of a webhook that fails. */
const passing = {
  kinds: new Set<KubernetesErrorKind>(['network', 'tooMany', 'unauthorized', 'conflict']),
  statuses: new Set([502, 503, 504]),
};

/** What a refusal means. A fault that passes by itself is thrown on, to be tried again with growing pauses. */
function refusal({ kind, metadata }: ChildManifest, error: unknown): PodsStanding {
  if (!(error instanceof KubernetesError)) throw error;
  if (passing.kinds.has(error.kind) || passing.statuses.has(error.status ?? 0)) throw error;
  // What was sent is made of the gateway's spec, which holds no secret: the API server's words may be shown.
  const message = `The API server refuses the ${kind} ${metadata.name}: ${error.told ?? error.message}`;
  return { state: 'failed', reason: 'RolloutFailed', message, requeueAfterSeconds: refusedSeconds };
}

function countsOf(deployment: KubernetesObject | undefined): Pick<PodsStanding, 'replicas' | 'readyReplicas'> {
  if (deployment === undefined) return {};
  const { replicas, readyReplicas } = rolloutOf(deployment);
  return { replicas, readyReplicas };
}
