// Keeps a store in step with one collection of the API server: list, then watch, for ever, whatever the server does.
import type { Logger } from 'pino';
import { type Clock, sleep } from '../clock.ts';
import { Backoff } from './backoff.ts';
import { keyOf } from './cluster.ts';
import type { Connection } from './connection.ts';
import { isKind } from './kubernetes-error.ts';
import { listAll } from './list.ts';
import type { ObjectStore } from './object-store.ts';
import { type RestartReason, type Step, stepAfter, WatchFault } from './watch-step.ts';
import { type WatchEvent, watchEvents } from './watch-stream.ts';
import { acceptOf, collectionPath, selectionOf, type WatchedResource } from './watched-resource.ts';

export interface ListWatchOptions {
  connection: Connection;
  resource: WatchedResource;
  namespace: string;
  store: ObjectStore;
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  metrics: WatchMetrics;
  /** Told when the API server begins or ceases to serve a resource that is optional. It must not throw. */
  served?: () => void;
  log: Logger;
}

export interface WatchMetrics {
  restarted(resource: string, reason: RestartReason): void;
  /** @param at milliseconds since the epoch */
  heard(resource: string, at: number): void;
}

/** For readiness: how far one list+watch is, and what keeps it from working. */
export interface WatchState {
  resource: string;
  namespace: string;
  synced: boolean;
  /** `since` in milliseconds since the epoch. */
  problem?: { reason: RestartReason; message: string; since: number };
}

const second = 1000;
const minute = 60 * second;
/** The server sends a bookmark about every minute: more than two missed ones are a dead watch. */
const silenceMilliseconds = 150 * second;
/** A server that does not end a watch in time is helped. */
const overtimeMilliseconds = 30 * second;
const shortMilliseconds = second;
/** An API server that has just started refuses for some seconds what it will grant. */
const hastyRefusals = 4;
/** A resource that the cluster is without is looked for again after this, or up to twice this. */
const absenceMilliseconds = 30 * second;

export class ListWatch {
  readonly #options: ListWatchOptions;
  readonly #backoff: Backoff;
  /** Resource version of the last list, event or bookmark; absent when only a list can tell the state. */
  #position: string | undefined;
  #relistAt = 0;
  #synced = false;
  #problem: WatchState['problem'];
  /** In a row, since the loop last worked. */
  #refusals = 0;
  /** While the cluster is without an optional resource; aborted to look for it at once. */
  #absence: AbortController | undefined;

