// What a failed story prints: how everything stood, and what the pods said.
import { afterEach } from 'node:test';
import { cluster } from './pods.ts';

const looks = [
  ['get', 'skillsources,skillgateways,all,persistentvolumeclaims', '-A', '-o', 'wide'],
  ['get', 'skillsources,skillgateways', '-A', '-o', 'yaml'],
  ['get', 'events', '-A', '--sort-by=.metadata.creationTimestamp'],
];

async function print(args: readonly string[]): Promise<void> {
  const { stdout, stderr } = await cluster.tryKubectl(args);
  console.error(`$ kubectl ${args.join(' ')}\n${(stdout + stderr).trimEnd()}\n`);
}

async function printEverything(): Promise<void> {
  for (const look of looks) await print(look);
  const names = '{range .items[*]}{.metadata.namespace} {.metadata.name}{"\\n"}{end}';
  const all = await cluster.kubectl(['get', 'pods', '-A', '-o', `jsonpath=${names}`]);
  for (const line of all.trim().split('\n')) {
    const [namespace, pod] = line.split(' ') as [string, string];
    const logs = ['logs', '-n', namespace, pod, '--all-containers', '--prefix', '--tail=100'];
    await print(logs);
    await print([...logs, '--previous']);
  }
}

let reported = false;

/** Has the first test of a file that fails print everything. */
export function reportFailures(): void {
  afterEach(async (context) => {
    if (reported || (context as unknown as { passed: boolean }).passed) return;
    reported = true;
    await printEverything();
  });
}
