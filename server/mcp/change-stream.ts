// One client's stream of change notices, `subscriptions/listen`: the SDK speaks the protocol, Lyceum says when.
// A handler of its own for each stream: the SDK's notices go to everybody who listens to one handler, whatever his scope.
import { createMcpHandler, type ServerNotifier } from '@modelcontextprotocol/server';
import { resolve } from '../answers/read.ts';
import { type Answer, answerFrom } from './answer.ts';
import type { RequestContext } from './method.ts';
import { makeServer } from './server-factory.ts';

export interface ChangeStream {
  /** Server-sent events, from the acknowledgement to the final result. */
  events: ReadableStream<Uint8Array>;
  /** Tells what changed; what the client did not ask for is not sent. */
  notify: ServerNotifier;
  /** The addresses whose changes he wants to be told. */
  uris: readonly string[];
  /** Ends it with its final result. */
  close(): Promise<void>;
}

export const listenMethod = 'subscriptions/listen';

const commentEveryMs = 15_000;
/** Addresses that one stream may watch: each is looked at whenever the catalogue changes. */
const mostUris = 256;

/**
 * @param request with the protocol's headers; aborted when the client is gone
 * @param body the message
 * @returns an answer where there is no stream, since the message is wrong or asks for nothing that is told
 */
export async function openChangeStream(
  request: Request,
  body: unknown,
  context: RequestContext,
  version: string,
): Promise<ChangeStream | Answer> {
  const { logger } = context;
  /** Forgotten when the stream is open: the catalogue of that time must not be kept as long. */
  let asked: RequestContext | undefined = context;
  const handler = createMcpHandler(() => makeServer(asked!, version), {
    legacy: 'reject',
    keepAliveMs: commentEveryMs,
    onerror: ({ name }) => logger.debug({ error: name }, 'request refused'),
  });
  const { message, uris } = withinView(body, context);
  const response = await handler.fetch(request, { parsedBody: message });
  asked = undefined;
  const isStream = response.headers.get('content-type') === 'text/event-stream';
  if (!isStream || response.body === null) return answerFrom(response);
  return { events: response.body, notify: handler.notify, uris, close: () => handler.close() };
}

/** The message without addresses that the client does not see: those are not acknowledged, whether they exist or not. */
function withinView(body: unknown, { view }: RequestContext): { message: unknown; uris: readonly string[] } {
  const message = body as { params?: { notifications?: { resourceSubscriptions?: unknown } } };
  const wanted = message.params?.notifications?.resourceSubscriptions;
  if (!Array.isArray(wanted) || !wanted.every((uri) => typeof uri === 'string')) return { message, uris: [] };
  const uris = [...new Set(wanted.slice(0, mostUris))].filter((uri) => resolve(view, uri) !== undefined);
  const notifications = { ...message.params!.notifications, resourceSubscriptions: uris };
  return { message: { ...message, params: { ...message.params, notifications } }, uris };
}
