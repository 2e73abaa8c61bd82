// What is told of a request once it is answered: a measurement, and a line in the log.
import type { Logger } from 'pino';
import type { ServerMetrics } from '../metrics.ts';

/** What a request to /mcp is called in the log and in the metrics. */
export interface RequestLabels {
  method: string;
  era: string;
  /** How long it took, where the answer went on after that. */
  seconds?: number;
}

export interface Answered {
  /** The method of HTTP. */
  http: string;
  /** Undefined: there is none. */
  route: string | undefined;
  status: number;
  /** Undefined: of another route, or refused before it had any. */
  labels: RequestLabels | undefined;
  client: string | undefined;
  seconds: number;
}

export type Tell = (answered: Answered) => void;

const refused: RequestLabels = { method: 'other', era: 'none' };

export const teller =
  (metrics: Pick<ServerMetrics, 'request'>, logger: Logger): Tell =>
  ({ http, route = 'unknown', status, labels, client, seconds }) => {
    const { method, era } = labels ?? refused;
    if (labels !== undefined || route === '/mcp') metrics.request(method, era, seconds);
    if (logger.isLevelEnabled('debug')) {
      logger.debug({ http, route, status, method, era, client, seconds }, 'request');
    }
  };
