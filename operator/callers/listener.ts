// The operator's port for its own servers: HTTPS, every caller known before anything else is looked at.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { ObjectKey } from '../kubernetes/cluster.ts';
import { closed, type Listener, listening } from '../listeners.ts';
import { BodyTooLong, readBody } from './body.ts';
import type { Caller } from './callers.ts';
import { followCertificate, readCertificate } from './certificate.ts';

export interface Answer {
  status: number;
  body: object;
}

/** A call of a server that is known. */
export interface Call {
  /** For which it speaks. */
  gateway: ObjectKey;
  /** The header by which it is known. */
  authorization: string;
  /** What was sent, up to so many bytes. */
  body(mostBytes: number): Promise<Buffer>;
}

export type Route = (call: Call) => Promise<Answer>;

export interface CallersListenerOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** A folder with `tls.crt` and `tls.key`. */
  tlsFolder: string;
  identify(authorization: string | undefined): Promise<Caller>;
  /** By method and path: `POST /reindex`. */
  routes: Readonly<Record<string, Route>>;
  clock: Clock;
  log: Logger;
}

const mostConnections = 256;
/** How long calls that are being answered may take to their end, in milliseconds. */
const farewellMilliseconds = 10_000;

/** @throws Error when the certificate cannot be used or the port not be listened on */
export async function callersListener(options: CallersListenerOptions): Promise<Listener> {
  const { host, port, tlsFolder, clock, log } = options;
  const certificate = await readCertificate(tlsFolder);
  const server = createServer(
    {
      ...certificate,
      minVersion: 'TLSv1.2',
      handshakeTimeout: 5_000,
      headersTimeout: 5_000,
      requestTimeout: 10_000,
      // How often Node looks whether one of them is over: left alone, every 30 s.
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => void answer(request, response, options),
  );
  server.maxConnections = mostConnections;
  const bound = await listening(server, host, port);
  const stop = new AbortController();
  const changed = (now: typeof certificate): void => server.setSecureContext({ ...now, minVersion: 'TLSv1.2' });
  const following = followCertificate(tlsFolder, certificate, { clock, log, signal: stop.signal, changed });
  return {
    port: bound,
    async close() {
      stop.abort();
      await following;
      await closed(server, farewellMilliseconds);
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { identify, routes, log }: CallersListenerOptions,
): Promise<void> {
  const send = ({ status, body }: Answer, headers: Record<string, string> = {}): void => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
  try {
    const { authorization = '' } = request.headers;
    const caller = await identify(authorization);
    if (caller === 'unknown') return send(unauthorized, { 'WWW-Authenticate': 'Bearer', Connection: 'close' });
    if (caller === 'stranger') return send(forbidden, { Connection: 'close' });
    const path = (request.url ?? '').split('?')[0];
    const key = `${request.method} ${path}`;
    const route = Object.hasOwn(routes, key) ? routes[key] : undefined;
    const body = (mostBytes: number): Promise<Buffer> => readBody(request, mostBytes);
    send(route === undefined ? notFound : await route({ gateway: caller.gateway, authorization, body }));
  } catch (error) {
    if (error instanceof BodyTooLong) return send(tooLong, { Connection: 'close' });
    log.warn({ error: wordsOf(error), cause: wordsOf((error as Error).cause) }, 'a call could not be answered');
    send(unavailable);
  }
}

const wordsOf = (error: unknown): string | undefined => (error instanceof Error ? error.message : undefined);

const unauthorized: Answer = { status: 401, body: { error: 'Unauthorized' } };
const forbidden: Answer = { status: 403, body: { error: 'Forbidden' } };
const tooLong: Answer = { status: 413, body: { error: 'TooLong' } };
const notFound: Answer = { status: 404, body: { error: 'NotFound' } };
const unavailable: Answer = { status: 503, body: { error: 'Unavailable' } };
