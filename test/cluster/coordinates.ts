// Where a running control plane is: what its program prints, and what the test runner hands to every test file.

export interface Coordinates {
  /** `https://127.0.0.1:<port>` */
  url: string;
  /** The folder of kubectl and the other programs. */
  bin: string;
  /** The control plane's own folder: logs (`kube-apiserver.log` and so on), keys, kubeconfigs. Removed at its end. */
  folder: string;
  /** Path of the certificate that the API server's own is signed with. */
  ca: string;
  /** Path of a kubeconfig that may do everything. */
  kubeconfig: string;
}

/** The environment variable that holds the coordinates, as JSON, of a control plane that the whole suite shares. */
export const coordinatesVariable = 'LYCEUM_TEST_CLUSTER';
