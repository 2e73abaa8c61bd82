// The children of a gateway together: rendered, kept, taken away, and how the pods stand.
import type { Logger } from 'pino';
import {
  type ChildKind,
  type ChildManifest,
  type Children,
  childKinds,
  type KubernetesObject,
  type ObjectKey,
} from '../kubernetes/cluster.ts';
import { KubernetesError, type KubernetesErrorKind } from '../kubernetes/kubernetes-error.ts';
import type { GatewayFaultReason } from '../reasons.ts';
import type { SkillGatewaySpec } from '../resources/skill-gateway.ts';
import { ChildKeeper } from './child-keeper.ts';
import { renderChildren } from './children/children.ts';
import { placementOf } from './children/placement.ts';
import type { LiveSecret, PodSettings } from './children/pod-settings.ts';
import { clusterUrl } from './children/service.ts';
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

/** An object that stands in the way carries no label of the operator, so nobody tells when it goes. */
const inTheWaySeconds = 5;
const refusedSeconds = 60;
const goingSeconds = 5;

/** By these people come in from outside the cluster. */
const waysIn = ['Ingress', 'HTTPRoute'] as const satisfies readonly ChildKind[];
const isWayIn = (kind: ChildKind): boolean => (waysIn as readonly ChildKind[]).includes(kind);

const notServed =
  "The API server has no HTTPRoutes (gateway.networking.k8s.io/v1): install the Gateway API's CustomResourceDefinitions, or remove spec.httpRoute";

export class GatewayPods {
  readonly #settings: PodSettings;
  readonly #keeper: ChildKeeper;

  constructor({ settings, ...keeping }: GatewayPodsOptions) {
    this.#settings = settings;
    this.#keeper = new ChildKeeper(keeping);
  }

  /** Whether pods of the gateway can mount the volume or copy what is on it; where not, why. */
  outOfReach(gateway: KubernetesObject, spec: SkillGatewaySpec): PodsStanding | undefined {
    const placement = placementOf(gateway, spec, this.#settings);
    if (placement.from !== 'none') return undefined;
    return { state: 'failed', reason: 'VolumeNotReachable', message: placement.message };
  }

  /**
   * Closes the way in from outside where the spec no longer asks for it: before a catalogue is published that lets everybody in.
   * @throws KubernetesError
   */
  async close(gateway: KubernetesObject, { ingress, httpRoute }: SkillGatewaySpec): Promise<void> {
    const wanted = { Ingress: ingress, HTTPRoute: httpRoute };
    await this.#keeper.takeAway(
      gateway,
      waysIn.filter((kind) => wanted[kind] === undefined),
    );
  }

  /**
   * @param isPublished whether servers have the settings of this spec: until then no way in from outside is opened
   * @throws KubernetesError when the API server is away, or somebody else wrote at the same moment
   */
  async settle(
    gateway: KubernetesObject,
    spec: SkillGatewaySpec,
    live: readonly LiveSecret[] = [],
    isPublished = true,
  ): Promise<PodsStanding> {
    const wanted = renderChildren(gateway, spec, this.#settings, live);
    const found = new Map<ChildKind, KubernetesObject>();
    for (const manifest of wanted) {
      const child = await this.#keeper.find(manifest);
      if (child !== undefined) found.set(manifest.kind, child);
    }
    const obstacle = [...found.values()].map((child) => obstacleOf(child, gateway)).find((one) => one !== undefined);
    if (obstacle !== undefined) return obstacle;

    const rests: number[] = [];
    // An autoscaler goes before the number of pods is the spec's again.
    await this.#keeper.takeAway(
      gateway,
      childKinds.filter((kind) => wanted.every((manifest) => manifest.kind !== kind)),
    );
    for (const manifest of wanted.filter(({ kind }) => isPublished || !isWayIn(kind))) {
      try {
        const { child, rest } = await this.#keeper.keep(manifest, found.get(manifest.kind));
        found.set(manifest.kind, child);
        if (rest !== undefined) rests.push(rest);
      } catch (error) {
        return { ...refusal(manifest, error), ...reachOf(gateway, spec, found.get('Deployment')) };
      }
    }
    return standingOf(clusterUrl(gateway, spec), found.get('Deployment')!, rests);
  }

  /** The gateway is gone, and its children go with it. */
  forget(gateway: ObjectKey): void {
    this.#keeper.forget(gateway);
  }
}

function standingOf(url: string, deployment: KubernetesObject, rests: readonly number[]): PodsStanding {
  const { state, message, replicas, readyReplicas } = rolloutOf(deployment);
  const counts = { url, replicas, readyReplicas };
  if (rests.length > 0) {
    const again = 'Somebody changes what the operator keeps; it is put right again in a moment';
    return { state: 'progressing', message: again, ...counts, requeueAfterSeconds: Math.max(...rests) / 1000 };
  }
  if (state === 'failed') return { state, reason: 'RolloutFailed', message, ...counts };
  return { state: state === 'done' ? 'ready' : 'progressing', message, ...counts };
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
  const message =
    kind === 'HTTPRoute' && error.kind === 'notFound'
      ? notServed
      : `The API server refuses the ${kind} ${metadata.name}: ${error.told ?? error.message}`;
  return { state: 'failed', reason: 'RolloutFailed', message, requeueAfterSeconds: refusedSeconds };
}

/** Pods that there are serve on, whatever else of the gateway is refused. */
function reachOf(
  gateway: KubernetesObject,
  spec: SkillGatewaySpec,
  deployment: KubernetesObject | undefined,
): Pick<PodsStanding, 'url' | 'replicas' | 'readyReplicas'> {
  if (deployment === undefined) return {};
  const { replicas, readyReplicas } = rolloutOf(deployment);
  return { url: clusterUrl(gateway, spec), replicas, readyReplicas };
}
