// A real Kubernetes control plane as one program: starts it, prints where it is as a line of JSON, ends with its stdin.
// With `--audit` it keeps what ServiceAccounts ask of it in audit.log of its folder, a line of JSON each.
// A line `kill etcd` or `restart etcd` on its stdin does that to one of its programs, and is answered by a line when it is done.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Coordinates } from './coordinates.ts';
import { startKubernetes } from './kubernetes.ts';
import { endWithStandardInput, Programs } from './programs.ts';

const crds = join(import.meta.dirname, '../../crds');

const programs = new Programs(await mkdtemp(join(tmpdir(), 'lyceum-cluster-')));

/** Ends the programs and removes the folder; then this program ends. */
async function end(code: number): Promise<void> {
  await programs.end();
  await rm(programs.folder, { recursive: true, force: true });
  process.exit(code);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return (address as { port: number }).port;
}

/** Arguments of an API server that keeps what ServiceAccounts ask of it. */
async function auditing(): Promise<string[]> {
  const policy = join(programs.folder, 'audit-policy.json');
  const rules = [{ level: 'Metadata', userGroups: ['system:serviceaccounts'] }, { level: 'None' }];
  await writeFile(
    policy,
    JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules }),
  );
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${join(programs.folder, 'audit.log')}`];
}

async function startAll(): Promise<Coordinates> {
  const bin = await programs.build();
  const { url, folder, ca, kubeconfig } = await startKubernetes(programs, {
    bin,
    address: '127.0.0.1',
    port: await freePort(),
    authorization: 'RBAC',
    arguments: ['--endpoint-reconciler-type=none', ...(process.argv.includes('--audit') ? await auditing() : [])],
    definitions: crds,
  });
  return { url, bin, folder, ca, kubeconfig };
}

endWithStandardInput(end);
try {
  process.stdout.write(`${JSON.stringify(await startAll())}\n`);
  for await (const line of createInterface({ input: process.stdin })) {
    const [verb, name = ''] = line.split(' ');
    await (verb === 'kill' ? programs.kill(name) : programs.restart(name));
    process.stdout.write(`${line}\n`);
  }
} catch (fault) {
  process.stderr.write(`${(fault as Error).message}\n`);
  await end(1);
}
