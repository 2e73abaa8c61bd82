// A volume that an operator's port for callers serves copies of, over real TLS. Who calls is a stand-in here: a test of
// identities has a real API server.
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { type CopyCall, callersListener } from '../../operator/callers/listener.ts';
import { systemClock } from '../../operator/clock.ts';
import { copyRoutes } from '../../operator/copies/routes.ts';
import type { Listener } from '../../operator/listeners.ts';
import { Volume } from '../../operator/publish/volume.ts';
import { copy, whatIsThere } from '../../sync/copy.ts';
import { type Files, Folder } from '../../sync/folder.ts';
import { createSyncMetrics } from '../../sync/metrics.ts';
import { OperatorClient } from '../../sync/operator-client.ts';
import { Room } from '../../sync/room.ts';
import { type RunningSync, startSync } from '../../sync/sync.ts';
import { certificate } from '../kubernetes/certificates.ts';
import { gateway, temporaryFolder } from '../volume/support.ts';

export const { namespace, name } = gateway;
export const mebibyte = 2 ** 20;

export class Publishing implements AsyncDisposable {
  readonly path: string;
  readonly volume: Volume;
  /** What was asked for: `/catalogue/segment`, and so on. */
  asked: string[] = [];
  /** Whether the pods that call were started for the gateway. */
  own = true;
  /** Told of each call before it is answered; what it throws fails the call. */
  meddle: (path: string, call: CopyCall) => void | Promise<void> = () => {};
  #listener: Listener | undefined;
  #port = 0;
  readonly #disposal: AsyncDisposable;

  private constructor(disposal: AsyncDisposable & { path: string }, volume: Volume) {
    this.#disposal = disposal;
    this.path = disposal.path;
    this.volume = volume;
  }

  static async start(): Promise<Publishing> {
    const folder = await temporaryFolder();
    const publishing = new Publishing(folder, Volume.at(join(folder.path, 'volume')));
    await certificate(folder.path, 'operator');
    await mkdir(join(folder.path, 'tls'));
    for (const end of ['crt', 'key']) {
      await copyFile(join(folder.path, `operator.${end}`), join(folder.path, `tls/tls.${end}`));
    }
    await writeFile(join(folder.path, 'token'), 'good\n');
    await publishing.listen();
    return publishing;
  }

  async listen(): Promise<void> {
    const routes = copyRoutes({ volume: this.volume.root, synced: () => true });
    this.#listener = await callersListener({
      host: '127.0.0.1',
      port: this.#port,
      tlsFolder: join(this.path, 'tls'),
      identify: async () => 'stranger',
      routes: {},
      copies: {
        identify: async (authorization, asked) =>
          authorization !== 'Bearer good'
            ? 'unknown'
            : asked === name
              ? { gateway: `${namespace}/${asked}`, own: this.own }
              : 'stranger',
        routes: Object.fromEntries(
          Object.entries(routes).map(([key, route]) => [
            key,
            async (call: CopyCall) => {
              const path = key.slice('GET '.length);
              this.asked.push(path);
              await this.meddle(path, call);
              return await route(call);
            },
          ]),
        ),
      },
      clock: systemClock,
      log: pino({ level: 'silent' }),
    });
    this.#port = this.#listener.port;
  }

  async away(): Promise<void> {
    await this.#listener?.close();
    this.#listener = undefined;
  }

  get address(): ConstructorParameters<typeof OperatorClient>[0] {
    return {
      url: `https://127.0.0.1:${this.#port}`,
      ca: join(this.path, 'operator.crt'),
      token: join(this.path, 'token'),
      gateway: name,
    };
  }

  /** One copy to a folder, as a program does that has just been started. */
  async copyTo(
    root: string,
    { files, limit = 64 * mebibyte }: { files?: Files; limit?: number } = {},
  ): Promise<number> {
    const client = new OperatorClient(this.address);
    const folder = new Folder(root, files);
    const room = new Room({ folder, limit, now: () => performance.now() });
    let bytes = 0;
    const received = (more: number): void => {
      bytes += more;
    };
    try {
      const there = await whatIsThere(folder, namespace, name);
      if (there !== undefined) room.needs(there.needs);
      // Nothing new is not waited for.
      const soon = AbortSignal.timeout(20_000);
      await copy({ client: withoutWaiting(client), folder, room, namespace, gateway: name, received }, there, soon);
      return bytes;
    } finally {
      await client.close();
    }
  }

  follow(root: string, sizeLimit = 64 * mebibyte): RunningSync & AsyncDisposable & { said(): string } {
    let said = '';
    const log = pino(
      { level: 'debug' },
      {
        write(line: string) {
          said += line;
        },
      },
    );
    const sync = startSync({
      folder: root,
      namespace,
      operator: this.address,
      sizeLimit,
      metrics: createSyncMetrics(),
      log,
    });
    return { ...sync, said: () => said, [Symbol.asyncDispose]: () => sync.close() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.away();
    await this.#disposal[Symbol.asyncDispose]();
  }
}

function withoutWaiting(client: OperatorClient): Pick<OperatorClient, 'get'> {
  return {
    get(path, query, { prefer: _, ...headers }, signal) {
      return client.get(path, query, headers, signal);
    },
  };
}
