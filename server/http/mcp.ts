// The route /mcp: one POST, one answer. There are no sessions, so nothing else is allowed.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Touched } from '../answers/read.ts';
import { Budget } from '../budget.ts';
import { askedFiles, bytesAsked } from '../live/asked.ts';
import { listenMethod } from '../mcp/change-stream.ts';
import type { Asked, Endpoint } from '../mcp/endpoint.ts';
import { jsonRpcErrorBody, rpcCodes } from '../mcp/json-rpc.ts';
import type { RequestContext } from '../mcp/method.ts';
import { methodLabel } from '../metrics.ts';
import { isLive } from '../view.ts';
import type { CurrentCatalogue } from './catalogue.ts';
import type { ChangeStreams } from './change-streams.ts';
import { sendAnswer } from './send-answer.ts';
import { wishOf } from './wish.ts';

export interface McpOptions {
  catalogue: CurrentCatalogue;
  endpoint: Endpoint;
  /** Told of everything that is read. */
  read(touched: Touched): void;
  logger: Logger;
  streams: ChangeStreams;
  /** Whether the server was told to stop. */
  isClosing(): boolean;
}

const answerWithinMs = 60_000;
/** Bytes of files that are being read for answers or sent with them. An answer takes several times as much while it is made. */
const inMemory = 16 * 1024 * 1024;

export function addMcp(app: FastifyInstance, options: McpOptions): void {
  const { catalogue, endpoint, read, logger, streams, isClosing } = options;
  const budget = new Budget(inMemory);
  app.post('/mcp', async (request, reply) => {
    const { snapshot } = catalogue;
    const asked = endpoint.asked(request.headers, request.body);
    const { method, id } = messageOf(request.body);
    request.labels = { method: methodLabel(method), era: asked.era };
    if (snapshot === undefined) {
      const message = 'No catalogue is loaded yet; GET /readyz says why';
      return reply
        .code(503)
        .header('retry-after', '1')
        .send(jsonRpcErrorBody(rpcCodes.internalError, message, id));
    }
    let wish = wishOf(request, snapshot);
    if (isLive(wish.view)) {
      const fresh = await catalogue.fresh?.(snapshot, askedFiles(wish.view, request.body));
      if (fresh !== undefined && fresh !== snapshot) wish = wishOf(request, fresh);
    }
    const context = { era: asked.era, ...wish, logger, read };
    if (endpoint.wantsStream(asked)) return listen(request, reply, asked, context);
    const kept = endpoint.kept(asked, context);
    if (kept !== undefined) return sendAnswer(reply, kept, isClosing());
    await hold(reply, bytesAsked(context.view, request.body));
    return sendAnswer(reply, await within(answerWithinMs, endpoint.answer(asked, context)), isClosing());
  });
  /** Waits until so many bytes may be in memory, which they are until the answer is taken or the client is gone. */
  const hold = async (reply: FastifyReply, bytes: number): Promise<void> => {
    const giveBack = await budget.take(bytes, () => reply.raw.destroy());
    if (reply.raw.destroyed) giveBack();
    else reply.raw.once('close', giveBack);
  };
  const listen = async (request: FastifyRequest, reply: FastifyReply, asked: Asked, context: RequestContext) => {
    const leave = streams.enter(request);
    if (leave === undefined) {
      const { id } = messageOf(asked.body);
      const message = 'There are as many change streams open as this server allows; list again instead, or try later';
      return reply
        .code(503)
        .header('retry-after', '60')
        .send(jsonRpcErrorBody(rpcCodes.internalError, message, id));
    }
    return openStream(request, reply, asked, context).finally(leave);
  };
  /** A stream may be open for days. Nobody awaits its end here, since what was asked, and seen then, would be kept for him. */
  const openStream = async (request: FastifyRequest, reply: FastifyReply, asked: Asked, context: RequestContext) => {
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const opened = await endpoint.listen(asked, context, gone.signal);
    if (!('events' in opened)) return sendAnswer(reply, opened, isClosing());
    request.labels = { method: methodLabel(listenMethod), era: 'modern', seconds: reply.elapsedTime / 1000 };
    request.body = undefined;
    return streams.send(request, reply, opened, context.view).then(() => reply);
  };
  app.route({
    method: ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'],
    url: '/mcp',
    handler: async (_request, reply) =>
      reply
        .code(405)
        .header('allow', 'POST')
        .send(jsonRpcErrorBody(rpcCodes.refused, 'Method not allowed: there are no sessions, use POST')),
  });
}

class TookTooLong extends Error {}

const messageOf = (body: unknown): { method?: unknown; id?: unknown } =>
  typeof body === 'object' && body !== null ? body : {};

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
