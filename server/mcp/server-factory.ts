// One MCP server a request: the SDK's low-level server, with handlers that answer from the request's view.
import { type CacheHint, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { z } from 'zod';
import { ContentUnavailable } from '../../catalogue/content.ts';
import { BadCursor } from '../answers/cursor.ts';
import { listPage } from '../answers/listing.ts';
import { callMirrorTool, mirrorTools, shortened } from '../answers/mirror-tools.ts';
import { contentsOf, resolve, type Target } from '../answers/read.ts';
import { resourceTemplates } from '../answers/templates.ts';
import type { Choices } from '../choices.ts';
import type { View } from '../view.ts';

/** What a request's answers are made from. */
export interface RequestContext {
  view: View;
  choices: Choices;
}

export interface FactoryOptions {
  version: string;
  logger: Logger;
  /** Told of every address that was read. */
  read(target: Target): void;
}

const pageParams = z.looseObject({ cursor: z.string().optional() });
const readParams = z.looseObject({ uri: z.string() });
const callParams = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()).optional() });

export function makeServer({ view, choices }: RequestContext, options: FactoryOptions): Server {
  const hint: CacheHint = { ttlMs: view.ttlMs, cacheScope: 'private' };
  const { instructions } = view.snapshot.index;
  const server = new Server(
    { name: 'lyceum', title: 'Lyceum', version: options.version },
    {
      capabilities: { resources: {}, tools: {} },
      ...(instructions === undefined ? {} : { instructions }),
      cacheHints: {
        'server/discover': hint,
        'tools/list': hint,
        'resources/list': hint,
        'resources/templates/list': hint,
        'resources/read': hint,
      },
    },
  );

  server.setRequestHandler('resources/list', { params: pageParams }, ({ cursor }) =>
    guarded(options.logger, () => {
      const { rows, nextCursor } = listPage(view, choices.fullListing, cursor);
      return { resources: rows, ...(nextCursor === undefined ? {} : { nextCursor }) };
    }),
  );
  server.setRequestHandler('resources/templates/list', { params: pageParams }, ({ cursor }) =>
    guarded(options.logger, () => onePage(cursor, { resourceTemplates })),
  );
  server.setRequestHandler('resources/read', { params: readParams }, ({ uri }) =>
    guarded(options.logger, async () => {
      const target = resolve(view, uri);
      if (target === undefined) {
        const quoted = shortened(uri);
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource not found: ${quoted}`, { uri: quoted });
      }
      const contents = [await contentsOf(view, target, uri)];
      options.read(target);
      return { contents };
    }),
  );
  server.setRequestHandler('tools/list', { params: pageParams }, ({ cursor }) =>
    guarded(options.logger, () =>
      onePage(cursor, { tools: choices.mirrorTools ? mirrorTools(choices.fullListing) : [] }),
    ),
  );
  server.setRequestHandler('tools/call', { params: callParams }, ({ name, arguments: args }) =>
    guarded(options.logger, async () => {
      const answer = await callMirrorTool(view, choices.fullListing, name, args ?? {});
      if (answer === undefined) {
        const known = mirrorTools(false).map((tool) => tool.name);
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `No tool '${shortened(name)}'; there is ${known.join(' and ')}`,
        );
      }
      const { target, ...result } = answer;
      if (target !== undefined) options.read(target);
      return result;
    }),
  );
  return server;
}

/** A list that never has a second page, so that no cursor is one that it gave. */
function onePage<T>(cursor: string | undefined, page: T): T {
  if (cursor !== undefined) throw new BadCursor();
  return page;
}

/** Turns what an answer may throw into the protocol's errors; anything else is logged and told as an internal error. */
async function guarded<T>(logger: Logger, answer: () => T | Promise<T>): Promise<T> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    if (error instanceof BadCursor) throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
    if (error instanceof ContentUnavailable) {
      logger.warn({ digest: error.digest, why: error.message }, 'content not available');
      const message = 'The content of this address cannot be read at the moment; try again in a minute';
      throw new ProtocolError(ProtocolErrorCode.InternalError, message);
    }
    logger.error({ err: error }, 'request failed');
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error');
  }
}
