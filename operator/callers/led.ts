// Routes where one of several operators leads: it answers; the others pass calls on to it, and wait while there is none.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Agent, request } from 'undici';
import { type Clock, sleep } from '../clock.ts';
import type { Answer, Call, Route } from './listener.ts';

export interface Led {
  /** Whether this operator does the work of the leader now. */
  working(): boolean;
  /** Where another one that leads takes calls, `host:port`; undefined while none is known. @throws KubernetesError */
  leaderAddress(): Promise<string | undefined>;
  /** The name in the certificate that all operators of an installation show. */
  certificateName: string;
  /** A folder with `ca.crt`, by which that certificate is known. */
  tlsFolder: string;
  /** Aborts when this operator is asked to stop. */
  stop: AbortSignal;
  clock: Clock;
}

/** How long a call waits for a leader: one that died is followed by another within some 18 s. In milliseconds. */
const patienceMilliseconds = 25_000;
/** The same for an operator that has been asked to stop: another one leads within some 3 s, where there is one. */
const lastPatienceMilliseconds = 6_000;
const retryMilliseconds = 500;
/** Of an answer of the leader. */
const mostAnswerBytes = 4 * 1024 * 1024;

const noLeader: Answer = { status: 503, body: { error: 'NoLeader' } };

/** @param mostBytes of a body, of whichever route */
export function ledRoutes(routes: Readonly<Record<string, Route>>, mostBytes: number, led: Led): Record<string, Route> {
  return Object.fromEntries(
    Object.entries(routes).map(([key, route]) => {
      const path = key.slice(key.indexOf(' ') + 1);
      return [key, (call: Call) => answered(route, path, keptBody(call), mostBytes, led)];
    }),
  );
}

async function answered(route: Route, path: string, call: Call, mostBytes: number, led: Led): Promise<Answer> {
  const began = led.clock.now();
  const isOver = (): boolean =>
    led.clock.now() - began >= (led.stop.aborted ? lastPatienceMilliseconds : patienceMilliseconds);
  for (;;) {
    if (led.working()) {
      try {
        return await route(call);
      } catch (error) {
        // Who was asked to stop hands over what it could not end.
        if (!led.stop.aborted) throw error;
      }
    } else {
      const answer = await askLeader(path, await call.body(mostBytes), call.authorization, led);
      if (answer !== undefined) return answer;
    }
    if (isOver()) return noLeader;
    await sleep(led.clock, retryMilliseconds, new AbortController().signal);
  }
}

/** Undefined where nobody answered who leads. */
async function askLeader(path: string, body: Buffer, authorization: string, led: Led): Promise<Answer | undefined> {
  const address = await led.leaderAddress().catch(() => undefined);
  if (address === undefined) return undefined;
  const ca = await readFile(join(led.tlsFolder, 'ca.crt'));
  const dispatcher = new Agent({
    connect: { ca, servername: led.certificateName, timeout: 2_000 },
    maxResponseSize: mostAnswerBytes,
    headersTimeout: 60_000,
  });
  try {
    const answer = await request(`https://${address}${path}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body,
      dispatcher,
    });
    const told = { status: answer.statusCode, body: (await answer.body.json()) as object };
    return isDeepStrictEqual(told, noLeader) ? undefined : told;
  } catch {
    return undefined;
  } finally {
    await dispatcher.destroy();
  }
}

/** The same call, whose body can be read more than once. */
function keptBody(call: Call): Call {
  let read: Promise<Buffer> | undefined;
  return {
    ...call,
    body(mostBytes) {
      read ??= call.body(mostBytes);
      return read;
    },
  };
}
