// HTTP as it stands on the wire: headers that stand twice, targets that no client would build, bodies that come in pieces.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawReply {
  status: number;
  /** Lines of the head but the first, in lower case up to the colon, without Date. */
  headers: string[];
  body: string;
}

/** What the server answers to these bytes until it closes the connection, so they must ask it to. */
export async function spoken(url: string, bytes: string): Promise<RawReply> {
  const socket = await connected(url);
  socket.write(bytes);
  return await heard(socket);
}

export async function connected(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

export async function heard(socket: Socket): Promise<RawReply> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  const [head = '', ...rest] = Buffer.concat(chunks).toString().split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line) => line.replace(/^[^:]+/, (name) => name.toLowerCase()));
  return {
    status: Number(first.split(' ')[1]),
    headers: headers.filter((line) => !line.startsWith('date:')),
    body: rest.join('\r\n\r\n'),
  };
}

/** The head of a POST to /mcp with these further lines. */
export const postHead = (body: string, ...lines: string[]): string =>
  [
    'POST /mcp HTTP/1.1',
    'Host: localhost',
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...lines,
    '\r\n',
  ].join('\r\n');
