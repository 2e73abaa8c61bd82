// The port of a copy: for the kubelet whether a server may start and whether there is a catalogue, metrics for Prometheus.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { RunningSync } from './sync.ts';

export interface SyncListener {
  port: number;
  close(): Promise<void>;
}

/** @param port 0: any free one @throws Error when it cannot be listened on */
export async function listen(host: string, port: number, sync: RunningSync, registry: Registry): Promise<SyncListener> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5_000 }, (request, response) => {
    const text = (status: number, words: string): void => {
      response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${words}\n`);
    };
    const unless = (holds: boolean): void =>
      holds ? text(200, 'ok') : text(503, sync.fault() ?? 'the first copy is under way');
    switch (request.url?.split('?')[0]) {
      case '/healthz':
        return text(200, 'ok');
      case '/startz':
        return unless(sync.started());
      case '/readyz':
        return unless(sync.hasCatalogue());
      case '/metrics':
        registry.metrics().then(
          (metrics) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(metrics),
          () => response.writeHead(500).end(),
        );
        return;
      default:
        return text(404, 'no such page');
    }
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(port, host, resolve);
  await promise;
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
