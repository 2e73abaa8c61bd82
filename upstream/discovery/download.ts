// One document from a publisher: asked for with what is known of it, hashed as it comes, kept in a file where one is given.
import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { UpstreamFault } from '../fault.ts';
import type { GuardedClient, GuardedRequest, GuardedResponse } from '../guard/client.ts';

/** What a server calls the state of a document. */
export interface Validators {
  etag?: string | undefined;
  lastModified?: string | undefined;
}

export type Downloaded =
  | { found: 'same' }
  | ({ found: 'content'; digest: string; size: number; isPage: boolean } & Validators)
  | { found: 'tooLarge'; size: number };

const longestValidator = 1024;

/**
 * One request; a 304 comes back where `known` has something to compare with.
 * @throws UpstreamFault
 */
export async function ask(
  client: GuardedClient,
  request: Omit<GuardedRequest, 'method'>,
  known: Validators = {},
): Promise<GuardedResponse> {
  return await client.request({
    ...request,
    method: 'GET',
    headers: {
      ...request.headers,
      ...(known.etag === undefined ? {} : { 'if-none-match': known.etag }),
      ...(known.lastModified === undefined || known.etag !== undefined
        ? {}
        : { 'if-modified-since': known.lastModified }),
    },
  });
}

/** What to send next time. A weak ETag says only that it means the same, which is not that it is the same. */
export function validatorsOf({ etag, 'last-modified': lastModified }: IncomingHttpHeaders): Validators {
  const fits = (text: string | undefined): text is string => text !== undefined && text.length <= longestValidator;
  if (fits(etag) && /^"[^"]*"$/.test(etag)) return { etag };
  return etag === undefined && fits(lastModified) ? { lastModified } : {};
}

/**
 * @param into the path of the file to write, which is gone again for what is too large; undefined: it is only hashed
 * @throws UpstreamFault
 */
export async function download(
  client: GuardedClient,
  request: Omit<GuardedRequest, 'method' | 'headers'>,
  known: Validators | undefined,
  into: string | undefined,
): Promise<Downloaded> {
  // Packed on the way, some servers send an archive that is unpacked on arrival, and its digest is another.
  const answer = await ask(client, { ...request, headers: { 'accept-encoding': 'identity' } }, known);
  if (answer.status === 304) {
    answer.discard();
    return { found: 'same' };
  }
  const announced = Number(answer.headers['content-length'] ?? 0);
  if (announced > request.maxBytes) {
    answer.discard();
    return { found: 'tooLarge', size: announced };
  }
  const hash = createHash('sha256');
  let size = 0;
  const file = into === undefined ? undefined : await open(into, 'w');
  try {
    for await (const chunk of answer.body) {
      size += chunk.length;
      hash.update(chunk);
      await file?.write(chunk);
    }
  } catch (error) {
    if (error instanceof UpstreamFault && error.reason === 'LimitExceeded') {
      if (into !== undefined) await rm(into);
      return { found: 'tooLarge', size: request.maxBytes + 1 };
    }
    throw error;
  } finally {
    answer.discard();
    await file?.close();
  }
  const isPage = /^text\/html\b/i.test(answer.headers['content-type'] ?? '');
  return { found: 'content', digest: `sha256:${hash.digest('hex')}`, size, isPage, ...validatorsOf(answer.headers) };
}
