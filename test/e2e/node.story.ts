// Nothing that the node starts outlives it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import type { NodeCoordinates } from '../cluster/coordinates.ts';
import { eventually } from '../fixtures/eventually.ts';

const starter = `
  import { startHeld } from '${new URL('../cluster/held.ts', import.meta.url)}';
  console.log(JSON.stringify((await startHeld('node.ts')).coordinates));
  setInterval(() => {}, 1000);
`;

/** Command lines of processes that name a folder. */
const processesOf = (folder: string): string[] =>
  readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ');
      return command.includes(folder) ? [command] : [];
    } catch {
      return [];
    }
  });

it('a node ends with the process that holds it, even when that is killed', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', starter], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const { folder }: NodeCoordinates = JSON.parse(line);
    const cgroups = () => globSync(`/sys/fs/cgroup/{,*/}${basename(folder)}`);
    assert.ok(processesOf(folder).length >= 5);
    assert.notDeepEqual(cgroups(), []);
    child.kill('SIGKILL');
    await eventually(
      'its processes, its cgroups and its folder are gone',
      () => [...processesOf(folder), ...cgroups(), ...(existsSync(folder) ? [folder] : [])],
      (left) => left.length === 0,
    );
  } finally {
    child.kill('SIGKILL');
  }
});
