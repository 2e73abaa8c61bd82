// The last known state of every object of one kind, in all watched namespaces, and who hears of changes.
import type { Logger } from 'pino';
import { type KubernetesObject, keyOf, type ObjectKey, type Store } from './cluster.ts';
import { allNamespaces } from './watched-resource.ts';

export class ObjectStore implements Store {
  /** Resolves when the first list of every namespace has arrived whole. */
  readonly whenSynced: Promise<void>;
  readonly #log: Logger;
  /** By the namespace of its list and watch, which may be all of them. */
  readonly #byNamespace = new Map<string, Map<ObjectKey, KubernetesObject>>();
  readonly #listeners: ((key: ObjectKey) => void)[] = [];
  readonly #awaited: Set<string>;
  readonly #tellSynced: () => void;

  constructor(namespaces: readonly string[], log: Logger) {
    this.#log = log;
    this.#awaited = new Set(namespaces);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.whenSynced = promise;
    this.#tellSynced = resolve;
    if (this.#awaited.size === 0) resolve();
  }

  get synced(): boolean {
    return this.#awaited.size === 0;
  }

  get(key: ObjectKey): KubernetesObject | undefined {
    const objects = this.#byNamespace.get(allNamespaces) ?? this.#byNamespace.get(key.slice(0, key.indexOf('/')));
    return objects?.get(key);
  }

  list(): KubernetesObject[] {
    return [...this.#byNamespace.values()].flatMap((objects) => [...objects.values()]);
  }

  onChange(listener: (key: ObjectKey) => void): void {
    this.#listeners.push(listener);
  }

  /** A whole list of a namespace: swapped in at once; what is not in it any more is gone. */
  replace(namespace: string, objects: readonly KubernetesObject[]): void {
    const before = this.#byNamespace.get(namespace) ?? new Map<ObjectKey, KubernetesObject>();
    const after = new Map(objects.map((object) => [keyOf(object), object]));
    this.#byNamespace.set(namespace, after);
    if (this.#awaited.delete(namespace) && this.synced) this.#tellSynced();
    for (const [key, object] of after) if (!isSame(before.get(key), object)) this.#tell(key);
    for (const key of before.keys()) if (!after.has(key)) this.#tell(key);
  }

  /** An object that was added or changed. */
  put(namespace: string, object: KubernetesObject): void {
    const objects = this.#byNamespace.get(namespace);
    const key = keyOf(object);
    if (objects === undefined || isSame(objects.get(key), object)) return;
    objects.set(key, object);
    this.#tell(key);
  }

  remove(namespace: string, key: ObjectKey): void {
    if (this.#byNamespace.get(namespace)?.delete(key)) this.#tell(key);
  }

  #tell(key: ObjectKey): void {
    for (const listener of this.#listeners) {
      try {
        listener(key);
      } catch (error) {
        this.#log.error({ err: error, key }, 'a listener for changes failed');
      }
    }
  }
}

/** Resource versions are opaque but for equality: the same one of the same object is the same state. */
const isSame = (before: KubernetesObject | undefined, after: KubernetesObject): boolean =>
  before !== undefined &&
  before.metadata.uid === after.metadata.uid &&
  before.metadata.resourceVersion === after.metadata.resourceVersion;
