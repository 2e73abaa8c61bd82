// `make bench`: measures everything side by side in one run, prints the table, writes bench/results.json.
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Figure, table } from './figures.ts';
import { firstHarvest } from './git/first-harvest.ts';
import { refresh } from './git/refresh.ts';
import { measuredRepository } from './git/repository.ts';

/** A run that hangs ends by then. */
const longestRunMs = 15 * 60_000;

const temporary = mkdtempSync(join(tmpdir(), 'lyceum-bench-'));
process.on('exit', () => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
setTimeout(() => {
  console.error(`bench: not done within ${longestRunMs / 60_000} minutes`);
  process.exit(1);
}, longestRunMs).unref();

const figures: Figure[] = [];
const say = (what: string): void => console.error(`bench: ${what} …`);

say('the repository (generated once, then kept in the cache folder)');
const repository = await measuredRepository();
say('first harvests and clones');
figures.push(...(await firstHarvest(repository, temporary)));
say('refreshes');
figures.push(...(await refresh(repository, temporary)));

console.log(table(figures));
await writeFile(join(import.meta.dirname, 'results.json'), `${JSON.stringify(figures, null, 2)}\n`);
