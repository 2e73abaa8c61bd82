// The HTTP face: /mcp for agents, probes and health for the cluster. Everything unusual is answered as JSON.
import { setTimeout as pause } from 'node:timers/promises';
import { isJsonContentType } from '@modelcontextprotocol/server';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  LogController,
} from 'fastify';
import { requestChoices } from '../choices.ts';
import { type Endpoint, eraOf } from '../mcp/endpoint.ts';
import { jsonRpcErrorBody, rpcCodes } from '../mcp/json-rpc.ts';
import { methodLabel, type ServerMetrics } from '../metrics.ts';
import { intersect, requestScope, settingScope } from '../scope.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { LoadFault } from '../snapshot/watch.ts';
import { visible } from '../view.ts';
import { type AccessRules, refusal } from './access.ts';
import { clientErrorHandler } from './client-errors.ts';
import { healthBody, readiness } from './health.ts';

export interface AppOptions {
  catalogue: { readonly snapshot: Snapshot | undefined; readonly fault: LoadFault | undefined };
  endpoint: Endpoint;
  access: AccessRules;
  metrics: ServerMetrics;
  logger: FastifyBaseLogger;
  /** As in ServerOptions. */
  lingerMs?: number;
}

/** In bytes. No message that Lyceum has a use for is near it, and parsing one of 4 MiB would hold up all others. */
const bodyLimit = 256 * 1024;
const longestUrl = 8192;
/** A request that is not there whole by then is cut off. */
const requestWithinMs = 30_000;
const answerWithinMs = 60_000;
/** A connection on which nothing moves for so long is cut: a client that does not read its answer keeps it in memory. */
const silentForMs = 90_000;

/** What a request is called in the log and in the metrics. */
interface RequestLabels {
  method: string;
  era: string;
}

const unlabelled: RequestLabels = { method: 'other', era: 'none' };

export function createApp(options: AppOptions): FastifyInstance {
  const app = Fastify({
    loggerInstance: options.logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit,
    requestTimeout: requestWithinMs,
    connectionTimeout: silentForMs,
    clientErrorHandler: clientErrorHandler(options.logger),
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true },
  });
  const labels = new WeakMap<object, RequestLabels>();
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
    await pause(options.lingerMs ?? 0);
  });

  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close');
    done(null, payload);
  });
  app.addHook('onRequest', async (request, reply) => {
    if (request.raw.url !== undefined && request.raw.url.length > longestUrl) {
      const message = `The URL is longer than ${longestUrl} characters`;
      return reply.code(414).send(jsonRpcErrorBody(rpcCodes.refused, message));
    }
    const why = refusal(options.access, request.headers.origin, request.headers.host);
    if (why !== undefined) return reply.code(403).send(jsonRpcErrorBody(rpcCodes.refused, why));
  });
  app.addHook('onResponse', async (request, reply) => {
    const { method, era } = labels.get(request) ?? unlabelled;
    const route = request.routeOptions.url ?? 'unknown';
    const seconds = reply.elapsedTime / 1000;
    if (route === '/mcp') options.metrics.request(method, era, seconds);
    request.log.debug({ http: request.method, route, status: reply.statusCode, method, era, seconds }, 'request');
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => answerError(error, request.log, reply));
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'There is nothing here; MCP is at /mcp' }));

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    if (!isJsonContentType(request.headers['content-type'] ?? null)) return done(new UnsupportedMediaType());
    try {
      done(null, JSON.parse(utf8.decode(body as Buffer)));
    } catch {
      done(new NotJson());
    }
  });

  app.get('/livez', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const state = readiness(options.catalogue.snapshot, options.catalogue.fault, closing);
    return reply.code(state.ready ? 200 : 503).send(state);
  });
  app.get('/health', async () => healthBody(options.catalogue.snapshot, options.catalogue.fault));

  app.post('/mcp', async (request, reply) => {
    const { snapshot } = options.catalogue;
    const { headers, body } = request;
    const { method, id } = messageOf(body);
    labels.set(request, { method: methodLabel(method), era: eraOf(headers, body) });
    if (snapshot === undefined) {
      const message = 'No catalogue is loaded yet; GET /readyz says why';
      return reply
        .code(503)
        .header('retry-after', '1')
        .send(jsonRpcErrorBody(rpcCodes.internalError, message, id));
    }
    const query = queryOf(request.raw.url ?? '');
    const scope = intersect(settingScope(snapshot.index.scope), requestScope(headers, query));
    const context = { view: visible(snapshot, scope), choices: requestChoices(headers, query) };
    const answer = await within(answerWithinMs, options.endpoint.answer(headers, body, context));
    return sendAnswer(reply, answer);
  });
  app.route({
    method: ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'],
    url: '/mcp',
    handler: async (_request, reply) =>
      reply
        .code(405)
        .header('allow', 'POST')
        .send(jsonRpcErrorBody(rpcCodes.refused, 'Method not allowed: there are no sessions and no streams, use POST')),
  });
  return app;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

class NotJson extends Error {}
class UnsupportedMediaType extends Error {}
class TookTooLong extends Error {}

function answerError(
  error: Error & { code?: string; statusCode?: number },
  log: FastifyBaseLogger,
  reply: FastifyReply,
) {
  const answer = (status: number, code: number, message: string) =>
    reply.code(status).send(jsonRpcErrorBody(code, message));
  if (error instanceof NotJson) return answer(400, rpcCodes.parseError, 'Parse error: the body is not JSON in UTF-8');
  if (error instanceof UnsupportedMediaType) {
    return answer(415, rpcCodes.refused, 'Unsupported media type: Content-Type must be application/json');
  }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return answer(413, rpcCodes.refused, `The body is larger than ${bodyLimit} bytes`);
  }
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return answer(error.statusCode, rpcCodes.invalidRequest, 'The request is not valid HTTP for this server');
  }
  log.error({ err: error }, 'request failed');
  return answer(500, rpcCodes.internalError, 'Internal error');
}

function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
}

const messageOf = (body: unknown): { method?: unknown; id?: unknown } =>
  typeof body === 'object' && body !== null ? body : {};

async function sendAnswer(reply: FastifyReply, answer: Response): Promise<FastifyReply> {
  const type = answer.headers.get('content-type');
  const allow = answer.headers.get('allow');
  reply.code(answer.status);
  if (type !== null) reply.type(type);
  if (allow !== null) reply.header('allow', allow);
  return reply.send(answer.body === null ? undefined : await answer.text());
}

/** The result, or TookTooLong after so many milliseconds. */
async function within<T>(milliseconds: number, result: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      result,
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new TookTooLong(`no answer within ${milliseconds} ms`)), milliseconds);
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
}
