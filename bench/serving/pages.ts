// The catalogue page with many skills: what its first answer weighs, and how long a search takes while somebody types.
import { atMost, type Figure, figure, median } from '../figures.ts';
import type { Served } from './growth.ts';
import { LyceumServer } from './lyceum-server.ts';

const rounds = 20;
/** As it grows letter by letter, one word after another; the last finds nothing. */
const typed = ['s', 'sk', 'skill', 'skill-9', 'skill-99', 'skill-99 t', 'skill-99 th', 'nothing-of-the-kind'];

export async function pages({ volume, skills }: Served): Promise<Figure[]> {
  await using server = await LyceumServer.start(volume);
  const ask = async (path: string): Promise<Uint8Array> => {
    const answer = await fetch(server.origin + path);
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return await answer.bytes();
  };
  const timed = async (path: string): Promise<number> => {
    const began = performance.now();
    await ask(path);
    return performance.now() - began;
  };
  const find = (query: string): string => `/search.json?q=${encodeURIComponent(query)}`;
  const first = await timed(find(typed[0]!));
  const { length } = await ask('/');
  const searches: number[] = [];
  const overviews: number[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const query of typed) searches.push(await timed(find(query)));
    overviews.push(await timed('/'));
  }
  const count = skills.toLocaleString('en');
  return [
    figure(`pages, ${count} skills: bytes of the first answer`, length, 'bytes', atMost(100_000)),
    figure(`pages, ${count} skills: a search while somebody types`, median(searches), 'ms', atMost(50)),
    figure(`pages, ${count} skills: the slowest of these searches`, Math.max(...searches), 'ms'),
    figure(`pages, ${count} skills: the first search of a catalogue`, first, 'ms'),
    figure(`pages, ${count} skills: the overview`, median(overviews), 'ms'),
  ];
}
