// The streams of change notices that are open: bounded, fed by each new snapshot, each told of its own view alone.
import { setImmediate as turn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { type Changes, changedAddresses, changesBetween } from '../answers/changes.ts';
import type { ChangeStream } from '../mcp/change-stream.ts';
import type { View } from '../view.ts';
import { Unauthorized } from './authentication.ts';
import type { CurrentCatalogue } from './catalogue.ts';
import { viewOf } from './request-view.ts';

export interface ChangeStreamsOptions {
  catalogue: CurrentCatalogue;
  /** Told how many are open whenever that changes. */
  counted(open: number): void;
  logger: Logger;
  /** Streams at once. Default: 1,000 of all, 100 of one client, who is known by his token, else by his address. */
  most?: { all: number; client: number };
}

interface Listener {
  request: FastifyRequest;
  reply: FastifyReply;
  stream: ChangeStream;
  /** What he was last told of. */
  view: View;
}

const mostByDefault = { all: 1000, client: 100 };
const lookEveryMs = 250;
/** Bytes that a client has not taken. A notice has some 200. */
const mostUnread = 64 * 1024;

export class ChangeStreams {
  readonly #options: ChangeStreamsOptions;
  readonly #open = new Set<Listener>();
  #places = 0;
  readonly #ofClient = new Map<string, number>();
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ChangeStreamsOptions) {
    this.#options = options;
  }

  /** Takes a place for one more. @returns what gives it back; undefined when all are taken */
  enter(request: FastifyRequest): (() => void) | undefined {
    const { all, client } = this.#options.most ?? mostByDefault;
    const name = nameOf(request);
    const ofClient = this.#ofClient.get(name) ?? 0;
    if (this.#places >= all || ofClient >= client) return undefined;
    this.#places += 1;
    this.#ofClient.set(name, ofClient + 1);
    return () => {
      this.#places -= 1;
      const left = this.#ofClient.get(name)! - 1;
      if (left > 0) this.#ofClient.set(name, left);
      else this.#ofClient.delete(name);
    };
  }

  /** Sends a stream as the answer to a request. Resolves when it has ended. @param view what the client sees now */
  send(request: FastifyRequest, reply: FastifyReply, stream: ChangeStream, view: View): Promise<void> {
    const listener = { request, reply, stream, view };
    this.#add(listener);
    reply.raw.once('close', () => void stream.close());
    return pass(stream.events, reply).finally(() => this.#remove(listener));
  }

  /** Ends all of them with their final results. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#open].map(({ stream }) => stream.close()));
    await this.#looking;
  }

  #add(listener: Listener): void {
    this.#open.add(listener);
    this.#options.counted(this.#open.size);
    this.#timer ??= setInterval(() => {
      this.#looking ??= this.#look()
        .catch((error: unknown) => this.#options.logger.error({ err: error }, 'change notices failed'))
        .finally(() => {
          this.#looking = undefined;
        });
    }, lookEveryMs);
  }

  #remove(listener: Listener): void {
    this.#open.delete(listener);
    this.#options.counted(this.#open.size);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Tells everybody whose view another snapshot has changed. Who has lost his token is told nothing more. */
  async #look(): Promise<void> {
    const { snapshot } = this.#options.catalogue;
    if (snapshot === undefined) return;
    const known = new Map<View, Map<View, Changes>>();
    for (const listener of [...this.#open]) {
      const before = listener.view;
      if (before.snapshot === snapshot) continue;
      try {
        listener.view = viewOf(listener.request, snapshot);
      } catch (error) {
        if (!(error instanceof Unauthorized)) throw error;
        await listener.stream.close();
        continue;
      }
      tell(listener, before, known);
      await turn();
    }
  }
}

/** @param known what was found already between two views: most clients have the same */
function tell({ stream: { notify, uris }, view }: Listener, before: View, known: Map<View, Map<View, Changes>>): void {
  let found = known.get(before)?.get(view);
  if (found === undefined) {
    found = changesBetween(before, view);
    known.set(before, (known.get(before) ?? new Map<View, Changes>()).set(view, found));
  }
  if (found.resources) notify.resourcesChanged();
  if (found.prompts) notify.promptsChanged();
  if (uris.length > 0) for (const uri of changedAddresses(before, view, uris)) notify.resourceUpdated(uri);
}

const nameOf = ({ client, ip }: FastifyRequest): string => (client === undefined ? `from ${ip}` : `client ${client}`);

/** Writes events as they come. Who does not read them is cut off, since they would be kept for him. */
async function pass(events: ReadableStream<Uint8Array>, reply: FastifyReply): Promise<void> {
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  if (reply.request.headers.origin !== undefined) raw.setHeader('vary', 'Origin');
  reply.hijack();
  raw.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    connection: 'close',
  });
  for await (const event of events) {
    if (raw.destroyed) break;
    raw.write(event);
    if (raw.writableLength > mostUnread) raw.destroy();
  }
  raw.end();
}
