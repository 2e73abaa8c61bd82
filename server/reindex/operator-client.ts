// Asks the operator for a look, over HTTPS, known by the token of this server's pod.
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { type Reindex, ReindexFault } from './reindex.ts';

export interface OperatorAddress {
  /** `https://host:port` */
  url: string;
  /** A file with the certificates of the authorities that the operator's own is known by, in PEM. */
  ca: string;
  /** A file with the pod's token for the operator. */
  token: string;
}

const answerSchema = z.object({
  rebuilt: z.array(z.string().max(253)).max(100_000),
  unfinished: z.array(z.string().max(253)).max(100_000),
  generation: z.int().min(1).optional(),
});

const mostBytes = 4 * 1024 * 1024;

/** Both files are read for each question: Kubernetes puts others in their place. */
export function askOperator({ url, ca, token }: OperatorAddress): Reindex {
  const target = new URL('/reindex', url);
  return async (signal) => {
    const [authorities, bearer] = await Promise.all([read(ca), read(token)]);
    const dispatcher = new Agent({ connect: { ca: authorities, timeout: 5_000 }, maxResponseSize: mostBytes });
    try {
      const answer = await ask(target, bearer.trim(), dispatcher, signal);
      return answerSchema.parse(answer);
    } finally {
      await dispatcher.destroy();
    }
  };
}

async function ask(target: URL, token: string, dispatcher: Agent, signal: AbortSignal): Promise<unknown> {
  let answer: Awaited<ReturnType<typeof request>>;
  try {
    answer = await request(target, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      dispatcher,
      signal,
      headersTimeout: 0,
    });
  } catch (cause) {
    signal.throwIfAborted();
    throw new ReindexFault(503, `The operator cannot be reached at ${target.host}: see whether it runs`, { cause });
  }
  if (answer.statusCode === 200) {
    return answer.body.json().catch(() => {
      signal.throwIfAborted();
      throw new Error("the operator's answer is no JSON, or broke off");
    });
  }
  await answer.body.dump();
  throw new ReindexFault(503, wordsFor(answer.statusCode));
}

function wordsFor(status: number): string {
  switch (status) {
    case 401:
    case 403:
      return "The operator does not know this pod as one of the gateway's: only pods that it started itself may ask";
    case 409:
      return "The gateway's spec is not valid: kubectl describe skillgateway says why";
    default:
      return `The operator cannot look now (HTTP ${status}): try again in a moment`;
  }
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new ReindexFault(503, `${file} cannot be read: it is there while an operator is installed`, { cause });
  }
}
