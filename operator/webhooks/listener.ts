// The operator's port for webhooks: plain HTTP, for whoever speaks TLS in front of it. Every sender is a stranger until he proves more.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { BodyTooLong, bodyPieces } from '../callers/body.ts';
import { closed, type Listener, listening } from '../listeners.ts';
import type { Receiver, WebhookResult } from './receiver.ts';
import { passOn } from './relay.ts';

export interface WebhooksListenerOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  receiver: Pick<Receiver, 'receive'>;
  /** Whether this operator does the work of the leader now. */
  working(): boolean;
  /** Where another one that leads takes webhooks, as an origin; undefined while none is known. */
  leader(): Promise<string | undefined>;
  log: Logger;
}

/** GitHub sends up to 25 MB. */
export const mostBodyBytes = 25 * 1024 * 1024;
const mostConnections = 256;
/** How long a webhook that is being received may take to its end when the operator stops, in milliseconds. */
const farewellMilliseconds = 5_000;

/** @throws Error when the port cannot be listened on */
export async function webhooksListener(options: WebhooksListenerOptions): Promise<Listener> {
  const server = createServer(
    { headersTimeout: 5_000, requestTimeout: 30_000, connectionsCheckingInterval: 1_000 },
    (request, response) => void answer(request, response, options),
  );
  server.maxConnections = mostConnections;
  const port = await listening(server, options.host, options.port);
  return { port, close: () => closed(server, farewellMilliseconds) };
}

type Headers = Record<string, string>;

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: WebhooksListenerOptions,
): Promise<void> {
  const send = (status: number, body: object, headers: Headers = {}): void => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
  const source = sourceIn(request.url ?? '');
  if (source === undefined) return send(404, { error: 'NotFound' }, { Connection: 'close' });
  if (request.method !== 'POST')
    return send(405, { error: 'MethodNotAllowed' }, { Allow: 'POST', Connection: 'close' });
  try {
    if (options.working()) return tell(send, await receive(request, source, options.receiver));
    const leader = await options.leader();
    const told = leader === undefined ? undefined : await passOn(request, leader, mostBodyBytes);
    if (told === undefined) return send(503, { error: 'NoLeader' }, later);
    send(told.status, told.body, told.status === 401 ? challenge : told.status === 503 ? later : {});
  } catch (error) {
    if (error instanceof BodyTooLong) return send(413, { error: 'TooLong' }, { Connection: 'close' });
    if (request.errored) return;
    options.log.warn({ error: error instanceof Error ? error.message : 'unknown' }, 'a webhook could not be answered');
    send(503, { error: 'Unavailable' }, later);
  }
}

/** What the source is not, and what another connection may try. */
const later: Headers = { 'Retry-After': '20', Connection: 'close' };
const challenge: Headers = { 'WWW-Authenticate': 'Bearer' };

/** @throws BodyTooLong; KubernetesError; errors of a connection that breaks off */
async function receive(
  request: IncomingMessage,
  source: string,
  receiver: Pick<Receiver, 'receive'>,
): Promise<WebhookResult> {
  const delivery = await receiver.receive(source, request.headersDistinct);
  try {
    for await (const piece of bodyPieces(request, mostBodyBytes)) delivery.update(piece);
  } catch (error) {
    delivery.end(false);
    throw error;
  }
  return delivery.end(true);
}

function tell(send: (status: number, body: object, headers?: Headers) => void, result: WebhookResult): void {
  if (result === 'refused') send(401, { error: 'Unauthorized' }, challenge);
  else send(202, { look: result });
}

const part = '[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?';
const path = new RegExp(`^/hooks/(${part}/${part})(?:\\?|$)`);

/** `NAMESPACE/NAME` in the path of a webhook. */
const sourceIn = (url: string): string | undefined => path.exec(url)?.[1];
