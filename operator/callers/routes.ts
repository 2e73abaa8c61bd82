// What the operator does for its servers.
import type { Logger } from 'pino';
import type { RunningOperator } from '../operator.ts';
import type { Route } from './listener.ts';

/** @param operator looks and publishes; synced, so that what it does not know is not there */
export function routesOf(operator: Pick<RunningOperator, 'synced' | 'reindex'>, log: Logger): Record<string, Route> {
  return {
    'POST /reindex': async (gateway) => {
      if (!operator.synced()) return { status: 503, body: { error: 'NotReady' } };
      const began = performance.now();
      const answer = await operator.reindex(gateway);
      if (typeof answer === 'string') return { status: 409, body: { error: answer } };
      const { rebuilt, unfinished, generation } = answer;
      const seconds = (performance.now() - began) / 1000;
      log.info({ gateway, rebuilt: rebuilt.length, unfinished: unfinished.length, generation, seconds }, 'reindexed');
      return { status: 200, body: answer };
    },
  };
}
