// A new index.json under a running server that is being asked: when it is served, and what that does to the answers.
import * as nodeFiles from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { IndexSource } from '../../catalogue/index-file.ts';
import { indexPath } from '../../catalogue/layout.ts';
import { Volume } from '../../operator/publish/volume.ts';
import { Child } from '../child.ts';
import { atMost, type Figure, figure, median } from '../figures.ts';
import { gateway, publishCatalogue, publishSources } from './catalogue.ts';
import { LyceumServer } from './lyceum-server.ts';
import type { ProbeAnswer, ProbeQuestion } from './probing-process.ts';

const rounds = 5;
const windowSeconds = 4;
/** Into a window, before the catalogue is swapped. */
const swapAfterMs = 300;

/**
 * Swaps between two catalogues that have no skill's text in common, so that every row is new each time.
 * @param folder of a volume with nothing of this gateway
 */
export async function swap(folder: string, skills: number): Promise<Figure[]> {
  let renamedAt = 0;
  const door = indexPath(gateway.namespace, gateway.name);
  const volume = Volume.at(folder, {
    ...nodeFiles,
    rename: async (from, to) => {
      await nodeFiles.rename(from, to);
      if (String(to).endsWith(door)) renamedAt = Date.now();
    },
  });
  const variants: IndexSource[][] = [];
  for (const variant of [1, 2]) variants.push((await publishSources(volume, skills, variant)).rows);
  let generation = await publishCatalogue(volume, variants[0]!);

  await using server = await LyceumServer.start(folder);
  await using prober = new Child('serving/probing-process.ts');
  const probe = async (seconds: number, waitedFor: number): Promise<ProbeAnswer> => {
    // A full collection first, so that no window pays for the garbage of the one before.
    await server.usage('memory');
    const question: ProbeQuestion = { origin: server.origin, skills, seconds, generation: waitedFor };
    return prober.ask<ProbeAnswer>(question);
  };
  await probe(1, generation);

  const served: number[] = [];
  const slowest: { swap: number[]; control: number[] } = { swap: [], control: [] };
  for (let round = 1; round <= rounds; round++) {
    slowest.control.push((await probe(windowSeconds, generation + 1)).slowestMilliseconds);
    const probing = probe(windowSeconds, generation + 1);
    await pause(swapAfterMs);
    generation = await publishCatalogue(volume, variants[round % 2]!);
    const { servedAt, slowestMilliseconds } = await probing;
    if (servedAt === undefined) throw new Error(`generation ${generation} was not served within ${windowSeconds} s`);
    served.push((servedAt - renamedAt) / 1000);
    slowest.swap.push(slowestMilliseconds);
  }
  const title = `server, ${skills.toLocaleString('en')} skills, all of them new`;
  const above = median(slowest.swap) - median(slowest.control);
  return [
    figure(`${title}: index.json renamed to served, the slowest of ${rounds}`, Math.max(...served), 's', atMost(2)),
    figure(`${title}: slowest request of a swap above that without one`, above, 'ms', atMost(50)),
    figure(`${title}: slowest request of a swap`, median(slowest.swap), 'ms'),
    figure(`${title}: slowest request without a swap`, median(slowest.control), 'ms'),
  ];
}
