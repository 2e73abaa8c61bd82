// The operator's two small HTTP listeners: probes for the kubelet, metrics for Prometheus.
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import type { Registry } from 'prom-client';

export interface Listener {
  port: number;
  close(): Promise<void>;
}

/** What readiness waits for, in words, or nothing when the operator is ready. */
export type Unready = () => string | undefined;

/** `/healthz` answers while the process works, whatever the API server does; `/readyz` says what is missing. */
export const probesListener = (host: string, port: number, unready: Unready): Promise<Listener> =>
  listen(host, port, (request, response) => {
    const path = pathOf(request.url);
    const reason = path === '/readyz' ? unready() : path === '/healthz' ? undefined : 'no such page';
    const status = reason === undefined ? 200 : path === '/readyz' ? 503 : 404;
    response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${reason ?? 'ok'}\n`);
  });

/** `/metrics` in the text format of Prometheus. */
export const metricsListener = (host: string, port: number, registry: Registry): Promise<Listener> =>
  listen(host, port, (request, response) => {
    if (pathOf(request.url) !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });

const pathOf = (url: string | undefined): string => (url ?? '').split('?')[0]!;

async function listen(host: string, port: number, answer: RequestListener): Promise<Listener> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5_000 }, answer);
  return {
    port: await listening(server, host, port),
    close: () => closed(server, 0),
  };
}

/** @returns the port, once the server listens @throws Error when it cannot */
export async function listening(server: Server, host: string, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(port, host, resolve);
  await promise;
  return (server.address() as AddressInfo).port;
}

/** Resolves when nothing is answered any more. @param patience how long what is being answered may take, in milliseconds */
export function closed(server: HttpServer | HttpsServer, patience: number): Promise<void> {
  return new Promise((done) => {
    const last = setTimeout(() => server.closeAllConnections(), patience);
    server.close(() => {
      clearTimeout(last);
      done();
    });
    server.closeIdleConnections();
  });
}
