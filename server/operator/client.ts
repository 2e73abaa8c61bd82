// Asks the operator over HTTPS, known by the token of this server's pod.
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';

export interface OperatorAddress {
  /** `https://host:port` */
  url: string;
  /** A file with the certificates of the authorities that the operator's own is known by, in PEM. */
  ca: string;
  /** A file with the pod's token for the operator. */
  token: string;
}

export interface OperatorAnswer {
  status: number;
  /** Parsed JSON where the status is 200; of any other the status says all. */
  body?: unknown;
}

/**
 * POSTs to a path of the operator's port for servers.
 * @param signal aborts when nobody waits any longer
 * @param sent a value that is sent as JSON; left out: no body
 * @throws OperatorOutOfReach; the signal's reason when it aborts first; Error where the answer is no JSON
 */
export type AskOperator = (path: string, signal: AbortSignal, sent?: unknown) => Promise<OperatorAnswer>;

/** The message says what is wrong and what to do, and nothing that another program sent. */
export class OperatorOutOfReach extends Error {}

const mostBytes = 4 * 1024 * 1024;

/** Both files are read for each question: Kubernetes puts others in their place. */
export function operatorClient({ url, ca, token }: OperatorAddress): AskOperator {
  return async (path, signal, sent) => {
    const [authorities, bearer] = await Promise.all([read(ca), read(token)]);
    const dispatcher = new Agent({ connect: { ca: authorities, timeout: 5_000 }, maxResponseSize: mostBytes });
    try {
      return await ask(new URL(path, url), bearer.trim(), sent, dispatcher, signal);
    } finally {
      await dispatcher.destroy();
    }
  };
}

async function ask(
  target: URL,
  token: string,
  sent: unknown,
  dispatcher: Agent,
  signal: AbortSignal,
): Promise<OperatorAnswer> {
  let answer: Awaited<ReturnType<typeof request>>;
  try {
    answer = await request(target, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
      dispatcher,
      signal,
      headersTimeout: 0,
    });
  } catch (cause) {
    signal.throwIfAborted();
    const message = `The operator cannot be reached at ${target.host}: see whether it runs`;
    throw new OperatorOutOfReach(message, { cause });
  }
  if (answer.statusCode === 200) {
    const body: unknown = await answer.body.json().catch(() => {
      signal.throwIfAborted();
      throw new Error("the operator's answer is no JSON, or broke off");
    });
    return { status: 200, body };
  }
  await answer.body.dump();
  return { status: answer.statusCode };
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new OperatorOutOfReach(`${file} cannot be read: it is there while an operator is installed`, { cause });
  }
}
