// What an answer costs with many skills against few: processor time of the server for each request.
import { Child } from '../child.ts';
import { atMost, type Figure, figure, median, medianRatio } from '../figures.ts';
import type { LoadAnswer, LoadQuestion } from './load-process.ts';
import { LyceumServer } from './lyceum-server.ts';
import { listResources, type McpRequest, readSkill } from './requests.ts';

const rounds = 3;
const warmUpSeconds = 1;
const roundSeconds = 2;
/** Skills that are read in turn, spread over all. */
const spread = 100;

export interface Served {
  /** A folder with a published catalogue. */
  volume: string;
  skills: number;
}

export async function growth(few: Served, many: Served): Promise<Figure[]> {
  await using fewServer = await LyceumServer.start(few.volume);
  await using manyServer = await LyceumServer.start(many.volume);
  await using load = new Child('serving/load-process.ts');
  const cost = async (server: LyceumServer, requests: McpRequest[], seconds: number): Promise<number> => {
    const before = await server.usage('processor');
    const question: LoadQuestion = { origin: server.origin, requests, seconds };
    const answered = await load.ask<LoadAnswer>(question);
    const after = await server.usage('processor');
    return (after.processorMicroseconds - before.processorMicroseconds) / answered.requests;
  };
  const reads = (skills: number) =>
    Array.from({ length: spread }, (_, turn) => readSkill('modern', Math.floor((turn * skills) / spread)));
  const measured = [
    { name: 'a read', requests: reads },
    { name: 'a default listing', requests: () => [listResources('modern')] },
  ];
  const figures: Figure[] = [];
  for (const { name, requests } of measured) {
    const costs: { few: number[]; many: number[] } = { few: [], many: [] };
    for (let round = 0; round <= rounds; round++) {
      const seconds = round === 0 ? warmUpSeconds : roundSeconds;
      const fewCost = await cost(fewServer, requests(few.skills), seconds);
      const manyCost = await cost(manyServer, requests(many.skills), seconds);
      if (round === 0) continue;
      costs.few.push(fewCost);
      costs.many.push(manyCost);
    }
    const title = `server, cost of ${name}`;
    const [less, more] = [few.skills, many.skills].map((skills) => skills.toLocaleString('en'));
    const ratio = medianRatio(costs.many, costs.few);
    figures.push(
      figure(`${title}: ${more} skills against ${less}`, ratio, 'ratio', atMost(1.2)),
      figure(`${title}, ${less} skills`, median(costs.few), 'µs of processor time'),
    );
  }
  return figures;
}
