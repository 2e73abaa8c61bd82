// A proxy between the operator and a real API server, for what no real one does on demand: to be away for one client alone, to
// fall silent, to ask for patience, to be slow. It counts the watches that are open.
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as send } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Coordinates } from '../cluster/coordinates.ts';

/** What is done to requests: sent on, or cut, or answered with 429 and `Retry-After`, or sent on after a while. */
export type Manner =
  | { does: 'pass' }
  | { does: 'cut' }
  | { does: 'refuse'; retryAfterSeconds: number }
  | { does: 'delay'; milliseconds: number };

interface Watch {
  collection: string;
  frozen: boolean;
}

export class FaultProxy implements AsyncDisposable {
  readonly #listener: ReturnType<typeof createServer>;
  readonly #agent: Agent;
  readonly #backend: URL;
  readonly #watches = new Set<Watch>();
  /** By collection: no list or watch is due before. */
  readonly #askedToWait = new Map<string, number>();
  #manner: Manner = { does: 'pass' };
  /** Lists and watches that were told that their resource version is gone. */
  gone = 0;
  refused = 0;
  /** Lists and watches that came before the `Retry-After` that they had been given was over. */
  early = 0;

  private constructor(tls: { key: Buffer; cert: Buffer }, ca: Buffer, backend: URL) {
    this.#backend = backend;
    this.#agent = new Agent({ keepAlive: true, ca });
    this.#listener = createServer(tls, (request, response) => {
      response.on('error', () => {});
      void this.#answer(request, response);
    });
  }

  static async start({ url, folder, ca }: Coordinates): Promise<FaultProxy> {
    const [key, cert, authority] = await Promise.all(
      [join(folder, 'server.key'), join(folder, 'server.crt'), ca].map((path) => readFile(path)),
    );
    const proxy = new FaultProxy({ key: key!, cert: cert! }, authority!, new URL(url));
    proxy.#listener.listen(0, '127.0.0.1');
    await once(proxy.#listener, 'listening');
    return proxy;
  }

  /** Writes a kubeconfig that leads here. @returns its path */
  async kubeconfig(from: string): Promise<string> {
    const config = parse(await readFile(from, 'utf8'));
    config.clusters[0].cluster.server = `https://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
    const path = `${from}.proxied`;
    await writeFile(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  }

  /** How many watches are open, by collection. */
  get watches(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { collection } of this.#watches) counts[collection] = (counts[collection] ?? 0) + 1;
    return counts;
  }

  /** What happens to requests from now on; whatever is open ends, but where all is well again. */
  behave(manner: Manner): void {
    this.#manner = manner;
    if (manner.does !== 'pass') this.#listener.closeAllConnections();
  }

  /** Watches that are open stay open, and say nothing any more. */
  freeze(): void {
    for (const watch of this.#watches) watch.frozen = true;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://proxy');
    const manner = this.#manner;
    const watching = searchParams.has('watch');
    const collective = watching || searchParams.has('limit');
    if (collective && performance.now() < (this.#askedToWait.get(pathname) ?? 0)) this.early += 1;
    if (manner.does === 'cut') {
      request.socket.destroy();
      return;
    }
    if (manner.does === 'refuse') {
      this.refused += 1;
      this.#askedToWait.set(pathname, performance.now() + manner.retryAfterSeconds * 1000);
      const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'TooManyRequests', code: 429 };
      const headers = { 'content-type': 'application/json', 'retry-after': String(manner.retryAfterSeconds) };
      request.resume();
      response.writeHead(429, headers).end(JSON.stringify(status));
      return;
    }
    if (manner.does === 'delay') await new Promise((resolve) => setTimeout(resolve, manner.milliseconds));
    this.#sendOn(request, response, watching ? pathname : undefined);
  }

  #sendOn(request: IncomingMessage, response: ServerResponse, collection: string | undefined): void {
    const { method, url: path, headers } = request;
    const { hostname: host, port } = this.#backend;
    const onward = send({ host, port, method, path, headers, agent: this.#agent });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    onward.on('response', (answer) => {
      if (answer.statusCode === 410) this.gone += 1;
      answer.on('error', () => response.destroy());
      response.writeHead(answer.statusCode!, answer.headers);
      if (collection === undefined || answer.statusCode !== 200) {
        answer.pipe(response);
        return;
      }
      const watch: Watch = { collection, frozen: false };
      this.#watches.add(watch);
      response.flushHeaders();
      response.on('close', () => this.#watches.delete(watch));
      answer.on('data', (chunk: Buffer) => {
        if (watch.frozen) return;
        if (/"code":410\b/.test(chunk.toString('latin1'))) this.gone += 1;
        response.write(chunk);
      });
      answer.on('end', () => {
        if (!watch.frozen) response.end();
      });
    });
    request.pipe(onward);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.closeAllConnections();
    this.#agent.destroy();
    await new Promise((resolve) => this.#listener.close(resolve));
  }
}
