// One server in this process for each SkillGateway of the manifests, each on a port of its own.
import type { Logger } from 'pino';
import type { KubernetesObject, ObjectKey, Store } from '../../operator/kubernetes/cluster.ts';
import { type RunningServer, startServer } from '../../server/server.ts';

export interface GatewayServersOptions {
  gateways: Store;
  volume: string;
  host: string;
  /** The first gateway's port; each further one gets the next. 0: any free port each. */
  firstPort: number;
  version: string;
  log: Logger;
  /** Told when a gateway's server listens. */
  started(key: ObjectKey, url: string): void;
  /** Told why a server could not start. */
  failed(key: ObjectKey, message: string): void;
}

export class GatewayServers {
  readonly #options: GatewayServersOptions;
  readonly #ports = new Map<ObjectKey, number>();
  readonly #servers = new Map<ObjectKey, Promise<RunningServer | undefined>>();
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
    await Promise.all(servers.map((server) => server?.close()));
  }

  #follow(key: ObjectKey): void {
    const there = this.#options.gateways.get(key) !== undefined;
    const running = this.#servers.get(key);
    if (there && running === undefined) {
      this.#servers.set(key, this.#start(key));
    } else if (!there && running !== undefined) {
      this.#servers.delete(key);
      this.#urls.delete(key);
      void running.then((server) => server?.close());
    }
  }

  async #start(key: ObjectKey): Promise<RunningServer | undefined> {
    const { volume, host, version, log, started, failed } = this.#options;
    const [namespace, gateway] = key.split('/') as [string, string];
    const port = this.#portOf(key);
    try {
      const server = await startServer({ volume, namespace, gateway, host, port, logger: log, version });
      const url = `${server.url}/mcp`;
      this.#urls.set(key, url);
      started(key, url);
      return server;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      failed(key, code === 'EADDRINUSE' ? `port ${port} is in use: choose another with --port` : String(error));
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
