// Sends the answer to one POST.
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Answer, SplicedAnswer } from '../mcp/answer.ts';

/** @param closing whether the connection ends with this answer */
export function sendAnswer(reply: FastifyReply, answer: Answer, closing: boolean): FastifyReply {
  if ('head' in answer) return sendSpliced(reply, answer, closing);
  const { status, type, allow, body } = answer;
  reply.code(status);
  if (type !== undefined) reply.type(type);
  if (allow !== undefined) reply.header('allow', allow);
  return reply.send(body);
}

/**
 * Fastify knows no way to send a body in pieces, so its hooks for what is sent do not run: what they add for pages and at the
 * end is seen to here.
 */
function sendSpliced(reply: FastifyReply, answer: SplicedAnswer, closing: boolean): FastifyReply {
  if (reply.request.headers.origin !== undefined) {
    return reply.type(json).send(Buffer.concat([Buffer.from(answer.head), answer.rest]));
  }
  reply.hijack();
  sendInPieces(reply.raw, answer, closing);
  return reply;
}

/**
 * A body that is kept for many leaves as it is, behind a head of this request's own: as one piece it would be copied, which
 * costs more than all else about a kept answer.
 * @param closing whether the connection ends with this answer
 */
export function sendInPieces(response: ServerResponse, { head, rest }: SplicedAnswer, closing: boolean): void {
  response.writeHead(200, {
    'content-type': json,
    'content-length': Buffer.byteLength(head) + rest.length,
    ...(closing ? { connection: 'close' } : {}),
  });
  response.write(head);
  response.end(rest);
}

const json = 'application/json; charset=utf-8';
