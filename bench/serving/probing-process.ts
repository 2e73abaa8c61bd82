// A process that asks a server steadily, below what it could answer, and tells the slowest answer.
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { answerQuestions } from '../answering.ts';
import { listResources, type McpRequest, readSkill } from './requests.ts';

export interface ProbeQuestion {
  /** `http://127.0.0.1:PORT`. */
  origin: string;
  skills: number;
  seconds: number;
  /** The generation that is waited for. */
  generation: number;
}

export interface ProbeAnswer {
  slowestMilliseconds: number;
  requests: number;
  /** When that generation was first told, in milliseconds since 1970; absent when it was not. */
  servedAt?: number;
}

/** Requests under way at once. */
const atOnce = 2;
const generationEveryMs = 10;
/** Between an answer and the next request. */
const pauseMs = 2;

const agent = new Agent({ keepAlive: true });

answerQuestions<ProbeQuestion>(async ({ origin, skills, seconds, generation }) => {
  const end = performance.now() + seconds * 1000;
  let slowestMilliseconds = 0;
  let requests = 0;
  let servedAt: number | undefined;
  const ask = async (path: string, mcp?: McpRequest): Promise<string> => {
    const began = performance.now();
    const text = await answer(origin + path, mcp);
    slowestMilliseconds = Math.max(slowestMilliseconds, performance.now() - began);
    requests++;
    return text;
  };
  const asking = async (first: number): Promise<void> => {
    for (let turn = first; performance.now() < end; turn += atOnce) {
      const mcp = turn % 5 === 0 ? listResources('modern') : readSkill('modern', (turn * 37) % skills);
      await ask(mcp.path, mcp);
      await pause(pauseMs);
    }
  };
  const waiting = async (): Promise<void> => {
    while (performance.now() < end && servedAt === undefined) {
      const health = JSON.parse(await ask('/health')) as { generation: number };
      if (health.generation >= generation) servedAt = Date.now();
      await pause(generationEveryMs);
    }
  };
  await Promise.all([waiting(), ...Array.from({ length: atOnce }, (_, first) => asking(first))]);
  return { slowestMilliseconds, requests, ...(servedAt === undefined ? {} : { servedAt }) } satisfies ProbeAnswer;
});

function answer(url: string, mcp?: McpRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, method: mcp ? 'POST' : 'GET', headers: mcp?.headers ?? {} }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString();
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${url}: ${response.statusCode} ${text}`));
      });
    });
    asked.on('error', reject);
    asked.end(mcp?.body);
  });
}
