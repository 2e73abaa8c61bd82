// A server's start with many skills: time to the first answer, and what it holds beyond an empty server.
import { Volume } from '../../operator/publish/volume.ts';
import { atMost, type Figure, figure, median } from '../figures.ts';
import { publishCatalogue } from './catalogue.ts';
import { LyceumServer } from './lyceum-server.ts';
import type { Usage } from './observed.ts';
import { answerTo, listResources, readSkill } from './requests.ts';

const rounds = 5;

export interface StartOptions {
  /** A folder with a published catalogue. */
  volume: string;
  skills: number;
  /** Bytes of the rows of that catalogue, as they are published. */
  rowBytes: number;
  /** A folder for a catalogue of nothing. */
  emptyVolume: string;
}

export async function start({ volume, skills, rowBytes, emptyVolume }: StartOptions): Promise<Figure[]> {
  await publishCatalogue(Volume.at(emptyVolume), []);
  const seconds: number[] = [];
  const full: Usage[] = [];
  const empty: Usage[] = [];
  for (let round = 0; round < rounds; round++) {
    const began = performance.now();
    await using server = await LyceumServer.start(volume);
    await answerTo(server.origin, readSkill('modern', skills - 1));
    seconds.push((performance.now() - began) / 1000);
    await using emptyServer = await LyceumServer.start(emptyVolume);
    // Both answer the same request first, so that the program's own code is not counted as the catalogue's.
    for (const one of [server, emptyServer]) await answerTo(one.origin, listResources('modern'));
    full.push(await server.usage('memory'));
    empty.push(await emptyServer.usage('memory'));
  }
  const above = (what: 'heldBytes' | 'residentBytes') =>
    (median(full.map((usage) => usage[what])) - median(empty.map((usage) => usage[what]))) / rowBytes;
  const count = skills.toLocaleString('en');
  return [
    figure(`server, ${count} skills: process start to first answer`, median(seconds), 's', atMost(1)),
    figure(
      `server, ${count} skills: memory in use above an empty server against the catalogue's rows`,
      above('heldBytes'),
      'ratio',
      atMost(2),
    ),
    figure(
      `server, ${count} skills: resident memory above an empty server against the catalogue's rows`,
      above('residentBytes'),
      'ratio',
    ),
    figure(`server, ${count} skills: bytes of the catalogue's rows`, rowBytes, 'bytes'),
    figure('server, empty: memory in use', median(empty.map(({ heldBytes }) => heldBytes)), 'bytes'),
  ];
}
