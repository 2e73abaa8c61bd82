// The operator's port for its own servers: HTTPS, every caller known before anything else is looked at.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { ObjectKey } from '../kubernetes/cluster.ts';
import { closed, type Listener, listening } from '../listeners.ts';
import { BodyTooLong, readBody } from './body.ts';
import type { Caller } from './callers.ts';
import { followCertificate, readCertificate } from './certificate.ts';
import type { Copier } from './copiers.ts';

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

/** What is sent as it is. */
export interface FileAnswer {
  status: number;
  headers: Record<string, string>;
  content?: Buffer | Readable;
}

/** A call of a pod that copies the catalogue of a gateway. */
export interface CopyCall {
  gateway: ObjectKey;
  /** Whether the pod was started for that gateway. */
  own: boolean;
  query: URLSearchParams;
  header(name: string): string | undefined;
  /** Whether he may still copy it: a call may wait, and be answered when his pod or the spec is another. */
  mayStill(): Promise<boolean>;
  /** Aborts when nobody waits any longer, and when the operator stops. */
  signal: AbortSignal;
}

export type CopyRoute = (call: CopyCall) => Promise<Answer | FileAnswer>;

export interface CallersListenerOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** A folder with `tls.crt` and `tls.key`. */
  tlsFolder: string;
  identify(authorization: string | undefined): Promise<Caller>;
  /** By method and path: `POST /reindex`. */
  routes: Readonly<Record<string, Route>>;
  /** Routes by which catalogues are copied; the query's `gateway` names one of the caller's namespace. */
  copies?:
    | {
        identify(authorization: string | undefined, gateway: string): Promise<Copier>;
        routes: Readonly<Record<string, CopyRoute>>;
      }
    | undefined;
  clock: Clock;
  log: Logger;
}

/** Each pod that copies a catalogue holds one. */
const mostConnections = 1024;
/** A pod that takes nothing of what is sent to it for so long has gone, in milliseconds. */
const stalledMilliseconds = 30_000;
/** How long calls that are being answered may take to their end, in milliseconds. */
const farewellMilliseconds = 10_000;

/** @throws Error when the certificate cannot be used or the port not be listened on */
export async function callersListener(options: CallersListenerOptions): Promise<Listener> {
  const { host, port, tlsFolder, clock, log } = options;
  const certificate = await readCertificate(tlsFolder);
  const stop = new AbortController();
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
    (request, response) => void answer(request, response, options, stop.signal),
  );
  server.maxConnections = mostConnections;
  const bound = await listening(server, host, port);
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
  { identify, routes, copies, log }: CallersListenerOptions,
  stop: AbortSignal,
): Promise<void> {
  const send = ({ status, body }: Answer, headers: Record<string, string> = {}): void => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
  try {
    const { authorization = '' } = request.headers;
    const { path, query } = targetOf(request.url);
    const key = `${request.method} ${path}`;
    const copy = copies !== undefined && Object.hasOwn(copies.routes, key) ? copies.routes[key] : undefined;
    const copier = (): Promise<Copier> => copies!.identify(authorization, query.get('gateway') ?? '');
    const caller = copy ? await copier() : await identify(authorization);
    if (caller === 'unknown') return send(unauthorized, { 'WWW-Authenticate': 'Bearer', Connection: 'close' });
    if (caller === 'stranger') return send(forbidden, { Connection: 'close' });
    if (copy !== undefined) {
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      const header = (name: string): string | undefined => {
        const value = request.headers[name];
        return typeof value === 'string' ? value : undefined;
      };
      const signal = AbortSignal.any([stop, gone.signal]);
      const mayStill = async (): Promise<boolean> => typeof (await copier()) === 'object';
      const answered = await copy({ own: false, ...caller, query, header, mayStill, signal });
      if ('body' in answered) send(answered);
      else await sendFile(response, answered);
      return;
    }
    const route = Object.hasOwn(routes, key) ? routes[key] : undefined;
    const body = (mostBytes: number): Promise<Buffer> => readBody(request, mostBytes);
    send(route === undefined ? notFound : await route({ gateway: caller.gateway, authorization, body }));
  } catch (error) {
    // Who breaks off, or gets a file that breaks off, sees a connection that ends too early.
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (error instanceof BodyTooLong) return send(tooLong, { Connection: 'close' });
    log.warn({ error: wordsOf(error), cause: wordsOf((error as Error).cause) }, 'a call could not be answered');
    send(unavailable);
  }
}

async function sendFile(response: ServerResponse, { status, headers, content }: FileAnswer): Promise<void> {
  if (response.destroyed) {
    if (content !== undefined && 'destroy' in content) content.destroy();
    return;
  }
  response.writeHead(status, headers);
  if (content === undefined || Buffer.isBuffer(content)) {
    response.end(content);
    return;
  }
  response.setTimeout(stalledMilliseconds, () => response.destroy());
  await pipeline(content, response);
}

function targetOf(url = ''): { path: string; query: URLSearchParams } {
  const [path = '', ...rest] = url.split('?');
  return { path, query: new URLSearchParams(rest.join('?')) };
}

const wordsOf = (error: unknown): string | undefined => (error instanceof Error ? error.message : undefined);

const unauthorized: Answer = { status: 401, body: { error: 'Unauthorized' } };
const forbidden: Answer = { status: 403, body: { error: 'Forbidden' } };
const tooLong: Answer = { status: 413, body: { error: 'TooLong' } };
const notFound: Answer = { status: 404, body: { error: 'NotFound' } };
const unavailable: Answer = { status: 503, body: { error: 'Unavailable' } };
