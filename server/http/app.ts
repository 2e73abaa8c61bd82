// The HTTP face: /mcp for agents, probes and health for the cluster. Everything unusual is answered as JSON.
import { setTimeout as pause } from 'node:timers/promises';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Touched } from '../answers/read.ts';
import type { Downloads } from '../downloads/downloads.ts';
import type { Endpoint } from '../mcp/endpoint.ts';
import { rpcCodes } from '../mcp/json-rpc.ts';
import type { ServerMetrics } from '../metrics.ts';
import { addPages } from '../pages/routes.ts';
import { type AccessRules, addAccess } from './access.ts';
import { addAuthentication, answerUnauthorized, Unauthorized } from './authentication.ts';
import type { CurrentCatalogue } from './catalogue.ts';
import { ChangeStreams } from './change-streams.ts';
import { clientErrorHandler } from './client-errors.ts';
import { connectionsOf } from './connections.ts';
import { addDiscovery } from './discovery.ts';
import { front } from './front.ts';
import { jsonBody, NotJson, UnsupportedMediaType } from './json-body.ts';
import { addMcp } from './mcp.ts';
import { addOpenapi } from './openapi.ts';
import { addProbes } from './probes.ts';
import { refuse } from './refuse.ts';
import { addReindex, type ReindexOptions } from './reindex.ts';
import { type RequestLabels, teller } from './told.ts';

export interface AppOptions extends Pick<ReindexOptions, 'reindex' | 'reindexForAnyone'> {
  catalogue: CurrentCatalogue;
  endpoint: Endpoint;
  access: AccessRules;
  metrics: ServerMetrics;
  downloads: Downloads;
  logger: Logger;
  /** As in ServerOptions. */
  lingerMs?: number;
}

/** In bytes. No message that Lyceum has a use for is near it, and parsing one of 4 MiB would hold up all others. */
const bodyLimit = 256 * 1024;
const longestUrl = 8192;
/** Of a path, in characters. Node takes no longer URL: what is too long is refused as a whole, wherever it is long. */
const longestPart = 16 * 1024;
/** A request that is not there whole by then is cut off. */
const requestWithinMs = 30_000;
/** How often Node looks whether that time is over: left alone, every 30 s. */
const lookEveryMs = 2_000;
/** A connection on which nothing moves for so long is cut: a client that does not read its answer keeps it in memory. */
const silentForMs = 90_000;

declare module 'fastify' {
  interface FastifyRequest {
    labels?: RequestLabels;
  }
}

export function createApp(options: AppOptions): FastifyInstance {
  const app = Fastify({
    bodyLimit,
    requestTimeout: requestWithinMs,
    // Node takes the longer of the two times for the whole request, whichever it is.
    http: { headersTimeout: requestWithinMs, connectionsCheckingInterval: lookEveryMs },
    connectionTimeout: silentForMs,
    // None: fastify's ten seconds are for hooks as well, and a server that stops may wait longer for slow clients.
    pluginTimeout: 0,
    clientErrorHandler: clientErrorHandler(options.logger),
    // Before there is a route there are no hooks. Fastify's own words would repeat the URL.
    frameworkErrors: (_error, request, reply) => refuse(request, reply, 400, 'The URL is not one that can be read'),
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: longestPart },
  });
  app.decorateRequest('labels');
  let closing = false;
  const { catalogue, metrics, logger } = options;
  const isClosing = (): boolean => closing;
  const read = ({ kind, library }: Touched): void => metrics.read(kind, library);
  const tell = teller(metrics, logger);
  // Fastify's own handler is `routing`: it has what the front leaves.
  app.server.removeAllListeners('request');
  app.server.on('request', front({ ...options, read, tell, isClosing, ordinary: app.routing }));
  const connections = connectionsOf(app.server);
  const streams = new ChangeStreams({ catalogue, counted: metrics.streams, logger });
  app.addHook('preClose', async () => {
    closing = true;
    await pause(options.lingerMs ?? 0);
    await streams.close();
    await connections.sent();
    connections.closeUnused();
  });

  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close');
    done(null, payload);
  });
  app.addHook('onRequest', (request, reply, done) => {
    if ((request.raw.url?.length ?? 0) <= longestUrl) return done();
    refuse(request, reply, 414, `The URL is longer than ${longestUrl} characters`);
  });
  addAccess(app, options.access, options.catalogue);
  addAuthentication(app, options.catalogue);
  app.addHook('onResponse', (request, reply, done) => {
    const { labels, client } = request;
    const seconds = labels?.seconds ?? reply.elapsedTime / 1000;
    tell({ http: request.method, route: request.routeOptions.url, status: reply.statusCode, labels, client, seconds });
    done();
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => answerError(error, request, reply, logger));
  app.setNotFoundHandler((request, reply) => refuse(request, reply, 404, 'There is nothing here; MCP is at /mcp'));

  app.removeAllContentTypeParsers();
  // Both names, since the usual one is found at once and any other is searched for.
  app.addContentTypeParser(['application/json', '*'], { parseAs: 'buffer' }, (request, body, done) => {
    try {
      done(null, jsonBody(request.headers['content-type'], body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });

  addProbes(app, { catalogue: options.catalogue, isClosing });
  addMcp(app, { ...options, read, streams, isClosing });
  addDiscovery(app, options);
  addPages(app, options);
  addReindex(app, options);
  addOpenapi(app);
  return app;
}

function answerError(
  error: Error & { code?: string; statusCode?: number },
  request: FastifyRequest,
  reply: FastifyReply,
  logger: Logger,
): FastifyReply {
  if (error instanceof Unauthorized) return answerUnauthorized(request, reply);
  const answer = (status: number, message: string, code?: number) => refuse(request, reply, status, message, code);
  if (error instanceof NotJson) return answer(400, 'Parse error: the body is not JSON in UTF-8', rpcCodes.parseError);
  if (error instanceof UnsupportedMediaType) {
    return answer(415, 'Unsupported media type: Content-Type must be application/json');
  }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return answer(413, `The body is larger than ${bodyLimit} bytes`);
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return answer(error.statusCode, 'The request is not valid HTTP for this server', rpcCodes.invalidRequest);
  }
  logger.error({ err: error }, 'request failed');
  return answer(500, 'Internal error', rpcCodes.internalError);
}
