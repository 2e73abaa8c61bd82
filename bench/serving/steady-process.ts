// A process that asks a server at a steady rate, whether or not what it asked before is answered, and tells how long it waited.
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { answerQuestions } from '../answering.ts';
import type { McpRequest } from './requests.ts';

export interface SteadyQuestion {
  /** `http://127.0.0.1:PORT`. */
  origin: string;
  /** In turn, one every four milliseconds. */
  measured: McpRequest[];
  /** Likewise, one for every four of those; they are told apart. */
  beside: McpRequest[];
  seconds: number;
}

export interface Waits {
  requests: number;
  p99Milliseconds: number;
  slowestMilliseconds: number;
}

export interface SteadyAnswer {
  measured: Waits;
  beside: Waits;
}

const everyMs = 4;
const besideEvery = 4;

const agent = new Agent({ keepAlive: true });

answerQuestions<SteadyQuestion>(async ({ origin, measured, beside, seconds }) => {
  const waits: { measured: number[]; beside: number[] } = { measured: [], beside: [] };
  const asked: Promise<void>[] = [];
  const failures: Error[] = [];
  const ask = (mcp: McpRequest, into: number[]): void => {
    const began = performance.now();
    const told = answered(origin + mcp.path, mcp).then(
      () => void into.push(performance.now() - began),
      (error: Error) => void failures.push(error),
    );
    asked.push(told);
  };
  const began = performance.now();
  for (let turn = 0; turn * everyMs < seconds * 1000; ) {
    // A timer that comes late sends what is due all at once.
    for (const due = (performance.now() - began) / everyMs; turn < due; turn++) {
      ask(measured[turn % measured.length]!, waits.measured);
      if (beside.length === 0 || turn % besideEvery !== 0) continue;
      ask(beside[(turn / besideEvery) % beside.length]!, waits.beside);
    }
    await pause(1);
  }
  await Promise.all(asked);
  if (failures.length > 0)
    throw new Error(`${failures.length} requests failed, the first one: ${failures[0]!.message}`);
  return { measured: summary(waits.measured), beside: summary(waits.beside) } satisfies SteadyAnswer;
});

function summary(waits: number[]): Waits {
  const sorted = waits.toSorted((a, b) => a - b);
  return {
    requests: sorted.length,
    p99Milliseconds: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0,
    slowestMilliseconds: sorted.at(-1) ?? 0,
  };
}

/** Resolves when the whole answer is there. @throws Error where it is no result */
function answered(url: string, { headers, body }: McpRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, method: 'POST', headers }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`${url}: ${response.statusCode} ${Buffer.concat(pieces)}`));
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
