// Where a running cluster is: what its program prints, and what the test runner hands to every test file.

export interface Coordinates {
  /** `https://<address>:<port>` */
  url: string;
  /** The folder of kubectl and the other programs. */
  bin: string;
  /** The cluster's own folder: logs (`kube-apiserver.log` and so on), keys, kubeconfigs. Removed at its end. */
  folder: string;
  /** Path of the certificate that the API server's own is signed with. */
  ca: string;
  /** Path of a kubeconfig that may do everything. */
  kubeconfig: string;
}

/** The environment variable that holds the coordinates, as JSON, of a cluster that the whole suite shares. */
export const coordinatesVariable = 'LYCEUM_TEST_CLUSTER';

/** What `build.sh node` prints. */
export interface NodePrograms {
  bin: string;
  containerd: string;
  runc: string;
  cni: string;
  coredns: string;
  helm4: string;
  helm3: string;
}

/** A whole node. All of it stands in namespaces of its own: nothing outside of them reaches it. */
export interface NodeCoordinates extends Coordinates {
  programs: NodePrograms;
  /** The node's address, where pods reach what listens in its network namespace. */
  address: string;
  /** The socket of containerd. */
  containerd: string;
  /** The command by which another one is run inside of the node's namespaces; it ends with the node. */
  enter: string[];
}
