// One endpoint for both eras of the protocol: decided by each request, answered as JSON, without sessions.
import type { IncomingHttpHeaders } from 'node:http';
import {
  classifyInboundRequest,
  createMcpHandler,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { type Answer, answerFrom } from './answer.ts';
import { type ChangeStream, listenMethod, openChangeStream } from './change-stream.ts';
import { FastAnswers } from './fast/fast-answers.ts';
import { ordinaryQuestion, type Question } from './fast/question.ts';
import { jsonRpcError, rpcCodes } from './json-rpc.ts';
import type { Era, RequestContext } from './method.ts';
import { inPlainWords } from './plain-errors.ts';
import { makeServer } from './server-factory.ts';

export interface EndpointOptions {
  version: string;
  logger: Logger;
  /** False: everything goes through the SDK, as a test wants it. */
  fast?: boolean;
}

/** A POST as it came, and what of it decides how it is answered. */
export interface Asked {
  headers: IncomingHttpHeaders;
  body: unknown;
  era: Era;
  /** Undefined: it is out of the ordinary. */
  question: Question | undefined;
}

export interface Endpoint {
  /** @param body the parsed JSON of a POST */
  asked(headers: IncomingHttpHeaders, body: unknown): Asked;
  /** The answer where it is there already. */
  kept(asked: Asked, context: RequestContext): Answer | undefined;
  answer(asked: Asked, context: RequestContext): Promise<Answer>;
  /** Whether it asks for a stream of change notices, which `listen` opens. */
  wantsStream(asked: Asked): boolean;
  /** @param gone when the client is */
  listen(asked: Asked, context: RequestContext, gone: AbortSignal): Promise<ChangeStream | Answer>;
  close(): Promise<void>;
}

/** The headers that the protocol gives a meaning to. */
const protocolHeaders = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

/** The era of a request: modern when it says so, or when it must be refused as a modern one. */
function eraOf(headers: IncomingHttpHeaders, body: unknown): Era {
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

export function createEndpoint({ version, logger, fast = true }: EndpointOptions): Endpoint {
  const answers = fast ? new FastAnswers(version) : undefined;
  const contexts = new WeakMap<Request, RequestContext>();
  const modern = createMcpHandler(
    ({ requestInfo }) => {
      const context = requestInfo && contexts.get(requestInfo);
      if (context === undefined) throw new Error('a request without a context');
      return makeServer(context, version);
    },
    { legacy: 'reject', onerror: ({ name }) => logger.debug({ error: name }, 'request refused') },
  );
  const throughSdk = async ({ headers, body, question }: Asked, given: RequestContext): Promise<Response> => {
    // A question's era is how it looks at a glance; here the SDK has its say.
    const context = question === undefined ? given : { ...given, era: eraOf(headers, body) };
    if (Array.isArray(body)) {
      return jsonRpcError(400, rpcCodes.invalidRequest, 'Batches are not served: send one request');
    }
    const request = protocolRequest(headers);
    if (context.era === 'legacy') return answerLegacy(makeServer(context, version), request, body);
    contexts.set(request, context);
    return modern.fetch(request, { parsedBody: body });
  };
  return {
    asked(headers, body) {
      const question = answers && ordinaryQuestion(headers, body);
      return { headers, body, era: question?.era ?? eraOf(headers, body), question };
    },
    kept: ({ question }, context) => question && answers?.kept(question, context),
    wantsStream: ({ era, body }) => era === 'modern' && methodOf(body) === listenMethod,
    listen: ({ headers, body }, context, gone) =>
      openChangeStream(protocolRequest(headers, gone), body, context, version),
    async answer(asked, context) {
      const { question } = asked;
      const made = question && (await answers?.made(question, context));
      if (made !== undefined) return made;
      const answer = inPlainWords(await answerFrom(await throughSdk(asked, context)), methodOf(asked.body));
      if (question !== undefined) answers?.learn(question, context, answer);
      return answer;
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
function protocolRequest(headers: IncomingHttpHeaders, signal?: AbortSignal): Request {
  const seen = new Headers({ accept: 'application/json, text/event-stream', 'content-type': 'application/json' });
  for (const name of protocolHeaders) {
    const value = single(headers[name]);
    if (value !== undefined) seen.set(name, value);
  }
  return new Request('http://lyceum.invalid/mcp', {
    method: 'POST',
    headers: seen,
    ...(signal === undefined ? {} : { signal }),
  });
}

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value;

const methodOf = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && 'method' in body ? body.method : undefined;
