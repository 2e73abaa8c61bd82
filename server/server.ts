// The server program: one gateway's catalogue from a volume, served over HTTP until it is told to stop.
import { lookup } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import Fastify, { type FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import type { GuardOptions } from '../upstream/guard/client.ts';
import { CountedDownloads } from './downloads/counted-downloads.ts';
import type { SendDownloads } from './downloads/delivery.ts';
import { accessRules } from './http/access.ts';
import { createApp } from './http/app.ts';
import type { LiveCatalogue, LiveCatalogueOptions } from './live/live-catalogue.ts';
import type { SecretOf } from './live/live-source.ts';
import { createEndpoint } from './mcp/endpoint.ts';
import { createServerMetrics } from './metrics.ts';
import type { Reindex } from './reindex/reindex.ts';
import { servedCounts } from './snapshot/snapshot.ts';
import { CatalogueWatch } from './snapshot/watch.ts';

export interface ServerOptions {
  /** Absolute path of the volume. */
  volume: string;
  namespace: string;
  /** The gateway's name. */
  gateway: string;
  host: string;
  /** 0: any free port. */
  port: number;
  /** Where GET /metrics is; 0: any free port; left out: nowhere. */
  metricsPort?: number;
  /**
   * How long a server that is told to stop goes on accepting while it is not ready: whoever holds a connection gets one
   * more answer, which closes it, and nobody's request is cut. Left out: not at all.
   */
  lingerMs?: number;
  /** What POST /reindex does; left out: it says that there is nobody to ask. */
  reindex?: Reindex;
  /** Whoever may use the gateway may ask for it, whatever its spec says. Left out: as the spec says. */
  reindexForAnyone?: boolean;
  /** Who keeps the downloads that are counted; left out: they stay in this server's memory. */
  sendDownloads?: SendDownloads;
  /** How Live sources are reached; left out: they are served as they were harvested. */
  live?: LiveOptions;
  logger: Logger;
  version: string;
}

export interface LiveOptions {
  guard: GuardOptions;
  secretOf: SecretOf;
}

export interface RunningServer {
  /** `http://host:port`, without a path; MCP is at `/mcp`. */
  url: string;
  /** The URL of the metrics listener, without a path. */
  metricsUrl?: string;
  /** Turns unready, lingers, stops accepting, answers what was asked, closes everything. */
  close(): Promise<void>;
}

const drainWithinMs = 25_000;

/**
 * Resolves when it listens and has looked for a catalogue once. A catalogue that is missing or broken is no reason not
 * to start: the server is not ready then, and says why.
 * @throws when an address cannot be listened on
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { logger } = options;
  const { address: host } = await lookup(options.host);
  const metrics = createServerMetrics();
  const watch = new CatalogueWatch({
    ...options,
    loaded: (snapshot, seconds) => {
      metrics.catalogueLoaded(snapshot.index.generation, servedCounts(snapshot), seconds);
      void live?.follow();
    },
    failed: ({ reason }) => metrics.catalogueFailed(reason),
    looked: (result) => metrics.catalogueLooked(result),
  });
  const live = await liveCatalogue(options.live, { base: watch, metrics, logger });
  const downloads = new CountedDownloads({ ...options, send: options.sendDownloads, metrics });
  const endpoint = createEndpoint({ version: options.version, logger });
  const app = createApp({
    catalogue: live ?? watch,
    endpoint,
    access: accessRules(options.namespace, options.gateway, host),
    metrics,
    downloads,
    logger,
    reindex: options.reindex,
    reindexForAnyone: options.reindexForAnyone,
    ...(options.lingerMs === undefined ? {} : { lingerMs: options.lingerMs }),
  });
  // Nobody is told again what he has asked for: there may be a secret in it.
  const metricsApp = Fastify({
    requestTimeout: 30_000,
    forceCloseConnections: true,
    frameworkErrors: (_error, _request, reply: FastifyReply) => void reply.code(400).send(),
  });
  metricsApp.setNotFoundHandler((_request, reply) => reply.code(404).send());
  metricsApp.get('/metrics', async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  );

  const close = async (): Promise<void> => {
    const cut = setTimeout(() => app.server.closeAllConnections(), drainWithinMs);
    try {
      await app.close();
    } finally {
      clearTimeout(cut);
    }
    await Promise.all([metricsApp.close(), endpoint.close(), watch.close(), live?.close(), downloads.close()]);
    metrics.registry.clear();
  };
  try {
    await app.listen({ host, port: options.port });
    if (options.metricsPort !== undefined) await metricsApp.listen({ host, port: options.metricsPort });
    await Promise.all([watch.start(), downloads.start()]);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url: urlOf(app.server.address() as AddressInfo),
    ...(options.metricsPort === undefined ? {} : { metricsUrl: urlOf(metricsApp.server.address() as AddressInfo) }),
    close,
  };
}

/** Its parts are loaded by servers that need them alone. */
async function liveCatalogue(
  options: LiveOptions | undefined,
  more: Omit<LiveCatalogueOptions, keyof LiveOptions>,
): Promise<LiveCatalogue | undefined> {
  if (options === undefined) return undefined;
  const { LiveCatalogue } = await import('./live/live-catalogue.ts');
  return new LiveCatalogue({ ...options, ...more });
}

const urlOf = ({ address, family, port }: AddressInfo): string =>
  `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
