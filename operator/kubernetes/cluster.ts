// What the reconcilers need of Kubernetes. Two things give it: an API server, and a folder of manifests on a laptop.

/** An object as the API server sends it: metadata trimmed to what is used, spec and status unparsed, all frozen. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: unknown;
  status?: unknown;
}

export interface ObjectMeta {
  namespace: string;
  name: string;
  uid: string;
  generation: number;
  resourceVersion: string;
  /** RFC 3339. */
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  /** The owner that controls it. */
  controller?: Readonly<{ kind: string; name: string; uid: string }>;
}

/** `namespace/name`. */
export type ObjectKey = string;
export const keyOf = (object: { metadata: { namespace: string; name: string } }): ObjectKey =>
  `${object.metadata.namespace}/${object.metadata.name}`;

/** A watched kind: the last known state of every object, and who wants to hear of changes. */
export interface Store {
  get(key: ObjectKey): KubernetesObject | undefined;
  list(): KubernetesObject[];
  /** True once the first list has arrived whole. */
  readonly synced: boolean;
  /** Listeners hear keys only, after the store has the new state; a deleted object's key too. They must not throw. */
  onChange(listener: (key: ObjectKey) => void): void;
}

export interface EventRecord {
  type: 'Normal' | 'Warning';
  /** UpperCamelCase. */
  reason: string;
  /** What was being done, UpperCamelCase: `Fetch`, `Publish`. */
  action: string;
  /** At most 1 kB. */
  note: string;
}

/** A ConfigMap's content and what identifies it. */
export interface ConfigMapContent {
  data: ReadonlyMap<string, Buffer>;
  annotations: Readonly<Record<string, string>>;
}

export interface SecretContent {
  data: ReadonlyMap<string, Buffer>;
  /** Moves when the Secret changes. */
  resourceVersion: string;
}

/** The kinds of objects that gateways have made. Each child has the name of its gateway. */
export const childKinds = [
  'Deployment',
  'Service',
  'HorizontalPodAutoscaler',
  'PodDisruptionBudget',
  'NetworkPolicy',
  'Ingress',
  'HTTPRoute',
] as const;
export type ChildKind = (typeof childKinds)[number];

/** An object that the operator renders for a gateway, as it is applied. */
export interface ChildManifest {
  apiVersion: string;
  kind: ChildKind;
  metadata: {
    namespace: string;
    name: string;
    labels: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences: { apiVersion: string; kind: string; name: string; uid: string; controller: true }[];
  };
  spec: Record<string, unknown>;
}

/** Whether a manifest leaves it to an autoscaler how many pods there are. */
export const leavesReplicas = ({ kind, spec }: ChildManifest): boolean =>
  kind === 'Deployment' && spec.replicas === undefined;

/** The objects that gateways have made, by kind. */
export interface Children {
  /** Those that carry the operator's label. */
  store(kind: ChildKind): Store;
  /** What stands there now, whosever it is. */
  read(kind: ChildKind, namespace: string, name: string): Promise<KubernetesObject | undefined>;
  /**
   * Server-side apply under the operator's one field manager. What others wrote into the spec is taken out again, but for
   * annotations of pods.
   * @param found what is there, as it was read; absent: nothing is, and what appears meanwhile is left alone
   * @returns the object as it is now
   */
  apply(manifest: ChildManifest, found: KubernetesObject | undefined): Promise<KubernetesObject>;
  /** Listeners hear when the API server begins or ceases to serve a kind that a cluster may be without. They must not throw. */
  onServed(listener: () => void): void;
  /** Deletes a child, and never a namesake that has taken its place. One that is gone already is no fault. */
  remove(child: KubernetesObject): Promise<void>;
}

export interface Cluster {
  readonly sources: Store;
  readonly gateways: Store;
  /** ConfigMaps without their data: told so that a change is noticed at once. */
  readonly configMaps: Store;
  /** Absent where the operator starts no servers. */
  readonly children?: Children | undefined;
  /** Whether the stores hold what there is in a namespace: of others nothing can be said to be gone. */
  covers(namespace: string): boolean;
  /** Starts list and watch; resolves when the signal aborts and everything has ended. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when all stores have synced. */
  synced(signal: AbortSignal): Promise<void>;
  readSecret(namespace: string, name: string): Promise<SecretContent | undefined>;
  readConfigMap(namespace: string, name: string): Promise<ConfigMapContent | undefined>;
  /** Server-side apply of the whole status under the operator's one field manager. */
  applyStatus(object: KubernetesObject, status: Record<string, unknown>): Promise<void>;
  /** Never fails a reconcile: what cannot be recorded is logged and dropped. */
  recordEvent(object: KubernetesObject, event: EventRecord): void;
}
