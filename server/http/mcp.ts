// The route /mcp: one POST, one answer. There are no sessions, so nothing else is allowed.
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import type { Touched } from '../answers/read.ts';
import { requestChoices } from '../choices.ts';
import { type Endpoint, eraOf } from '../mcp/endpoint.ts';
import { jsonRpcErrorBody, rpcCodes } from '../mcp/json-rpc.ts';
import { methodLabel, type ServerMetrics } from '../metrics.ts';
import type { CurrentCatalogue } from './catalogue.ts';
import { queryOf, viewOf } from './request-view.ts';

export interface McpOptions {
  catalogue: CurrentCatalogue;
  endpoint: Endpoint;
  metrics: ServerMetrics;
  logger: Logger;
}

const answerWithinMs = 60_000;

export function addMcp(app: FastifyInstance, { catalogue, endpoint, metrics, logger }: McpOptions): void {
  app.post('/mcp', async (request, reply) => {
    const { snapshot } = catalogue;
    const { headers, body } = request;
    const { method, id } = messageOf(body);
    const era = eraOf(headers, body);
    request.labels = { method: methodLabel(method), era };
    if (snapshot === undefined) {
      const message = 'No catalogue is loaded yet; GET /readyz says why';
      return reply
        .code(503)
        .header('retry-after', '1')
        .send(jsonRpcErrorBody(rpcCodes.internalError, message, id));
    }
    const context = {
      era,
      view: viewOf(request, snapshot),
      choices: requestChoices(headers, queryOf(request)),
      logger,
      read: ({ kind, library }: Touched) => metrics.read(kind, library),
    };
    return sendAnswer(reply, await within(answerWithinMs, endpoint.answer(headers, body, context)));
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
}

class TookTooLong extends Error {}

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
