// The operator killed at random while it publishes, readers checking every answer: nobody reads anything wrong, nothing is lost.
// KILLS=50 makes it shorter, LIFE=4000 lets operators live longer, SEED=7 kills at the moments of a run that printed that seed.
import { createHash, randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readIndex } from '../../catalogue/index-reader.ts';
import { eventually } from '../fixtures/eventually.ts';
import { listSkills, writeEdition } from './editions.ts';
import { type Outcome, type Proof, size } from './proof.ts';
import { Readers, wordsOf } from './readers.ts';
import { missing, Stage, started } from './stage.ts';

export const kills: Proof = {
  name: 'kills',
  says: '1,000 operators killed with SIGKILL while they publish, 0 bad reads, 0 lost catalogues',
  async run(progress): Promise<Outcome> {
    const wanted = size('KILLS', 1000);
    // The longest life of an operator after it has started, in milliseconds: long enough for a few publications.
    const longestLife = size('LIFE', 600);
    const seed = size('SEED', randomInt(1, 2 ** 31));
    const chance = chances(seed);
    progress(`SEED=${seed}`);
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-kills-'));
    const volume = join(folder, 'volume');
    const stage = await Stage.open(volume);
    const { api, namespace } = stage;
    const broken: string[] = [];
    let edition = 1;
    let over = false;

    const first = stage.operator();
    const server = await stage.server();
    const { url } = server;
    await eventually('the first edition', () => listSkills(url));
    await first[Symbol.asyncDispose]();

    const writing = async (): Promise<void> => {
      while (!over) {
        try {
          await writeEdition(api, namespace, edition + 1);
          edition += 1;
        } catch (error) {
          broken.push(`an edition was not written: ${wordsOf(error)}`);
        }
        await pause(50);
      }
    };
    const writer = writing();
    const readers = new Readers(url, () => edition + 1, broken);
    let published = 0;
    let lost = 0;
    const generation = async (known: number): Promise<number> => {
      try {
        return (await readIndex(volume, namespace, 'agents')).generation;
      } catch (error) {
        lost += 1;
        broken.push(`index.json cannot be read: ${wordsOf(error)}`);
        return known;
      }
    };
    try {
      let before = await generation(0);
      for (let kill = 1; kill <= wanted; kill++) {
        await using operator = stage.operator();
        await started(operator);
        await pause(chance() * longestLife);
        operator.kill('SIGKILL');
        await operator.ended();
        const after = await generation(before);
        if (after < before) broken.push(`generation ${after} after generation ${before}`);
        published += after - before;
        before = after;
        if (kill % 50 === 0)
          progress(`${kill} kills, ${readers.reads} reads, ${published} publications, ${broken.length} bad`);
      }
      if (published < wanted / 2) broken.push(`${published} publications: most operators died before they published`);
      over = true;
      await writer;
      await readers.stop();
      await using last = stage.operator();
      const fault = await missing(url, edition, 60);
      if (fault !== undefined) broken.push(`the last edition is not served: ${fault}; ${last.said.slice(-500)}`);
    } finally {
      over = true;
      await writer;
      await readers.stop();
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    }
    return {
      figures: {
        kills: wanted,
        reads: readers.reads,
        publications: published,
        faults: broken.length,
        'lost catalogues': lost,
      },
      broken,
    };
  },
};

/** Numbers in [0, 1), the same for the same seed. */
function chances(seed: number): () => number {
  let turn = 0;
  return () => createHash('sha256').update(`${seed} ${turn++}`).digest().readUInt32BE() / 2 ** 32;
}
