// A process that puts load on a server and tells how many requests it answered.
import autocannon from 'autocannon';
import { answerQuestions } from '../answering.ts';
import type { McpRequest } from './requests.ts';

export interface LoadQuestion {
  /** `http://127.0.0.1:PORT`. */
  origin: string;
  /** Sent one after the other on each connection, over and over. */
  requests: McpRequest[];
  seconds: number;
}

export interface LoadAnswer {
  perSecond: number;
  requests: number;
}

const connections = 16;

answerQuestions<LoadQuestion>(async ({ origin, requests, seconds }) => {
  const result = await autocannon({
    url: origin,
    connections,
    duration: seconds,
    requests: requests.map((request) => ({ method: 'POST' as const, ...request })),
  });
  const { errors, non2xx, timeouts, duration } = result;
  if (errors + non2xx + timeouts > 0) {
    throw new Error(`${origin}: ${errors} errors, ${non2xx} refusals, ${timeouts} timeouts`);
  }
  const total = result['2xx'];
  return { perSecond: total / duration, requests: total } satisfies LoadAnswer;
});
