// What the operator does for its servers.
import type { Logger } from 'pino';
import { longestBatch } from '../../catalogue/downloads-file.ts';
import type { RunningOperator } from '../operator.ts';
import type { Route } from './listener.ts';

/** Of what is sent to any of them. */
export const mostBodyBytes = longestBatch;

/** @param operator looks and publishes; synced, so that what it does not know is not there */
export function routesOf(
  operator: Pick<RunningOperator, 'synced' | 'reindex' | 'countDownloads'>,
  log: Logger,
): Record<string, Route> {
  return {
    'POST /reindex': async ({ gateway }) => {
      if (!operator.synced()) return { status: 503, body: { error: 'NotReady' } };
      const began = performance.now();
      const answer = await operator.reindex(gateway);
      if (typeof answer === 'string') return { status: 409, body: { error: answer } };
      const { rebuilt, unfinished, generation } = answer;
      const seconds = (performance.now() - began) / 1000;
      log.info({ gateway, rebuilt: rebuilt.length, unfinished: unfinished.length, generation, seconds }, 'reindexed');
      return { status: 200, body: answer };
    },
    'POST /counts': async ({ gateway, body }) => {
      const sent = await body(mostBodyBytes);
      const result = await operator.countDownloads(gateway, parsed(sent));
      return { status: result === 'refused' ? 400 : 200, body: { result } };
    },
  };
}

/** Undefined where it is no JSON. */
function parsed(sent: Buffer): unknown {
  try {
    return JSON.parse(sent.toString());
  } catch {
    return undefined;
  }
}
