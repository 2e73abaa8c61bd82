// Hot answers of a server over HTTP against bare fastify that sends the same bytes, in both eras of the protocol.
import { Child } from '../child.ts';
import { atLeast, type Figure, figure, median, medianRatio } from '../figures.ts';
import type { LoadAnswer, LoadQuestion } from './load-process.ts';
import { LyceumServer } from './lyceum-server.ts';
import {
  answerTo,
  begin,
  type Era,
  listPrompts,
  listResources,
  listSkills,
  listTools,
  type McpRequest,
  readSkill,
} from './requests.ts';

// Many short rounds: a machine that is busy for a moment spoils one of them, not the median.
const rounds = 7;
const warmUpSeconds = 1;
const roundSeconds = 1;

const measured = [
  { name: 'resources/read', bar: 0.8, request: (era: Era) => readSkill(era, 7) },
  { name: 'resources/list', bar: 0.8, request: listResources },
  { name: 'tools/list', bar: 0.7, request: listTools },
  { name: 'skills/list', bar: 0.7, request: listSkills },
  { name: 'prompts/list', bar: 0.7, request: listPrompts },
  { name: 'server/discover or initialize', bar: 0.7, request: begin },
];

/** @param volume a folder with a published catalogue */
export async function hotReads(volume: string): Promise<Figure[]> {
  await using lyceum = await LyceumServer.start(volume);
  await using fastify = new Child('serving/bare-fastify.ts');
  await using load = new Child('serving/load-process.ts');
  const perSecond = async (origin: string, request: McpRequest, seconds: number): Promise<number> => {
    const question: LoadQuestion = { origin, requests: [request], seconds };
    return (await load.ask<LoadAnswer>(question)).perSecond;
  };
  const figures: Figure[] = [];
  const absolute: Figure[] = [];
  for (const { name, bar, request: make } of measured) {
    for (const era of ['modern', 'legacy'] as const) {
      const request = make(era);
      const bytes = await answerTo(lyceum.origin, request);
      const floor = await fastify.ask<string>(bytes);
      for (const origin of [lyceum.origin, floor]) await perSecond(origin, request, warmUpSeconds);
      const served: number[] = [];
      const bare: number[] = [];
      for (let round = 0; round < rounds; round++) {
        served.push(await perSecond(lyceum.origin, request, roundSeconds));
        bare.push(await perSecond(floor, request, roundSeconds));
      }
      const title = `server, ${name}, ${era} era`;
      const ratio = medianRatio(served, bare);
      figures.push(figure(`${title}: requests/s against bare fastify`, ratio, 'ratio', atLeast(bar)));
      absolute.push(figure(`${title}: requests/s`, median(served), 'requests/s'));
      absolute.push(figure(`${title}: bytes of the answer`, bytes.length, 'bytes'));
    }
  }
  return [...figures, ...absolute];
}
