// A list+watch loop of SkillSources against the fake API server, on a clock that the test moves.
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { Connection } from '../../operator/kubernetes/connection.ts';
import { ListWatch } from '../../operator/kubernetes/list-watch.ts';
import { ObjectStore } from '../../operator/kubernetes/object-store.ts';
import { skillSources, type WatchedResource } from '../../operator/kubernetes/watched-resource.ts';
import { FakeApiServer } from './fake-api-server.ts';
import { FakeClock } from './fake-clock.ts';

export interface Watching {
  server: FakeApiServer;
  clock: FakeClock;
  store: ObjectStore;
  listWatch: ListWatch;
  /** Keys that listeners heard, in order. */
  told: string[];
  /** Reasons of restarts, in order. */
  restarts: string[];
  /** How many objects there were each time that the API server began or ceased to serve the resource. */
  served: number[];
  log: string[];
  /** Lists, events and bookmarks heard so far. */
  heard(): number;
  start(): void;
  /** Stops and waits for the end. */
  stop(): Promise<void>;
  /** Waits for the pause after a failure, lets it pass, and gives its length in milliseconds. */
  passPause(): Promise<number>;
}

export async function watching(
  context: TestContext,
  options: {
    random?: number;
    resource?: WatchedResource;
    load?: (server: FakeApiServer) => () => ReturnType<FakeApiServer['kubeConfig']>;
  } = {},
): Promise<Watching> {
  const server = await FakeApiServer.start();
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const load = options.load?.(server) ?? (() => server.kubeConfig());
  const connection = new Connection({ load, connections: 4, requested() {}, clock });
  const store = new ObjectStore(['flow'], log);
  const told: string[] = [];
  store.onChange((key) => told.push(key));
  const restarts: string[] = [];
  let heard = 0;
  const served: number[] = [];
  const listWatch = new ListWatch({
    connection,
    resource: options.resource ?? skillSources,
    namespace: 'flow',
    store,
    clock,
    random: () => options.random ?? 0.5,
    served: () => void served.push(store.list().length),
    metrics: { restarted: (_, reason) => void restarts.push(reason), heard: () => void heard++ },
    log,
  });
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  context.after(async () => {
    await stop();
    await connection.close();
    await server[Symbol.asyncDispose]();
  });
  return {
    server,
    clock,
    store,
    listWatch,
    told,
    restarts,
    served,
    log: lines,
    heard: () => heard,
    start() {
      running = listWatch.run(stopping.signal);
    },
    stop,
    async passPause() {
      const pause = await clock.pause();
      clock.advance(pause + 1);
      return pause;
    },
  };
}
