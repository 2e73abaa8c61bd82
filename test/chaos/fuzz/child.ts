// One target fed in a process of its own, which may crash, hang or swell: who started it watches.
//   node test/chaos/fuzz/child.ts TARGET FOLDER SECONDS SEED      feeds it, and tells how far it is
//   node test/chaos/fuzz/child.ts TARGET FOLDER INPUT             feeds it one input that was kept

import { writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chanceOf, mutated } from './mutate.ts';
import { targets } from './targets.ts';

const [name, folder = '', amount = '', seed] = process.argv.slice(2);
const target = targets.find((one) => one.name === name);
if (target === undefined)
  throw new Error(`no target is called ${name}: there are ${targets.map((one) => one.name).join(', ')}`);
const { seeds, feed, close } = await target.prepare(folder);

if (seed === undefined) {
  await feed(await readFile(amount));
} else {
  const inputFile = join(folder, 'input');
  for (const one of seeds) {
    await writeFile(inputFile, one);
    await feed(one);
  }
  const chance = chanceOf(Number(seed));
  const end = performance.now() + Number(amount) * 1000;
  let told = 0;
  for (let inputs = 1; performance.now() < end; inputs++) {
    const input = mutated(seeds, target.dictionary, chance);
    // On the disk before it is fed: whatever becomes of this process, it is there.
    writeFileSync(inputFile, input);
    await feed(input);
    if (performance.now() - told < 1000) continue;
    told = performance.now();
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    process.send?.({ inputs, held: heapUsed + external });
    await new Promise((resolve) => setImmediate(resolve));
  }
}
await close?.();
process.exit();
