// The operator killed at random while it publishes, readers checking every answer: nobody reads anything wrong, nothing is lost.
// KILLS=50 makes it shorter, SEED=7 kills at the moments of a run that printed that seed.
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readIndex } from '../../catalogue/index-reader.ts';
import { eventually } from '../fixtures/eventually.ts';
import { chances } from './chances.ts';
import { EditionWriter, listSkills, writeEdition } from './editions.ts';
import { type Outcome, type Proof, size } from './proof.ts';
import { Readers, wordsOf } from './readers.ts';
import { missing, Stage, started } from './stage.ts';

/** Lives of operators are as long as so many publications, one in milliseconds at least. */
const publications = 2;
const shortestPublication = 200;

export const kills: Proof = {
  name: 'kills',
  says: '1,000 operators killed with SIGKILL while they publish, 0 bad reads, 0 lost catalogues',
  async run(progress): Promise<Outcome> {
    const wanted = size('KILLS', 1000);
    const seed = size('SEED', randomInt(1, 2 ** 31));
    const chance = chances(seed);
    progress(`SEED=${seed}`);
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-kills-'));
    const volume = join(folder, 'volume');
    const stage = await Stage.open(volume);
    const { api, namespace } = stage;
    const broken: string[] = [];
    let edition = 1;

    const first = stage.operator();
    const server = await stage.server();
    const { url } = server;
    await eventually('the first edition', () => listSkills(url));
    const began = performance.now();
    await writeEdition(api, namespace, ++edition);
    await eventually(
      'the second edition',
      () => listSkills(url),
      (one) => one === edition,
      60,
    );
    // How long an operator may live after its start, in milliseconds: for a few publications, however slow the machine is.
    const longestLife = publications * Math.max(performance.now() - began, shortestPublication);
    progress(`an operator lives ${Math.round(longestLife)} ms at most`);
    await first[Symbol.asyncDispose]();

    const writer = new EditionWriter(stage, broken, edition);
    const readers = new Readers(url, () => writer.begun, broken);
    let published = 0;
    let lost = 0;
    let killed = 0;
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
      for (; (killed < wanted || published < wanted / 2) && killed < 3 * wanted + 10; killed++) {
        await using operator = stage.operator();
        await started(operator);
        await pause(chance() * longestLife);
        operator.kill('SIGKILL');
        await operator.ended();
        const after = await generation(before);
        if (after < before) broken.push(`generation ${after} after generation ${before}`);
        published += after - before;
        before = after;
        if ((killed + 1) % 50 === 0)
          progress(`${killed + 1} kills, ${readers.reads} reads, ${published} publications, ${broken.length} bad`);
      }
      if (published < wanted / 2) broken.push(`${published} publications: most operators died before they published`);
      await writer.stop();
      await readers.stop();
      await using last = stage.operator();
      const fault = await missing(url, writer.begun, 60);
      if (fault !== undefined) broken.push(`the last edition is not served: ${fault}; ${last.said.slice(-500)}`);
    } finally {
      await writer.stop();
      await readers.stop();
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    }
    return {
      figures: {
        kills: killed,
        reads: readers.reads,
        publications: published,
        faults: broken.length,
        'lost catalogues': lost,
      },
      broken,
    };
  },
};
