// `make bench`: measures everything side by side in one run, prints the table, writes bench/results.json.
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Volume } from '../operator/publish/volume.ts';
import { type Figure, table } from './figures.ts';
import { firstHarvest } from './git/first-harvest.ts';
import { refresh } from './git/refresh.ts';
import { measuredRepository } from './git/repository.ts';
import { blackHoles } from './serving/black-holes.ts';
import { publishCatalogue, publishSources } from './serving/catalogue.ts';
import { growth } from './serving/growth.ts';
import { hotReads } from './serving/hot-reads.ts';
import { pages } from './serving/pages.ts';
import { start } from './serving/start.ts';
import { swap } from './serving/swap.ts';

/** A run that hangs ends by then. */
const longestRunMs = 15 * 60_000;

const few = 100;
const many = 10_000;

const temporary = mkdtempSync(join(tmpdir(), 'lyceum-bench-'));
process.on('exit', () => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
setTimeout(() => {
  console.error(`bench: not done within ${longestRunMs / 60_000} minutes`);
  process.exit(1);
}, longestRunMs).unref();

const say = (what: string): void => console.error(`bench: ${what}`);

/** A volume of its own with that many skills published on it, and the bytes of their rows. */
async function published(skills: number): Promise<{ volume: string; skills: number; rowBytes: number }> {
  const folder = join(temporary, `volume-${skills}`);
  const volume = Volume.at(folder);
  const { rows, catalogueBytes } = await publishSources(volume, skills, 0);
  await publishCatalogue(volume, rows);
  return { volume: folder, skills, rowBytes: catalogueBytes };
}

const figures: Figure[] = [];
say('a large repository, made once and then kept in the cache folder');
const repository = await measuredRepository();
say('first harvests and clones');
figures.push(...(await firstHarvest(repository, temporary)));
say('refreshes');
figures.push(...(await refresh(repository, temporary)));
say(`catalogues of ${few} and of ${many} skills`);
const small = await published(few);
const large = await published(many);
say('swaps of index.json under a running server');
figures.push(...(await swap(join(temporary, 'volume-swap'), many)));
say('WebDAV servers that say nothing');
figures.push(...(await blackHoles(join(temporary, 'black-holes'), many)));
say('starts of a server');
figures.push(...(await start({ ...large, emptyVolume: join(temporary, 'volume-empty') })));
say('the cost of answers as a catalogue grows');
figures.push(...(await growth(small, large)));
say('the catalogue page, and its search');
figures.push(...(await pages(large)));
say('hot answers against bare fastify');
figures.push(...(await hotReads(small.volume)));

console.log(table(figures));
await writeFile(join(import.meta.dirname, 'results.json'), `${JSON.stringify(figures, null, 2)}\n`);
