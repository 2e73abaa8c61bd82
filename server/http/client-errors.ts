// What a client gets that does not speak HTTP, or stops in the middle. The error that Node gives holds what was sent, with
// its credentials, so nothing of it but the code is logged.
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { jsonRpcErrorBody, rpcCodes } from '../mcp/json-rpc.ts';

const answers: Readonly<Record<string, [status: number, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not come whole in time'],
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large'],
};

export function clientErrorHandler(log: FastifyBaseLogger): (error: Error & { code?: string }, socket: Socket) => void {
  return ({ code = 'unknown' }, socket) => {
    if (code === 'ECONNRESET' || socket.destroyed) return;
    log.debug({ code }, 'client error');
    const [status, message] = answers[code] ?? [400, 'The request is not valid HTTP'];
    const body = JSON.stringify(jsonRpcErrorBody(rpcCodes.refused, message));
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
    if (socket.writable) socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
    socket.destroySoon();
  };
}
