// Makes the connection to Kubernetes from flags: credentials, namespaces, stores, metrics, and what readiness asks.
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { PodSettings } from '../../operator/gateway/children/pod-settings.ts';
import { ApiServerCluster, connectionsFor } from '../../operator/kubernetes/api-server-cluster.ts';
import { Connection } from '../../operator/kubernetes/connection.ts';
import { loadKubeConfig } from '../../operator/kubernetes/credentials.ts';
import { allNamespaces as everyNamespace } from '../../operator/kubernetes/watched-resource.ts';
import { type OperatorMetrics, operatorMetrics } from '../../operator/metrics.ts';
import type { GuardOptions } from '../../upstream/guard/client.ts';

export interface ConnectFlags {
  kubeconfig: string | undefined;
  /** Those to watch; none: the own one. */
  namespaces: readonly string[] | undefined;
  /** Whether all are watched, whatever `namespaces` says. */
  allNamespaces?: boolean | undefined;
  /** What pods of gateways are made of, by the namespace that the operator runs in; nothing: it starts none. */
  pods(ownNamespace: string): PodSettings | undefined;
  log: Logger;
}

export interface Connected {
  connection: Connection;
  /** A connection of its own for the Lease, so that nothing else can hold up its renewal. */
  leaseConnection: Connection;
  /** The namespace that the operator runs in. */
  ownNamespace: string;
  cluster: ApiServerCluster;
  metrics: OperatorMetrics;
  registry: Registry;
  /** Those that are watched, or `allNamespaces` alone. */
  namespaces: readonly string[];
  pods: PodSettings | undefined;
  /** The API server, which no source may reach. */
  apiServer: NonNullable<GuardOptions['apiServer']>;
  /** Why the operator is not ready, or nothing. */
  unready(): string | undefined;
  close(): Promise<void>;
}

/** Two of them, and the pauses before, end within the time in which a leader must have renewed. */
const leaseCallMilliseconds = 4_000;

/**
 * @throws KubernetesError unauthorized when there is no usable configuration
 * @throws Error when the options on pods contradict each other
 */
export function connect({ kubeconfig, namespaces: named, allNamespaces, pods: podsIn, log }: ConnectFlags): Connected {
  const namespaces = allNamespaces ? [everyNamespace] : [...new Set(named)];
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = operatorMetrics(registry);
  const connection = new Connection({
    load: () => loadKubeConfig(kubeconfig),
    connections: connectionsFor(Math.max(1, namespaces.length), Math.max(1, namespaces.length)),
    requested: metrics.requested,
  });
  const leaseConnection = new Connection({
    load: () => loadKubeConfig(kubeconfig),
    connections: 1,
    requested: metrics.requested,
    callMilliseconds: leaseCallMilliseconds,
  });
  const own = connection.namespace ?? 'default';
  const watched = namespaces.length > 0 ? namespaces : [own];
  const pods = podsIn(own);
  const cluster = new ApiServerCluster({
    connection,
    namespaces: watched,
    childNamespaces: pods && childNamespacesOf(pods, watched, allNamespaces),
    instance: hostname(),
    metrics: metrics.watches,
    log,
  });
  return {
    connection,
    leaseConnection,
    ownNamespace: own,
    cluster,
    metrics,
    registry,
    namespaces: watched,
    pods,
    apiServer: apiServerOf(connection.host),
    unready: () => unreadyReason(cluster),
    close: async () => {
      await Promise.all([connection.close(), leaseConnection.close()]);
    },
  };
}

/** Where no pod can mount the volume, and none may copy it, there is nothing to watch. */
function childNamespacesOf(pods: PodSettings, watched: readonly string[], all: boolean | undefined): readonly string[] {
  if (pods.sync !== undefined) return watched;
  return all || watched.includes(pods.namespace) ? [pods.namespace] : [];
}

/** The address of the kubeconfig, and in a pod the Service's as well. */
function apiServerOf(host: string): NonNullable<GuardOptions['apiServer']> {
  const { hostname: name, port } = new URL(`https://${host}`);
  const service = process.env.KUBERNETES_SERVICE_HOST;
  return {
    addresses: [name.replace(/^\[|\]$/g, ''), ...(service === undefined ? [] : [service])],
    port: port === '' ? 443 : Number(port),
  };
}

function unreadyReason(cluster: ApiServerCluster): string | undefined {
  const waiting = cluster.state().find(({ synced }) => !synced);
  if (waiting === undefined) return undefined;
  const { resource, namespace, problem } = waiting;
  const where = namespace === everyNamespace ? 'in all namespaces' : `in namespace ${namespace}`;
  return `${resource} ${where} not listed yet${problem === undefined ? '' : `: ${problem.message}`}`;
}
