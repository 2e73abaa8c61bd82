// One MCP server a request: the SDK's low-level server, with a handler for each method.
import { type CacheHint, Server } from '@modelcontextprotocol/server';
import { capabilities } from './capabilities.ts';
import { protocolError, type RequestContext } from './method.ts';
import { methods } from './methods.ts';

export function makeServer(context: RequestContext, version: string): Server {
  const { view } = context;
  const hint: CacheHint = { ttlMs: view.ttlMs, cacheScope: 'private' };
  const { instructions } = view.snapshot.index;
  const server = new Server(
    { name: 'lyceum', title: 'Lyceum', version },
    {
      capabilities,
      ...(instructions === undefined ? {} : { instructions }),
      cacheHints: { 'server/discover': hint },
    },
  );
  for (const { name, params, cacheable, answer } of methods) {
    server.setRequestHandler(name, { params }, async (given) => {
      try {
        const result = await answer(given as never, context);
        return cacheable && context.era === 'modern' ? { ...result, ...hint } : result;
      } catch (error) {
        throw protocolError(error, context.logger);
      }
    });
  }
  return server;
}
