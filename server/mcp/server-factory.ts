// One MCP server a request: the SDK's low-level server, with a handler for each method.
import { type CacheHint, type Implementation, type Result, Server } from '@modelcontextprotocol/server';
import { capabilitiesOf } from './capabilities.ts';
import { type Method, protocolError, type RequestContext } from './method.ts';
import { methods } from './methods.ts';

export const serverInfo = (version: string): Implementation => ({ name: 'lyceum', title: 'Lyceum', version });

const hintOf = ({ view }: RequestContext): CacheHint => ({ ttlMs: view.ttlMs, cacheScope: 'private' });

/** A method's result with what its era has in it besides: how long, in the modern one, it may be kept. */
export const finished = (result: Result, { cacheable }: Pick<Method, 'cacheable'>, context: RequestContext): Result =>
  cacheable && context.era === 'modern' ? { ...result, ...hintOf(context) } : result;

export function makeServer(context: RequestContext, version: string): Server {
  const { instructions } = context.view.snapshot.index;
  const server = new Server(serverInfo(version), {
    capabilities: capabilitiesOf(context.era),
    ...(instructions === undefined ? {} : { instructions }),
    cacheHints: { 'server/discover': hintOf(context) },
  });
  for (const method of methods) {
    const { name, params } = method;
    server.setRequestHandler(name, { params }, async (given) => {
      try {
        return finished(await method.answer(given as never, context), method, context);
      } catch (error) {
        throw protocolError(error, context.logger);
      }
    });
  }
  return server;
}
