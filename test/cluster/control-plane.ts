// A real Kubernetes control plane as one program: starts it, prints where it is as a line of JSON, ends with its stdin.
// Whoever starts this holds its stdin open; when that process ends, however it ends, everything started here ends too.
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Coordinates } from './coordinates.ts';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../..');
const startSeconds = 60;

/** What was started, and whether it leads a process group that must end with it. */
const running: { name: string; process: ChildProcess; group: boolean }[] = [];
const folder = await mkdtemp(join(tmpdir(), 'lyceum-cluster-'));

let ending: Promise<never> | undefined;

/** Ends the programs, the last started first, and removes the folder; then this program ends. */
function end(code: number): Promise<never> {
  ending ??= (async () => {
    const ended = running.reverse().map(({ process: child, group }) => {
      if (child.pid === undefined || hasEnded(child)) return undefined;
      const exit = once(child, 'exit');
      // Nothing here outlives the tests, so nothing is worth a slow farewell.
      process.kill(group ? -child.pid : child.pid, 'SIGKILL');
      return exit;
    });
    await Promise.all(ended);
    await rm(folder, { recursive: true, force: true });
    process.exit(code);
  })();
  return ending;
}

/** Starts a program, unless all is ending. */
function launch(name: string, program: string, args: string[], options: SpawnOptions): ChildProcess {
  if (ending) throw new Error('ending');
  const child = spawn(program, args, options);
  running.push({ name, process: child, group: options.detached ?? false });
  return child;
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

/** Builds the programs where they are missing, which may take minutes. @returns their folder */
async function programs(): Promise<string> {
  const program = join(import.meta.dirname, 'build.sh');
  const build = launch('build.sh', program, [], { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const printed = text(build.stdout!);
  const [code] = await once(build, 'close');
  running.pop();
  if (code !== 0) throw new Error('The control plane for the tests cannot be started: its programs are not there.');
  return (await printed).trim();
}

async function start(name: string, program: string, args: string[]): Promise<void> {
  const log = await open(join(folder, `${name}.log`), 'w');
  try {
    launch(name, program, args, { cwd: folder, stdio: ['ignore', log.fd, log.fd] });
  } finally {
    await log.close();
  }
}

/** Waits until the check passes. @throws when a program ends meanwhile, or after `startSeconds`, with the end of its log */
async function ready(name: string, check: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + startSeconds * 1000;
  for (;;) {
    try {
      await check();
      return;
    } catch {}
    const dead = running.find(({ process: child }) => hasEnded(child));
    if (dead || Date.now() > deadline) {
      const log = await readFile(join(folder, `${dead?.name ?? name}.log`), 'utf8');
      const what = dead ? `${dead.name} has ended` : `${name} is not ready after ${startSeconds} s`;
      throw new Error(`${what}; the end of its log:\n${log.slice(-2000)}`);
    }
    await pause(50);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return (address as { port: number }).port;
}

async function certificates(): Promise<void> {
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
    '-days',
    '30',
    '-subj',
    '/CN=lyceum-test',
  );
  await openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-out', 'accounts.key');
  await openssl('pkey', '-in', 'accounts.key', '-pubout', '-out', 'accounts.pub');
  await openssl('req', ...key, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=kube-apiserver');
  const names = 'DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1';
  await writeFile(join(folder, 'server.extensions'), `subjectAltName=${names}\nextendedKeyUsage=serverAuth\n`);
  const signing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '30'];
  await openssl('x509', '-req', '-in', 'server.csr', ...signing, '-out', 'server.crt', '-extfile', 'server.extensions');
}

/** A kubeconfig for a bearer token. */
async function kubeconfig(name: string, server: string, token: string): Promise<string> {
  const path = join(folder, `${name}.kubeconfig`);
  const cluster = { server, 'certificate-authority': join(folder, 'ca.crt') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: name } }],
    clusters: [{ name: 'test', cluster }],
    users: [{ name, user: { token } }],
  };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

type Kubectl = (...args: string[]) => Promise<unknown>;

/** An envtest folder has no kube-controller-manager: what needs one (garbage collection) is not tested then. */
async function startControllers(bin: string, url: string, token: string, kubectl: Kubectl): Promise<void> {
  const program = join(bin, 'kube-controller-manager');
  if (!existsSync(program)) return;
  const config = await kubeconfig('controllers', url, token);
  await start('kube-controller-manager', program, [
    ...[`--kubeconfig=${config}`, '--leader-elect=false', '--secure-port=0', '--use-service-account-credentials=true'],
    ...['--service-account-private-key-file=accounts.key', '--root-ca-file=ca.crt'],
  ]);
  await ready('kube-controller-manager', () => kubectl('get', 'serviceaccount', 'default'));
}

async function installCrds(kubectl: Kubectl): Promise<void> {
  const crds = join(repository, 'crds');
  await kubectl('apply', '--server-side', '-f', crds);
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', '-f', crds);
}

async function startAll(bin: string): Promise<Coordinates> {
  await certificates();
  const [admin, controllers] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')];
  const tokens = `${admin},admin,admin,system:masters\n${controllers},system:kube-controller-manager,controllers\n`;
  await writeFile(join(folder, 'tokens.csv'), tokens, { mode: 0o600 });

  const etcd = `unix://${join(folder, 'etcd.sock')}`;
  await start('etcd', join(bin, 'etcd'), [
    ...['--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync'],
    ...['--listen-peer-urls', 'http://127.0.0.1:0', '--listen-client-urls', etcd, '--advertise-client-urls', etcd],
  ]);
  const port = await freePort();
  await start('kube-apiserver', join(bin, 'kube-apiserver'), [
    ...[`--etcd-servers=${etcd}`, '--bind-address=127.0.0.1', `--secure-port=${port}`],
    ...['--advertise-address=127.0.0.1', '--endpoint-reconciler-type=none', '--service-cluster-ip-range=10.96.0.0/16'],
    ...['--tls-cert-file=server.crt', '--tls-private-key-file=server.key', '--token-auth-file=tokens.csv'],
    ...['--authorization-mode=RBAC', '--service-account-issuer=https://kubernetes.default.svc.cluster.local'],
    ...['--service-account-key-file=accounts.pub', '--service-account-signing-key-file=accounts.key'],
  ]);
  const url = `https://127.0.0.1:${port}`;
  const adminConfig = await kubeconfig('admin', url, admin);
  const kubectl = (...args: string[]) => run(join(bin, 'kubectl'), ['--kubeconfig', adminConfig, ...args]);
  await ready('kube-apiserver', () => kubectl('get', '--raw', '/readyz'));

  await Promise.all([startControllers(bin, url, controllers, kubectl), installCrds(kubectl)]);
  return { url, bin, folder, ca: join(folder, 'ca.crt'), kubeconfig: adminConfig };
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end(1));
process.stdin.on('end', () => void end(0)).on('error', () => void end(0));
process.stdin.resume();
try {
  process.stdout.write(`${JSON.stringify(await startAll(await programs()))}\n`);
} catch (fault) {
  process.stderr.write(`${(fault as Error).message}\n`);
  await end(1);
}
