// Live sources whose WebDAV servers take connections and say nothing: what that does to requests for everything else.
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { Volume } from '../../operator/publish/volume.ts';
import { Child } from '../child.ts';
import { atMost, type Figure, figure, median } from '../figures.ts';
import { publishCatalogue, publishSources, skillPlace } from './catalogue.ts';
import { LyceumServer } from './lyceum-server.ts';
import { listResources, type McpRequest, readSkill } from './requests.ts';
import type { SteadyAnswer, SteadyQuestion } from './steady-process.ts';

const rounds = 5;
const warmUpSeconds = 1;
const windowSeconds = 3;
const liveLibraries = ['library-0', 'library-1', 'library-2'];
/** Skills that are read in turn, of each of the two sorts. */
const spread = 60;

class BlackHole implements Disposable {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => {
    this.taken += 1;
    this.#sockets.add(socket);
    socket.on('error', () => {});
  });
  /** Connections so far. */
  taken = 0;

  static async open(): Promise<BlackHole> {
    const hole = new BlackHole();
    hole.#server.listen(0, '127.0.0.1');
    await once(hole.#server, 'listening');
    return hole;
  }

  /** For `spec.url`. */
  get url(): string {
    return `webdav+http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/dav`;
  }

  /** Ends what is connected. */
  flush(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  [Symbol.dispose](): void {
    this.#server.close();
    this.flush();
  }
}

/** @param folder a folder that is not there yet */
export async function blackHoles(folder: string, skills: number): Promise<Figure[]> {
  using first = await BlackHole.open();
  using second = await BlackHole.open();
  using third = await BlackHole.open();
  const holes = [first, second, third];

  const volume = join(folder, 'volume');
  const opened = Volume.at(volume);
  const { rows } = await publishSources(opened, skills, 0);
  const live = (name: string) => {
    const hole = holes[liveLibraries.indexOf(name)];
    return hole && { live: { url: hole.url, subdirectory: '', fileSize: 2 ** 22 } };
  };
  await publishCatalogue(
    opened,
    rows.map((row) => ({ ...row, ...live(row.name) })),
  );
  const secrets = join(folder, 'secrets');
  for (const library of liveLibraries) {
    await mkdir(join(secrets, library), { recursive: true });
    for (const key of ['username', 'password']) await writeFile(join(secrets, library, key), 'bench');
  }

  const reads = (wanted: (library: string) => boolean): McpRequest[] =>
    Array.from({ length: skills }, (_, number) => number)
      .filter((number) => wanted(skillPlace(number).library))
      .slice(0, spread)
      .map((number) => readSkill('modern', number));
  const isLive = (library: string): boolean => liveLibraries.includes(library);
  const others = [...reads((library) => !isLive(library)), listResources('modern')];

  await using asking = new Child('serving/steady-process.ts');
  /** A server of its own for each window, since a source that has failed is not asked for half a minute. */
  const window = async (...options: string[]): Promise<SteadyAnswer> => {
    await using server = await LyceumServer.start(volume, options);
    const ask = (beside: McpRequest[], seconds: number) => {
      const question: SteadyQuestion = { origin: server.origin, measured: others, beside, seconds };
      return asking.ask<SteadyAnswer>(question);
    };
    await ask([], warmUpSeconds);
    return await ask(reads(isLive), windowSeconds);
  };

  const found: Record<'silent' | 'control', SteadyAnswer[]> = { silent: [], control: [] };
  for (let round = 0; round < rounds; round++) {
    found.control.push(await window());
    found.silent.push(await window('--live-secrets', secrets, '--allow-loopback'));
    for (const hole of holes) hole.flush();
  }
  if (holes.some(({ taken }) => taken === 0)) throw new Error('a Live source was not asked for');
  const p99 = (of: SteadyAnswer[]): number => median(of.map(({ measured }) => measured.p99Milliseconds));
  const slowest = Math.max(...found.silent.map(({ beside }) => beside.slowestMilliseconds));
  const title = 'server, three silent WebDAV servers';
  return [
    figure(
      `${title}: p99 of other requests above that without Live`,
      p99(found.silent) - p99(found.control),
      'ms',
      atMost(50),
    ),
    figure(`${title}: p99 of other requests`, p99(found.silent), 'ms'),
    figure(`${title}: p99 of other requests without Live`, p99(found.control), 'ms'),
    figure(`${title}: slowest read of a Live source`, slowest, 'ms'),
  ];
}
