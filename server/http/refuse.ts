// Refuses a request in the form that its sender reads: a JSON-RPC error at /mcp, plain JSON elsewhere.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { jsonRpcErrorBody, rpcCodes } from '../mcp/json-rpc.ts';

/** @param code of the JSON-RPC error */
export function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  message: string,
  code: number = rpcCodes.refused,
): FastifyReply {
  const body = request.routeOptions.url === '/mcp' ? jsonRpcErrorBody(code, message) : { error: message };
  return reply.code(status).send(body);
}
