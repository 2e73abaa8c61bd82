// Keeps single children of a gateway as they are rendered, whatever others do to them, and takes away what is not wanted.
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import {
  type ChildKind,
  type ChildManifest,
  type Children,
  childKinds,
  type KubernetesObject,
  keyOf,
  leavesReplicas,
  type ObjectKey,
} from '../kubernetes/cluster.ts';

export interface ChildKeeperOptions {
  children: Children;
  now(): number;
  log: Logger;
}

/** What the operator wrote last, and what the API server made of it. */
interface Settled {
  manifest: ChildManifest;
  shape: object;
  at: number;
}

/** What others do to a child is put right at most so often: two programs that disagree must not chase each other. */
const restMilliseconds = 1000;

/** A child as it is now. */
export interface Kept {
  child: KubernetesObject;
  /** Somebody has just changed it: so many milliseconds until it is put right. */
  rest?: number;
}

export class ChildKeeper {
  readonly #options: ChildKeeperOptions;
  /** By kind and key of the child. */
  readonly #settled = new Map<string, Settled>();

  constructor(options: ChildKeeperOptions) {
    this.#options = options;
  }

  /** What stands where a child belongs, whosever it is. @throws KubernetesError */
  find({ kind, metadata }: ChildManifest): Promise<KubernetesObject | undefined> | KubernetesObject {
    const { children } = this.#options;
    return children.store(kind).get(keyOf({ metadata })) ?? children.read(kind, metadata.namespace, metadata.name);
  }

  /**
   * @param found what is there
   * @throws KubernetesError when the API server refuses it or is away
   */
  async keep(manifest: ChildManifest, found: KubernetesObject | undefined): Promise<Kept> {
    const need = found === undefined ? 'now' : this.#need(manifest, found);
    if (found === undefined || need === 'now') return { child: await this.#apply(manifest, found) };
    return need === 'none' ? { child: found } : { child: found, rest: need };
  }

  /**
   * Takes away what the operator made for a gateway and nobody wants any more. What others made is left alone.
   * @param unwanted the kinds of which it is to have none
   * @throws KubernetesError when the API server refuses it or is away
   */
  async takeAway(gateway: KubernetesObject, unwanted: readonly ChildKind[]): Promise<void> {
    const { children, log } = this.#options;
    const key = keyOf(gateway);
    for (const kind of unwanted) {
      const child = children.store(kind).get(key) ?? (await this.#unseen(kind, gateway));
      const isIts = child?.metadata.controller?.uid === gateway.metadata.uid;
      if (child !== undefined && isIts && child.metadata.deletionTimestamp === undefined) {
        await children.remove(child);
        log.info({ gateway: key, kind }, 'taken away');
      }
      this.#settled.delete(identity(kind, key));
    }
  }

  /** The gateway is gone, and its children go with it. */
  forget(gateway: ObjectKey): void {
    for (const kind of childKinds) this.#settled.delete(identity(kind, gateway));
  }

  /** What was written and has not been seen by the watch yet, or no more. */
  async #unseen(kind: ChildKind, gateway: KubernetesObject): Promise<KubernetesObject | undefined> {
    const { namespace, name } = gateway.metadata;
    return this.#settled.has(identity(kind, keyOf(gateway)))
      ? this.#options.children.read(kind, namespace, name)
      : undefined;
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

const identity = (kind: ChildKind, key: ObjectKey): string => `${kind} ${key}`;
const identityOf = ({ kind, metadata }: ChildManifest): string => identity(kind, keyOf({ metadata }));

/** What the operator cares about in a child: its spec whole, and of its metadata what it wrote itself. */
function shapeOf(child: KubernetesObject, manifest: ChildManifest): object {
  const { metadata } = manifest;
  const own = (values: Readonly<Record<string, string>>, written: Record<string, string> = {}): object =>
    Object.fromEntries(Object.keys(written).map((key) => [key, values[key]]));
  const { uid, labels, annotations, controller } = child.metadata;
  return {
    uid,
    labels: own(labels, metadata.labels),
    annotations: own(annotations, metadata.annotations),
    controller,
    spec: leavesReplicas(manifest) ? { ...(child.spec as object), replicas: undefined } : child.spec,
  };
}
