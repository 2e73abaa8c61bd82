// Where another operator leads, a webhook goes on to it, unread.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { bodyPieces } from '../callers/body.ts';
import { provingHeaders } from './proof.ts';

/** Marks what was passed on, which nobody passes on again. */
const mark = 'lyceum-passed-on';
const milliseconds = 40_000;

export interface Relayed {
  status: number;
  body: object;
}

/** @returns undefined where it was passed on already @throws where who leads does not answer; BodyTooLong */
export async function passOn(
  incoming: IncomingMessage,
  origin: string,
  mostBytes: number,
): Promise<Relayed | undefined> {
  if (incoming.headers[mark] !== undefined) return undefined;
  const sent = incoming.headersDistinct;
  const shown = provingHeaders.flatMap((name) => (sent[name] === undefined ? [] : [[name, sent[name]] as const]));
  const answer = await request(new URL(incoming.url ?? '/', origin), {
    method: 'POST',
    headers: { ...Object.fromEntries(shown), [mark]: '1' },
    body: Readable.from(bodyPieces(incoming, mostBytes)),
    signal: AbortSignal.timeout(milliseconds),
  });
  const body = (await answer.body.json()) as object;
  return { status: answer.statusCode, body };
}
