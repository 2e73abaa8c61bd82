// The body of a call, as far as a route wants it.
import type { IncomingMessage } from 'node:http';

/** It is longer than its route takes. */
export class BodyTooLong extends Error {}

/**
 * @param mostBytes of a longer body no more than these are held in memory
 * @throws BodyTooLong; errors of a connection that breaks off
 */
export async function readBody(request: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of bodyPieces(request, mostBytes)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The body as it comes. @throws BodyTooLong; errors of a connection that breaks off */
export async function* bodyPieces(request: IncomingMessage, mostBytes: number): AsyncGenerator<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) throw new BodyTooLong();
  let bytes = 0;
  // The connection must stay: there is an answer to give.
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    bytes += piece.length;
    if (bytes > mostBytes) throw new BodyTooLong();
    yield piece;
  }
}
