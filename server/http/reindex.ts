// The route POST /reindex: a look at every source now, and an answer when this server serves what it found.
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { nobodyToAsk, type Reindex, type Reindexed, ReindexFault } from '../reindex/reindex.ts';
import { clientOf } from './authentication.ts';
import type { CurrentCatalogue } from './catalogue.ts';
import { healthBody } from './health.ts';

export interface ReindexOptions {
  catalogue: CurrentCatalogue;
  /** Left out: there is nobody to ask, and that is said. */
  reindex?: Reindex | undefined;
  /** Whoever may use the gateway may ask, whatever its spec says. */
  reindexForAnyone?: boolean | undefined;
  logger: Logger;
}

const answerWithinMs = 60_000;
/** How often it is looked whether the new catalogue is served. */
const lookEveryMs = 50;

export function addReindex(app: FastifyInstance, options: ReindexOptions): void {
  const { catalogue, reindex = nobodyToAsk, reindexForAnyone = false, logger } = options;
  const stop = new AbortController();
  app.addHook('preClose', async () => stop.abort(new ReindexFault(503, 'This server is stopping: ask again')));
  const inTurn = oneAtATime(() => reindex(AbortSignal.any([stop.signal, AbortSignal.timeout(answerWithinMs)])));

  app.register(async (scope) => {
    // A body says nothing here, whatever it is called: clients send an empty form, or empty JSON.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null));
    scope.post('/reindex', async (request, reply) => {
      const index = catalogue.snapshot?.index;
      if (index === undefined) return fail(reply, 503, 'No catalogue is loaded yet; GET /readyz says why');
      // Asked again: another index may have come into force while the body came.
      const client = clientOf(request, index);
      if (client === undefined && !reindexForAnyone && index.reindex !== 'Anyone') {
        return fail(reply, 403, forbidden);
      }
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(answerWithinMs)]);
      let looked: Reindexed;
      try {
        looked = await orAborted(inTurn(), signal);
        await untilServed(catalogue, looked.generation ?? 0, signal);
      } catch (error) {
        if (error instanceof ReindexFault) {
          logger.warn({ error: error.message, cause: codeOf(error.cause) }, 'reindex failed');
          return fail(reply, error.status, error.message);
        }
        if (isTimeout(error)) return fail(reply, 504, tooLate);
        logger.error({ err: error }, 'reindex failed');
        return fail(reply, 500, 'The look could not be asked for; the log of this server says more');
      }
      clientOf(request, catalogue.snapshot?.index ?? index);
      const { rebuilt, unfinished } = looked;
      return { ...healthBody(catalogue), rebuilt, ...(unfinished.length === 0 ? {} : { unfinished }) };
    });
  });
}

const forbidden =
  'Only a client with a bearer token may ask for a look: give the gateway tokens with spec.auth, or set its spec.reindex to Anyone';
const tooLate = `It is not served yet after ${answerWithinMs / 1000} seconds; the look goes on, and GET /health tells what is served`;

const fail = (reply: FastifyReply, status: number, error: string): FastifyReply =>
  reply.code(status).send({ status: 'error', error });

/** Resolves when the snapshot in force is of that generation or a later one. @throws the signal's reason */
async function untilServed(catalogue: CurrentCatalogue, generation: number, signal: AbortSignal): Promise<void> {
  while ((catalogue.snapshot?.index.generation ?? 0) < generation) {
    signal.throwIfAborted();
    await pause(lookEveryMs);
  }
}

/** Who asks while one runs shares the next one with all who ask until it begins: what he gets began after he asked. */
function oneAtATime(run: () => Promise<Reindexed>): () => Promise<Reindexed> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<Reindexed> | undefined;
  return () => {
    next ??= running.then(() => {
      next = undefined;
      const begun = run();
      running = begun.catch(() => undefined);
      return begun;
    });
    return next;
  };
}

/** @throws the signal's reason when it aborts first */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError';
const codeOf = (cause: unknown): unknown => (cause as NodeJS.ErrnoException | undefined)?.code;
