// The stories of Lyceum's users on a real node with real pods: one node for all of them, and nothing left behind.
// Arguments, where given, stand for the story files: node test/e2e/run.ts test/e2e/sidecar.story.ts
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildAhead } from '../cluster/build-ahead.ts';
import { coordinatesVariable, type NodeCoordinates } from '../cluster/coordinates.ts';
import { startHeld } from '../cluster/held.ts';
import { demandTools, nodeTools } from '../cluster/tools.ts';
import { copyClient } from './client-folder.ts';
import { imageTools, importImages } from './image.ts';

const stories = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.story.ts')).sort();
const files = process.argv.length > 2 ? process.argv.slice(2) : stories.map((name) => join(import.meta.dirname, name));

const startedAt = performance.now();
const say = (what: string) =>
  console.log(`${((performance.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${what}`);

try {
  demandTools({ ...nodeTools, ...imageTools, git: 'git', apache2: 'apache2-bin' });
} catch (fault) {
  console.error((fault as Error).message);
  process.exit(1);
}
// The node has no network to build it with.
await buildAhead('versitygw');
say('starting a node');
await using node = await startHeld<NodeCoordinates>('node.ts');
say('building the images');
await importImages(node.coordinates);
await copyClient(node.coordinates.folder);
say('the stories');
const [enter, ...namespaces] = node.coordinates.enter as [string, ...string[]];
const runner = [process.execPath, '--test', '--test-timeout=900000', '--test-concurrency=1'];
const tests = spawn(
  enter,
  // Entering changes the working directory to the root.
  [...namespaces, `--wdns=${process.cwd()}`, ...runner, ...files],
  {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, [coordinatesVariable]: JSON.stringify(node.coordinates) },
  },
);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => tests.kill(signal));
const [code] = await once(tests, 'exit');
process.exitCode = code ?? 1;
say('done');
