// The Lease that says which of several operators leads, as it is read and written.
import { CoordinationV1Api, V1MicroTime } from '@kubernetes/client-node';
import type { Connection } from '../kubernetes/connection.ts';
import { isKind } from '../kubernetes/kubernetes-error.ts';

export interface LeaseRecord {
  /** Who leads; empty after a leader that said farewell. */
  holder: string;
  /** How long others wait after they saw it change, in milliseconds. */
  durationMilliseconds: number;
  /** Where the leader takes calls of servers, `host:port`; absent where it takes none. */
  address: string | undefined;
  /** How often the holder has changed. */
  transitions: number;
  /** When the holder became it. RFC 3339. */
  acquired: string | undefined;
}

export interface ReadLease extends LeaseRecord {
  resourceVersion: string;
}

/** The Lease as it is kept; its methods throw KubernetesError, `conflict` where somebody else was faster. */
export interface LeaseStore {
  /** Undefined where there is none. */
  read(): Promise<ReadLease | undefined>;
  create(record: LeaseRecord): Promise<ReadLease>;
  /** @param resourceVersion of the one that was read: another one since is a conflict */
  replace(record: LeaseRecord, resourceVersion: string): Promise<ReadLease>;
}

const addressAnnotation = 'lyceum.dev/address';

export function leaseStore(connection: Pick<Connection, 'configuration'>, namespace: string, name: string): LeaseStore {
  const api = new CoordinationV1Api(connection.configuration);
  const bodyOf = (record: LeaseRecord, resourceVersion?: string) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name,
      namespace,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(record.address === undefined ? {} : { annotations: { [addressAnnotation]: record.address } }),
    },
    spec: {
      holderIdentity: record.holder,
      leaseDurationSeconds: Math.ceil(record.durationMilliseconds / 1000),
      leaseTransitions: record.transitions,
      renewTime: new V1MicroTime(),
      ...(record.acquired === undefined ? {} : { acquireTime: new V1MicroTime(record.acquired) }),
    },
  });
  return {
    async read() {
      try {
        return recordOf(await api.readNamespacedLease({ namespace, name }));
      } catch (error) {
        if (isKind(error, 'notFound')) return undefined;
        throw error;
      }
    },
    create: async (record) => recordOf(await api.createNamespacedLease({ namespace, body: bodyOf(record) })),
    replace: async (record, resourceVersion) =>
      recordOf(await api.replaceNamespacedLease({ namespace, name, body: bodyOf(record, resourceVersion) })),
  };
}

type Lease = Awaited<ReturnType<CoordinationV1Api['readNamespacedLease']>>;

const recordOf = ({ metadata, spec }: Lease): ReadLease => ({
  holder: spec?.holderIdentity ?? '',
  durationMilliseconds: (spec?.leaseDurationSeconds ?? 0) * 1000,
  address: metadata?.annotations?.[addressAnnotation],
  transitions: spec?.leaseTransitions ?? 0,
  // client-node gives a string here, whatever its type says.
  acquired: spec?.acquireTime && new Date(spec.acquireTime).toISOString(),
  resourceVersion: metadata?.resourceVersion ?? '',
});