  constructor(options: ListWatchOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#backoff = new Backoff({
      clock,
      random,
      firstMilliseconds: 0.8 * second,
      longestMilliseconds: 30 * second,
      resetMilliseconds: 2 * minute,
    });
  }

  get state(): WatchState {
    const { resource, namespace } = this.#options;
    const problem = this.#problem;
    return {
      resource: resource.plural,
      namespace,
      synced: this.#synced,
      ...(problem === undefined ? {} : { problem }),
    };
  }

  isOf(resource: WatchedResource): boolean {
    return this.#options.resource === resource;
  }

  /** Somebody knows that the resource is there now. Does something only while it is not. */
  lookAgain(): void {
    this.#absence?.abort();
  }

  /** Resolves when the signal has aborted and no request is open any more. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, metrics, resource } = this.#options;
    while (!signal.aborted) {
      try {
        if (this.#position === undefined || clock.now() >= this.#relistAt) await this.#list(signal);
        await this.#watch(signal);
        metrics.restarted(resource.plural, 'ended');
      } catch (error) {
        if (signal.aborted) return;
        if (resource.optional && isKind(error, 'notFound')) {
          await this.#absent(signal);
          continue;
        }
        const step = stepAfter(error);
        if (step.relist) this.#position = undefined;
        metrics.restarted(resource.plural, step.reason);
        this.#failed(step, error);
        await sleep(clock, this.#pause(step), signal);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { connection, resource, namespace, store, clock, random, served, log } = this.#options;
    const { objects, resourceVersion } = await listAll(connection, resource, namespace, signal);
    signal.throwIfAborted();
    this.#position = resourceVersion;
    this.#relistAt = clock.now() + (10 + 10 * random()) * minute;
    this.#synced = true;
    store.replace(namespace, objects);
    this.#heard();
    if (this.#absence === undefined) return;
    this.#absence = undefined;
    log.info({ resource: resource.plural, namespace }, 'the API server serves it now');
    served?.();
  }

  /** That there is none of an optional resource is as good as an empty list. */
  async #absent(signal: AbortSignal): Promise<void> {
    const { resource, namespace, store, clock, random, served, log } = this.#options;
    const isNews = this.#absence === undefined;
    const absence = new AbortController();
    this.#absence = absence;
    this.#position = undefined;
    this.#synced = true;
    this.#problem = undefined;
    store.replace(namespace, []);
    if (isNews) {
      log.info({ resource: resource.plural, namespace }, 'the API server does not serve it');
      served?.();
    }
    await sleep(clock, absenceMilliseconds * (1 + random()), AbortSignal.any([signal, absence.signal]));
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { connection, resource, namespace, clock, random } = this.#options;
    const timeoutSeconds = 300 + Math.floor(301 * random());
    const query = {
      ...selectionOf(resource),
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(timeoutSeconds),
      resourceVersion: this.#position ?? '',
    };
    const own = new AbortController();
    const deadline = clock.after(timeoutSeconds * second + overtimeMilliseconds, () => own.abort('overtime'));
    const silence = new SilenceTimer(clock, silenceMilliseconds, () => own.abort('silence'));
    let lasting = (): void => {};
    const began = clock.now();
    let events = 0;
    try {
      const chunks = connection.getStream(collectionPath(resource, namespace), query, {
        accept: acceptOf(resource, 'watch'),
        signal: AbortSignal.any([signal, own.signal]),
        opened: () => {
          lasting = clock.after(shortMilliseconds, () => this.#works());
        },
      });
      for await (const event of watchEvents(resource, silence.listeningTo(chunks))) {
        events++;
        this.#take(event);
      }
    } catch (error) {
      if (own.signal.reason === 'silence') {
        throw new WatchFault(
          'idle',
          `the watch of ${resource.plural} was silent for ${silenceMilliseconds / second} s`,
        );
      }
      if (own.signal.reason !== 'overtime') throw error;
    } finally {
      deadline();
      silence.stop();
      lasting();
    }
    const missing = shortMilliseconds - (clock.now() - began);
    if (missing <= 0) return;
    if (events === 0) throw new WatchFault('short', `the watch of ${resource.plural} ended at once`);
    await sleep(clock, missing, signal);
  }

  #take(event: WatchEvent): void {
    const { store, namespace, resource } = this.#options;
    switch (event.type) {
      case 'error':
        throw errorOf(event, resource.plural);
      case 'bookmark':
        this.#position = event.resourceVersion;
        break;
      case 'changed':
        store.put(namespace, event.object);
        this.#position = event.object.metadata.resourceVersion;
        break;
      case 'deleted':
        store.remove(namespace, keyOf(event.object));
        this.#position = event.object.metadata.resourceVersion;
        break;
    }
    this.#heard();
    this.#works();
  }

  #heard(): void {
    this.#options.metrics.heard(this.#options.resource.plural, this.#options.clock.now());
  }

  #pause(step: Step): number {
    const { random } = this.#options;
    const hasty = this.#synced && this.#refusals < hastyRefusals;
    const slow = (hasty ? 2 : 15) * (1 + random()) * second;
    if (step.pace === 'slow') this.#refusals++;
    const pause = step.pace === 'slow' ? slow : this.#backoff.next();
    return Math.max(pause, step.atLeastSeconds * second);
  }

  #failed(step: Step, error: unknown): void {
    const { log, resource, namespace, clock } = this.#options;
    const about = { resource: resource.plural, namespace, reason: step.reason };
    if (step.reason === 'internal') log.error({ ...about, err: error }, 'list and watch met an unforeseen error');
    else if (this.#problem?.reason === step.reason) log.debug(about, step.message);
    else log.warn(about, step.message);
    const since = this.#problem?.since ?? clock.now();
    this.#problem = { reason: step.reason, message: step.message, since };
  }

  #works(): void {
    const { log, resource, namespace } = this.#options;
    this.#refusals = 0;
    if (this.#problem === undefined) return;
    log.info({ resource: resource.plural, namespace }, 'list and watch work again');
    this.#problem = undefined;
  }
}

function errorOf(event: Extract<WatchEvent, { type: 'error' }>, plural: string): WatchFault {
  const message = `the API server ended the watch of ${plural} with an error event (${event.status})`;
  return new WatchFault(event.kind === 'gone' ? 'gone' : 'errorEvent', message, event.retryAfterSeconds);
}

/** Calls once nothing has come for a while; every chunk starts the time anew. */
class SilenceTimer {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  readonly #call: () => void;
  #forget: () => void;

  constructor(clock: Clock, milliseconds: number, call: () => void) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
    this.#call = call;
    this.#forget = clock.after(milliseconds, call);
  }

  async *listeningTo(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.#forget();
      this.#forget = this.#clock.after(this.#milliseconds, this.#call);
      yield chunk;
    }
  }

  stop(): void {
    this.#forget();
  }
}
