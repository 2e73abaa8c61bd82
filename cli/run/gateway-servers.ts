// One server in this process for each SkillGateway of the manifests, each on a port of its own.
import type { Logger } from 'pino';
import type { KubernetesObject, ObjectKey, Store } from '../../operator/kubernetes/cluster.ts';
import type { SkillGatewayStatus } from '../../operator/resources/skill-gateway.ts';
import type { SendDownloads } from '../../server/downloads/delivery.ts';
import type { Reindex } from '../../server/reindex/reindex.ts';
import { type LiveOptions, type RunningServer, startServer } from '../../server/server.ts';

export interface GatewayServersOptions {
  gateways: Store;
  volume: string;
  host: string;
  /** The first gateway's port; each further one gets the next. 0: any free port each. */
  firstPort: number;
  version: string;
  log: Logger;
  /** What a gateway's POST /reindex does. Whoever reaches this machine's loopback may ask for it. */
  reindex(key: ObjectKey): Reindex;
  /** Who keeps what a gateway's server counts. */
  sendDownloads(key: ObjectKey): SendDownloads;
  /** How the servers of a namespace reach its Live sources. */
  live(namespace: string): LiveOptions;
  /** Told when a gateway's server listens. */
  started(key: ObjectKey, url: string): void;
  /** Told why a server could not start. The next change of its gateway tries again. */
  failed(key: ObjectKey, message: string): void;
}

export class GatewayServers {
  readonly #options: GatewayServersOptions;
  readonly #ports = new Map<ObjectKey, number>();
  readonly #servers = new Map<ObjectKey, Promise<RunningServer | undefined>>();
  /** Servers on their way down: a gateway that comes back waits for its port. */
  readonly #closing = new Map<ObjectKey, Promise<void>>();
  readonly #urls = new Map<ObjectKey, string>();

  constructor(options: GatewayServersOptions) {
    this.#options = options;
    options.gateways.onChange((key) => this.#follow(key));
  }

  urlOf(gateway: KubernetesObject): string | undefined {
    return this.#urls.get(`${gateway.metadata.namespace}/${gateway.metadata.name}`);
  }

  async close(): Promise<void> {
    const servers = await Promise.all(this.#servers.values());
    await Promise.all([...servers.map((server) => server?.close()), ...this.#closing.values()]);
  }

  /** A server starts once there is a catalogue for it, and ends with its gateway. */
  #follow(key: ObjectKey): void {
    const gateway = this.#options.gateways.get(key);
    const running = this.#servers.get(key);
    if (gateway !== undefined) this.#portOf(key);
    if (gateway === undefined && running !== undefined) {
      this.#servers.delete(key);
      this.#urls.delete(key);
      this.#closing.set(
        key,
        running.then((server) => server?.close()),
      );
    } else if (running === undefined && isPublished(gateway)) {
      this.#servers.set(key, this.#start(key));
    }
  }

  async #start(key: ObjectKey): Promise<RunningServer | undefined> {
    const { volume, host, version, log, started, failed, reindex, sendDownloads, live } = this.#options;
    const [namespace, gateway] = key.split('/') as [string, string];
    const port = this.#portOf(key);
    await this.#closing.get(key);
    try {
      const server = await startServer({
        ...{ volume, namespace, gateway, host, port, logger: log, version },
        reindex: reindex(key),
        reindexForAnyone: true,
        sendDownloads: sendDownloads(key),
        live: live(namespace),
      });
      const url = `${reachable(server.url)}/mcp`;
      this.#urls.set(key, url);
      started(key, url);
      return server;
    } catch (error) {
      this.#servers.delete(key);
      failed(key, reasonOf(error, host, port));
      return undefined;
    }
  }

  #portOf(key: ObjectKey): number {
    const { firstPort } = this.#options;
    const known = this.#ports.get(key);
    if (known !== undefined) return known;
    const port = firstPort === 0 ? 0 : firstPort + this.#ports.size;
    this.#ports.set(key, port);
    return port;
  }
}

/** Not whether it is Ready: a client without a usable token keeps no other from being served. */
const isPublished = (gateway: KubernetesObject | undefined): boolean =>
  (gateway?.status as SkillGatewayStatus | undefined)?.catalogue !== undefined;

/** Who listens on every address is reached on this machine's own, by IPv4 too. */
const reachable = (url: string): string => url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, '//127.0.0.1:');

function reasonOf(error: unknown, host: string, port: number): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `port ${port} is in use: choose another with --port`;
    case 'EACCES':
      return `port ${port} may not be used: choose one above 1023 with --port`;
    case 'EADDRNOTAVAIL':
      return `${host} is no address of this machine: choose another with --host`;
    default:
      return error instanceof Error ? error.message : 'the server did not start';
  }
}
