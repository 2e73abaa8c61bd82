// The kinds that the operator watches: where they live in the API, and what of an object is kept.
import type { KubernetesObject, ObjectMeta } from './cluster.ts';

export interface WatchedResource {
  apiVersion: string;
  kind: string;
  plural: string;
  /** Asks the server for metadata alone where the rest is not used: content that is not sent fills no memory. */
  content: 'whole' | 'metadata';
  /** Only objects with this label are listed and watched. */
  labelSelector?: string;
  /** A cluster may be without it: where it is not found, there is none of it. */
  optional?: true;
}

export const skillSources: WatchedResource = {
  apiVersion: 'lyceum.dev/v1alpha1',
  kind: 'SkillSource',
  plural: 'skillsources',
  content: 'whole',
};

export const skillGateways: WatchedResource = {
  apiVersion: 'lyceum.dev/v1alpha1',
  kind: 'SkillGateway',
  plural: 'skillgateways',
  content: 'whole',
};

export const configMaps: WatchedResource = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  content: 'metadata',
};

const ofTheOperator = 'app.kubernetes.io/managed-by=lyceum';

export const deployments: WatchedResource = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  plural: 'deployments',
  content: 'whole',
  labelSelector: ofTheOperator,
};

export const services: WatchedResource = {
  apiVersion: 'v1',
  kind: 'Service',
  plural: 'services',
  content: 'whole',
  labelSelector: ofTheOperator,
};

export const horizontalPodAutoscalers: WatchedResource = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  content: 'whole',
  labelSelector: ofTheOperator,
};

export const podDisruptionBudgets: WatchedResource = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  content: 'whole',
  labelSelector: ofTheOperator,
};

export const networkPolicies: WatchedResource = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  content: 'whole',
  labelSelector: ofTheOperator,
};

export const ingresses: WatchedResource = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  plural: 'ingresses',
  content: 'whole',
  labelSelector: ofTheOperator,
};

export const httpRoutes: WatchedResource = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  plural: 'httproutes',
  content: 'whole',
  labelSelector: ofTheOperator,
  optional: true,
};

/** Never listed or watched: single pods are read, to know who calls. */
export const pods: WatchedResource = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', content: 'metadata' };

/** In the place of a namespace: all of them, those that are made later too. As client-go has it. */
export const allNamespaces = '';

/** The path of a resource in a namespace or in all, from the server's root. */
export function collectionPath(resource: WatchedResource, namespace: string): string {
  const root = `${resource.apiVersion.includes('/') ? '/apis' : '/api'}/${resource.apiVersion}`;
  const within = namespace === allNamespaces ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${within}/${resource.plural}`;
}

/** What of a collection is asked for, in a list and in a watch. */
export const selectionOf = ({ labelSelector }: WatchedResource): Record<string, string> =>
  labelSelector === undefined ? {} : { labelSelector };

/** The Accept header of a list or a watch; a single object is asked for as a watch's are. */
export function acceptOf(resource: WatchedResource, verb: 'list' | 'watch' | 'get'): string {
  if (resource.content === 'whole') return 'application/json';
  const kind = verb === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata';
  return `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`;
}

/** kubectl keeps a copy of the whole object here; nobody else reads it. */
const droppedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * What is kept of an object as the API server sends it: managedFields, finalizers, owners but for the one that controls it,
 * and content that is not used are dropped. The result is frozen, so that no reconciler changes what another one sees.
 * @throws TypeError when it is no Kubernetes object
 */
export function trim(resource: WatchedResource, raw: unknown): KubernetesObject {
  if (!isRecord(raw) || !isRecord(raw.metadata)) throw new TypeError('an object without metadata');
  const { metadata } = raw;
  const generation = metadata.generation;
  const kept: ObjectMeta = {
    namespace: text(metadata, 'namespace'),
    name: text(metadata, 'name'),
    uid: text(metadata, 'uid'),
    generation: typeof generation === 'number' ? generation : 0,
    resourceVersion: text(metadata, 'resourceVersion'),
    creationTimestamp: text(metadata, 'creationTimestamp'),
    ...(typeof metadata.deletionTimestamp === 'string' ? { deletionTimestamp: metadata.deletionTimestamp } : {}),
    labels: strings(metadata.labels),
    annotations: strings(metadata.annotations),
    ...controllerOf(metadata.ownerReferences),
  };
  const whole = resource.content === 'whole';
  return deepFreeze({
    apiVersion: resource.apiVersion,
    kind: resource.kind,
    metadata: kept,
    ...(whole && raw.spec !== undefined ? { spec: raw.spec } : {}),
    ...(whole && raw.status !== undefined ? { status: raw.status } : {}),
  });
}

function text(metadata: Record<string, unknown>, field: string): string {
  const value = metadata[field];
  if (typeof value !== 'string') throw new TypeError(`an object without metadata.${field}`);
  return value;
}

function controllerOf(owners: unknown): Pick<ObjectMeta, 'controller'> {
  const controller = (Array.isArray(owners) ? owners : []).find(
    (owner) => isRecord(owner) && owner.controller === true,
  );
  if (controller === undefined) return {};
  return { controller: { kind: String(controller.kind), name: String(controller.name), uid: String(controller.uid) } };
}

function strings(value: unknown): Record<string, string> {
  const kept: Record<string, string> = {};
  if (!isRecord(value)) return kept;
  for (const [name, entry] of Object.entries(value)) {
    if (typeof entry === 'string' && name !== droppedAnnotation) kept[name] = entry;
  }
  return kept;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
