// One endpoint for both eras of the protocol: decided by each request, answered as JSON, without sessions.
import type { IncomingHttpHeaders } from 'node:http';
import {
  classifyInboundRequest,
  createMcpHandler,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { jsonRpcError, rpcCodes } from './json-rpc.ts';
import type { Era, RequestContext } from './method.ts';
import { makeServer } from './server-factory.ts';

export interface EndpointOptions {
  version: string;
  logger: Logger;
}

export interface Endpoint {
  /** @param body the parsed JSON of a POST */
  answer(headers: IncomingHttpHeaders, body: unknown, context: RequestContext): Promise<Response>;
  close(): Promise<void>;
}

/** The headers that the protocol gives a meaning to. */
const protocolHeaders = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

/** The era of a request: modern when it says so, or when it must be refused as a modern one. */
export function eraOf(headers: IncomingHttpHeaders, body: unknown): Era {
  const [protocolVersionHeader, mcpMethodHeader, mcpNameHeader] = protocolHeaders.map((name) => single(headers[name]));
  const { kind } = classifyInboundRequest({
    httpMethod: 'POST',
    ...(protocolVersionHeader === undefined ? {} : { protocolVersionHeader }),
    ...(mcpMethodHeader === undefined ? {} : { mcpMethodHeader }),
    ...(mcpNameHeader === undefined ? {} : { mcpNameHeader }),
    body,
  });
  return kind === 'legacy' ? 'legacy' : 'modern';
}

export function createEndpoint({ version, logger }: EndpointOptions): Endpoint {
  const contexts = new WeakMap<Request, RequestContext>();
  const modern = createMcpHandler(
    ({ requestInfo }) => {
      const context = requestInfo && contexts.get(requestInfo);
      if (context === undefined) throw new Error('a request without a context');
      return makeServer(context, version);
    },
    { legacy: 'reject', onerror: ({ name }) => logger.debug({ error: name }, 'request refused') },
  );
  return {
    async answer(headers, body, context) {
      if (Array.isArray(body))
        return jsonRpcError(400, rpcCodes.invalidRequest, 'Batches are not served: send one request');
      const request = protocolRequest(headers);
      if (context.era === 'legacy') return answerLegacy(makeServer(context, version), request, body);
      // A stream on which nothing would ever be said.
      if (isRequest(body, 'subscriptions/listen')) {
        return jsonRpcError(404, rpcCodes.methodNotFound, 'Method not found', body.id);
      }
      contexts.set(request, context);
      return modern.fetch(request, { parsedBody: body });
    },
    close: () => modern.close(),
  };
}

async function answerLegacy(server: Server, request: Request, body: unknown): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: body });
  } finally {
    await server.close();
  }
}

/** The request as the SDK sees it: clients whose Accept is narrower than the protocol wants are served all the same. */
function protocolRequest(headers: IncomingHttpHeaders): Request {
  const seen = new Headers({ accept: 'application/json, text/event-stream', 'content-type': 'application/json' });
  for (const name of protocolHeaders) {
    const value = single(headers[name]);
    if (value !== undefined) seen.set(name, value);
  }
  return new Request('http://lyceum.invalid/mcp', { method: 'POST', headers: seen });
}

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value;

const isRequest = (body: unknown, method: string): body is { id?: unknown } =>
  typeof body === 'object' && body !== null && 'method' in body && body.method === method;
