// A Kubernetes API: certificates, etcd, kube-apiserver and, where it is there, kube-controller-manager.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Coordinates } from './coordinates.ts';
import type { Programs } from './programs.ts';

const run = promisify(execFile);

/** Is written to `<name>.crt`, its key to `<name>.key`. */
export interface Certificate {
  name: string;
  /** As openssl writes it: `/O=system:nodes/CN=x`. */
  subject: string;
  /** Lines as openssl has them. */
  extensions: string;
}

export interface KubernetesOptions {
  /** The folder of the programs. */
  bin: string;
  /** Where the API server listens, and what it tells others to come to. */
  address: string;
  port: number;
  /** Further names and addresses that its certificate is for, as openssl writes them: `IP:10.96.0.1`. */
  alternativeNames?: readonly string[];
  /** Further users: the name of their kubeconfig, user and group. */
  users?: readonly { name: string; user: string; group: string }[];
  /** Further certificates, signed with the cluster's own before its API server starts. */
  certificates?: readonly Certificate[];
  authorization: 'RBAC' | 'Node,RBAC';
  arguments: readonly string[];
  /** A folder of CustomResourceDefinitions that are there before the controllers: these hear of later ones after 30 s. */
  definitions?: string;
}

export interface Kubernetes extends Coordinates {
  kubectl(...args: string[]): Promise<unknown>;
  /** Path of a further user's kubeconfig. */
  kubeconfigOf(name: string): string;
}

/** Starts all in the folder of `programs`; done when the API server is ready and the default ServiceAccount there. */
export async function startKubernetes(programs: Programs, options: KubernetesOptions): Promise<Kubernetes> {
  const { folder } = programs;
  const { bin, address, port } = options;
  await makeAuthority(folder);
  const names = ['DNS:localhost', 'DNS:kubernetes.default.svc', `IP:${address}`, ...(options.alternativeNames ?? [])];
  const extensions = `subjectAltName=${names.join()}\nextendedKeyUsage=serverAuth`;
  const own = { name: 'server', subject: '/CN=kube-apiserver', extensions };
  for (const certificate of [own, ...(options.certificates ?? [])]) await sign(folder, certificate);
  const users = [
    { name: 'admin', user: 'admin', group: 'system:masters' },
    { name: 'controllers', user: 'system:kube-controller-manager', group: '' },
    ...(options.users ?? []),
  ].map((user) => ({ ...user, token: randomBytes(16).toString('hex') }));
  const tokens = users.map(({ token, user, name, group }) => `${token},${user},${name}${group && `,${group}`}\n`);
  await writeFile(join(folder, 'tokens.csv'), tokens.join(''), { mode: 0o600 });
  const url = `https://${address}:${port}`;
  for (const { name, token } of users) await writeKubeconfig(folder, name, url, token);

  const etcd = `unix://${join(folder, 'etcd.sock')}`;
  await programs.start('etcd', join(bin, 'etcd'), [
    ...['--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync'],
    ...['--listen-peer-urls', 'http://127.0.0.1:0', '--listen-client-urls', etcd, '--advertise-client-urls', etcd],
  ]);
  await programs.start('kube-apiserver', join(bin, 'kube-apiserver'), [
    ...[`--etcd-servers=${etcd}`, `--bind-address=${address}`, `--secure-port=${port}`],
    ...[`--advertise-address=${address}`, '--service-cluster-ip-range=10.96.0.0/16'],
    ...['--tls-cert-file=server.crt', '--tls-private-key-file=server.key', '--token-auth-file=tokens.csv'],
    `--authorization-mode=${options.authorization}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    ...['--service-account-key-file=accounts.pub', '--service-account-signing-key-file=accounts.key'],
    ...options.arguments,
  ]);
  const kubeconfigOf = (name: string) => join(folder, `${name}.kubeconfig`);
  const kubectl = (...args: string[]) => run(join(bin, 'kubectl'), ['--kubeconfig', kubeconfigOf('admin'), ...args]);
  await programs.ready('kube-apiserver', () => kubectl('get', '--raw', '/readyz'));
  if (options.definitions !== undefined) await define(options.definitions, kubectl);
  await startControllers(programs, join(bin, 'kube-controller-manager'), kubeconfigOf('controllers'), kubectl);
  return { url, bin, folder, ca: join(folder, 'ca.crt'), kubeconfig: kubeconfigOf('admin'), kubectl, kubeconfigOf };
}

async function define(folder: string, kubectl: Kubernetes['kubectl']): Promise<void> {
  await kubectl('apply', '--server-side', '-f', folder);
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', '-f', folder);
}

/** An envtest folder has no kube-controller-manager: what needs one (garbage collection) is not tested then. */
async function startControllers(
  programs: Programs,
  program: string,
  config: string,
  kubectl: Kubernetes['kubectl'],
): Promise<void> {
  if (!existsSync(program)) return;
  await programs.start('kube-controller-manager', program, [
    ...[`--kubeconfig=${config}`, '--leader-elect=false', '--secure-port=0', '--use-service-account-credentials=true'],
    ...['--service-account-private-key-file=accounts.key', '--root-ca-file=ca.crt'],
  ]);
  await programs.ready('kube-controller-manager', () => kubectl('get', 'serviceaccount', 'default'));
}

const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

async function makeAuthority(folder: string): Promise<void> {
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder });
  const files = ['-keyout', 'ca.key', '-out', 'ca.crt'];
  await openssl('req', '-x509', ...key, ...files, '-days', '30', '-subj', '/CN=lyceum-test');
  await openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-out', 'accounts.key');
  await openssl('pkey', '-in', 'accounts.key', '-pubout', '-out', 'accounts.pub');
}

async function sign(folder: string, { name, subject, extensions }: Certificate): Promise<void> {
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder });
  await openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject);
  await writeFile(join(folder, `${name}.extensions`), `${extensions}\n`);
  const signing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '30'];
  const files = ['-in', `${name}.csr`, '-out', `${name}.crt`, '-extfile', `${name}.extensions`];
  await openssl('x509', '-req', ...files, ...signing);
}

/** A kubeconfig for a bearer token. */
async function writeKubeconfig(folder: string, name: string, server: string, token: string): Promise<void> {
  const cluster = { server, 'certificate-authority': join(folder, 'ca.crt') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: name } }],
    clusters: [{ name: 'test', cluster }],
    users: [{ name, user: { token } }],
  };
  await writeFile(join(folder, `${name}.kubeconfig`), JSON.stringify(config), { mode: 0o600 });
}
