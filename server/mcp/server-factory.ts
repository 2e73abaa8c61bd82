// One MCP server a request: the SDK's low-level server, with a handler for each method.
import { type CacheHint, Server, type ServerOptions } from '@modelcontextprotocol/server';
import { protocolError, type RequestContext } from './method.ts';
import { methods } from './methods.ts';

export function makeServer(context: RequestContext, version: string): Server {
  const { view } = context;
  const hint: CacheHint = { ttlMs: view.ttlMs, cacheScope: 'private' };
  const { instructions } = view.snapshot.index;
  const cacheable = methods.filter((method) => method.cacheable).map(({ name }) => name);
  const server = new Server(
    { name: 'lyceum', title: 'Lyceum', version },
    {
      capabilities: { resources: {}, tools: {} },
      ...(instructions === undefined ? {} : { instructions }),
      cacheHints: Object.fromEntries(['server/discover', ...cacheable].map((name) => [name, hint])) as NonNullable<
        ServerOptions['cacheHints']
      >,
    },
  );
  for (const { name, params, answer } of methods) {
    server.setRequestHandler(name, { params }, async (given) => {
      try {
        return await answer(given as never, context);
      } catch (error) {
        throw protocolError(error, context.logger);
      }
    });
  }
  return server;
}
