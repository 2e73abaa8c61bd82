// The first harvest of a large repository, few files wanted and all, against a shallow clone of the same address.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Child } from '../child.ts';
import { atMost, type Figure, figure, median, medianRatio } from '../figures.ts';
import { shallowClone } from './clone.ts';
import type { LookAnswer, LookQuestion } from './harvester-process.ts';
import type { MeasuredRepository } from './repository.ts';
import type { Traffic } from './server-process.ts';

const rounds = 5;
const coldRounds = 3;

interface Measured {
  milliseconds: number[];
  bytes: number[];
}

/** @param temporary a folder on the file system that is measured */
export async function firstHarvest(repository: MeasuredRepository, temporary: string): Promise<Figure[]> {
  await using server = new Child('git/server-process.ts', { args: [repository.root] });
  await using harvester = new Child('git/harvester-process.ts');
  const url = `${await server.ask<string>('origin')}/${repository.name}`;
  const volume = join(temporary, 'volume');
  const traffic = async () => (await server.ask<Traffic>('traffic')).bytes;

  const harvest = async (by: Child, spec: object, files: number): Promise<number> => {
    try {
      const question: LookQuestion = { volume, spec: { url: `git+${url}`, ...spec }, again: false };
      const answer = await by.ask<LookAnswer>(question);
      if (answer.files < files || answer.skills !== 20) throw new Error(`harvested ${JSON.stringify(answer)}`);
      return answer.milliseconds;
    } finally {
      await rm(volume, { recursive: true, force: true });
    }
  };
  const ways = {
    clone: () => shallowClone(url, join(temporary, 'clone')),
    few: () => harvest(harvester, {}, 20),
    all: () => harvest(harvester, { include: { files: ['**'] } }, repository.files),
  };
  const measured: Record<keyof typeof ways, Measured> = {
    clone: { milliseconds: [], bytes: [] },
    few: { milliseconds: [], bytes: [] },
    all: { milliseconds: [], bytes: [] },
  };
  for (let round = 0; round <= rounds; round++) {
    for (const way of ['clone', 'few', 'all'] as const) {
      const milliseconds = await ways[way]();
      const bytes = await traffic();
      // The first round warms all three: caches of the file system, the server's and the operator's programs.
      if (round === 0) continue;
      measured[way].milliseconds.push(milliseconds);
      measured[way].bytes.push(bytes);
    }
  }
  const cold: number[] = [];
  for (let round = 0; round < coldRounds; round++) {
    const began = performance.now();
    await using fresh = new Child('git/harvester-process.ts');
    await harvest(fresh, {}, 20);
    cold.push(performance.now() - began);
  }
  const time = (way: keyof typeof ways) => median(measured[way].milliseconds);
  const timeRatio = (way: keyof typeof ways) => medianRatio(measured[way].milliseconds, measured.clone.milliseconds);
  const bytes = (way: keyof typeof ways) => median(measured[way].bytes);
  return [
    figure(
      'git, first harvest, few files wanted: wall time against git clone --depth 1',
      timeRatio('few'),
      'ratio',
      atMost(0.1),
    ),
    figure(
      'git, first harvest, few files wanted: bytes against git clone --depth 1',
      bytes('few') / bytes('clone'),
      'ratio',
      atMost(0.1),
    ),
    figure(
      'git, first harvest, every file wanted: wall time against git clone --depth 1',
      timeRatio('all'),
      'ratio',
      atMost(0.6),
    ),
    figure(
      'git, first harvest, every file wanted: bytes against git clone --depth 1',
      bytes('all') / bytes('clone'),
      'ratio',
    ),
    figure('git clone --depth 1: wall time', time('clone'), 'ms'),
    figure('git clone --depth 1: bytes', bytes('clone'), 'bytes'),
    figure('git, first harvest, few files wanted: wall time', time('few'), 'ms'),
    figure('git, first harvest, few files wanted: bytes', bytes('few'), 'bytes'),
    figure('git, first harvest, few files wanted, process start included: wall time', median(cold), 'ms'),
    figure('git, first harvest, every file wanted: wall time', time('all'), 'ms'),
    figure('git, repository: files', repository.files, 'files'),
    figure('git, repository: bytes of its files', repository.bytes, 'bytes'),
  ];
}
