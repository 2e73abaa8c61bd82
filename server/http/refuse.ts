// Refuses a request in the form that its sender reads: a JSON-RPC error at /mcp, a page in a browser, plain JSON elsewhere.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { jsonRpcErrorBody, rpcCodes } from '../mcp/json-rpc.ts';
import { errorPage } from '../pages/error-page.ts';
import { pageHeaders } from '../pages/page-headers.ts';

/** @param code of the JSON-RPC error */
export function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  message: string,
  code: number = rpcCodes.refused,
): FastifyReply {
  reply.code(status);
  if (request.routeOptions.url === '/mcp') return reply.send(jsonRpcErrorBody(code, message));
  if (!isBrowser(request)) return reply.header('cache-control', 'no-store').send({ error: message });
  return reply.headers(pageHeaders).type('text/html; charset=utf-8').send(errorPage(status, message));
}

/** Programs hardly ever say that they want HTML; browsers do where a person is to see the answer. */
const isBrowser = ({ method, headers: { accept = '' } }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && accept.includes('text/html');
