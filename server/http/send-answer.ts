// Sends the answer to one POST.
import type { FastifyReply } from 'fastify';
import type { Answer, SplicedAnswer } from '../mcp/answer.ts';

/** @param closing whether the connection ends with this answer */
export function sendAnswer(reply: FastifyReply, answer: Answer, closing: boolean): FastifyReply {
  if ('head' in answer) return sendInPieces(reply, answer, closing);
  const { status, type, allow, body } = answer;
  reply.code(status);
  if (type !== undefined) reply.type(type);
  if (allow !== undefined) reply.header('allow', allow);
  return reply.send(body);
}

/**
 * A body that is kept for many leaves as it is, behind a head of this request's own: as one piece it would be copied, which
 * costs more than all else about a kept answer. Fastify knows no such way, so its hooks for what is sent do not run: what they
 * add for pages and at the end is seen to here.
 */
function sendInPieces(reply: FastifyReply, { head, rest }: SplicedAnswer, closing: boolean): FastifyReply {
  if (reply.request.headers.origin !== undefined) {
    return reply.type('application/json; charset=utf-8').send(Buffer.concat([Buffer.from(head), rest]));
  }
  reply.hijack();
  reply.raw.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(head) + rest.length,
    ...(closing ? { connection: 'close' } : {}),
  });
  reply.raw.write(head);
  reply.raw.end(rest);
  return reply;
}
