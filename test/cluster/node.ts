// A real Kubernetes node with real pods as one program: starts it, prints where it is as a line of JSON, ends with its stdin.
// The node stands in namespaces of its own for processes, mounts and network, so that the kernel ends every process of it,
// in pods too, with its first one, and nothing of it is to be seen outside.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import type { NodeCoordinates, NodePrograms } from './coordinates.ts';
import type { InsideOptions } from './node-inside.ts';
import { endWithStandardInput, Programs } from './programs.ts';
import { demandTools, nodeTools } from './tools.ts';

const cgroups = '/sys/fs/cgroup';

const programs = new Programs(await mkdtemp(join(tmpdir(), 'lyceum-node-')));
const { folder } = programs;
const cgroup = basename(folder);
let node: ChildProcess | undefined;

/** Ends the node and removes what it leaves: its cgroups and its folder. */
async function end(code: number): Promise<void> {
  await programs.end();
  if (node !== undefined) await endNode(node);
  for (const path of await cgroupFolders()) await removeCgroup(path);
  await rm(folder, { recursive: true, force: true });
  process.exit(code);
}

async function endNode(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.stdin!.end();
  const insist = setTimeout(() => child.kill('SIGKILL'), 5000);
  await exit;
  clearTimeout(insist);
}

/** The node's folder in each hierarchy of cgroups: one of version 2, several of version 1. */
async function cgroupFolders(): Promise<string[]> {
  if (existsSync(join(cgroups, 'cgroup.controllers'))) return [join(cgroups, cgroup)];
  const hierarchies = await readdir(cgroups, { withFileTypes: true });
  return hierarchies
    .filter((entry) => entry.isDirectory() && existsSync(join(cgroups, entry.name, 'cgroup.procs')))
    .map(({ name }) => join(cgroups, name, cgroup));
}

/** Cgroups are removed from the inside out, a moment after their last process. */
async function removeCgroup(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeCgroup(join(path, entry.name));
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      return await rmdir(path);
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return;
      await pause(20);
    }
  }
}

/** @param unshare is in the namespaces of network and mounts itself, and its children in that of processes */
function entering(unshare: number): string[] {
  const namespaces = `/proc/${unshare}/ns`;
  return ['nsenter', `--net=${namespaces}/net`, `--mount=${namespaces}/mnt`, `--pid=${namespaces}/pid_for_children`];
}

async function startNode(): Promise<NodeCoordinates> {
  demandTools(nodeTools);
  const places = JSON.parse(await programs.build('node')) as NodePrograms;
  for (const path of await cgroupFolders()) await mkdir(path, { recursive: true });
  const options: InsideOptions = { folder, cgroup, programs: places };
  node = spawn(
    'unshare',
    [
      ...['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc', 'catatonit', '--'],
      ...[process.execPath, join(import.meta.dirname, 'node-inside.ts'), JSON.stringify(options)],
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const lines = createInterface({ input: node.stdout! });
  const [line] = (await Promise.race([once(lines, 'line'), once(lines, 'close')])) as [string?];
  if (line === undefined) throw new Error('The node did not start.');
  return { ...JSON.parse(line), enter: entering(node.pid!) };
}

endWithStandardInput(end);
try {
  process.stdout.write(`${JSON.stringify(await startNode())}\n`);
} catch (fault) {
  process.stderr.write(`${(fault as Error).message}\n`);
  await end(1);
}
