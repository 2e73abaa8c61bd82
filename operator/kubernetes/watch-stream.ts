// From the bytes of a watch to its events: lines of JSON, split wherever the network likes.
import type { KubernetesObject } from './cluster.ts';
import { type KubernetesErrorKind, kindOfStatus } from './kubernetes-error.ts';
import { trim, type WatchedResource } from './watched-resource.ts';

export type WatchEvent =
  | { type: 'changed' | 'deleted'; object: KubernetesObject }
  /** Nothing happened up to here. */
  | { type: 'bookmark'; resourceVersion: string }
  /** The server gives up this watch. */
  | { type: 'error'; kind: KubernetesErrorKind; status: number; retryAfterSeconds?: number };

/** The stream is not a watch: what was missed is unknown. */
export class MalformedWatch extends Error {
  override name = 'MalformedWatch';
}

/** An object is at most some 2 MB in the API server's store. */
const mostLineBytes = 16 * 1024 * 1024;
const newline = 0x0a;

/** @throws MalformedWatch on the first line that is no watch event, or that has no end */
export async function* watchEvents(
  resource: WatchedResource,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<WatchEvent, void> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const line = Buffer.concat([...pending, chunk.subarray(start, end)]).toString('utf8');
      pending = [];
      pendingBytes = 0;
      start = end + 1;
      if (line.trim() !== '') yield eventOf(resource, line);
    }
    if (start === chunk.length) continue;
    pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > mostLineBytes) throw new MalformedWatch(`a line of more than ${mostLineBytes} bytes`);
  }
  if (pendingBytes > 0) throw new MalformedWatch('the stream ended within a line');
}

function eventOf(resource: WatchedResource, line: string): WatchEvent {
  let event: { type?: unknown; object?: unknown } | null;
  try {
    event = JSON.parse(line);
  } catch {
    throw new MalformedWatch('a line that is not JSON');
  }
  switch (event?.type) {
    case 'ADDED':
    case 'MODIFIED':
      return { type: 'changed', object: objectOf(resource, event.object) };
    case 'DELETED':
      return { type: 'deleted', object: objectOf(resource, event.object) };
    case 'BOOKMARK':
      return { type: 'bookmark', resourceVersion: resourceVersionOf(event.object) };
    case 'ERROR':
      return errorOf(event.object);
    default:
      throw new MalformedWatch('an event of an unknown type');
  }
}

function objectOf(resource: WatchedResource, raw: unknown): KubernetesObject {
  try {
    return trim(resource, raw);
  } catch {
    throw new MalformedWatch('an event whose object is no Kubernetes object');
  }
}

function resourceVersionOf(raw: unknown): string {
  const resourceVersion = (raw as { metadata?: { resourceVersion?: unknown } } | null)?.metadata?.resourceVersion;
  if (typeof resourceVersion !== 'string' || resourceVersion === '') {
    throw new MalformedWatch('a bookmark without a resourceVersion');
  }
  return resourceVersion;
}

function errorOf(raw: unknown): WatchEvent {
  const status = raw as { code?: unknown; details?: { retryAfterSeconds?: unknown } } | null;
  const code = typeof status?.code === 'number' ? status.code : 500;
  const wish = status?.details?.retryAfterSeconds;
  return {
    type: 'error',
    kind: kindOfStatus(code),
    status: code,
    ...(typeof wish === 'number' && wish > 0 ? { retryAfterSeconds: Math.min(wish, 300) } : {}),
  };
}
