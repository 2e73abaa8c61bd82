// What a client gets that does not speak HTTP, or stops in the middle. The error that Node gives holds what was sent, with
// its credentials, so nothing of it but the code is logged.
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { jsonRpcErrorBody, rpcCodes } from '../mcp/json-rpc.ts';

const answers: Readonly<Record<string, [status: number, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not come whole in time'],
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large'],
};

export function clientErrorHandler(log: FastifyBaseLogger): (error: Error & { code?: string }, socket: Socket) => void {
  const refused = new WeakSet<Socket>();
  return ({ code = 'unknown' }, socket) => {
    if (code === 'ECONNRESET' || socket.destroyed || refused.has(socket)) return;
    // Node tells of each further piece.
    refused.add(socket);
    log.debug({ code }, 'client error');
    const [status, message] = answers[code] ?? [400, 'The request is not valid HTTP'];
    const body = JSON.stringify(jsonRpcErrorBody(rpcCodes.refused, message));
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
    afterAnswers(socket, () => {
      if (socket.writable) socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
      socket.destroySoon();
    });
  };
}

/** Whole requests that came before have their answers first: what is written between would be taken for a part of them. */
function afterAnswers(socket: Socket, then: () => void): void {
  // Nothing public says what Node is answering on a connection; its own handler of such errors looks here as well.
  const { _httpMessage: underWay } = socket as Socket & { _httpMessage?: ServerResponse | null };
  if (underWay?.req.complete) underWay.once('finish', () => afterAnswers(socket, then));
  else then();
}
