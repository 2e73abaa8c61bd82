// What stands before fastify: a request to /mcp that is there whole, and whose answer is kept, is answered at once. Every
// other one goes on as it came, so that whatever is out of the ordinary is judged in one place.
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Logger } from 'pino';
import type { Touched } from '../answers/read.ts';
import type { Downloads } from '../downloads/downloads.ts';
import type { SplicedAnswer } from '../mcp/answer.ts';
import type { Endpoint } from '../mcp/endpoint.ts';
import { methodLabel } from '../metrics.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { type AccessRules, refusal } from './access.ts';
import type { Asker } from './authentication.ts';
import type { CurrentCatalogue } from './catalogue.ts';
import { jsonBody } from './json-body.ts';
import { sendInPieces } from './send-answer.ts';
import type { RequestLabels, Tell } from './told.ts';
import { rememberedWish } from './wish.ts';

export interface FrontOptions {
  catalogue: CurrentCatalogue;
  endpoint: Endpoint;
  access: AccessRules;
  /** Told of everything that is read. */
  read(touched: Touched): void;
  downloads: Downloads;
  logger: Logger;
  tell: Tell;
  /** Whether the server was told to stop. */
  isClosing(): boolean;
  /** What answers everything else. It finds the request as Node gave it, its body unread. */
  ordinary: RequestListener;
}

/** In bytes. What is longer is hardly a question whose answer is kept, and would be parsed twice. */
const longestBody = 16 * 1024;

export function front(options: FrontOptions): RequestListener {
  const { ordinary, tell } = options;
  return (request, response) => {
    if (!isForMcp(request)) return ordinary(request, response);
    const began = performance.now();
    // By then Node has parsed all that it read with the head, which is the body of most. What has not come is not waited for.
    setImmediate(() => {
      const found = find(request, options);
      if (found === undefined) return ordinary(request, response);
      const { answer, labels, client } = found;
      response.once('finish', () => {
        const seconds = (performance.now() - began) / 1000;
        tell({ http: 'POST', route: '/mcp', status: response.statusCode, labels, client, seconds });
      });
      sendInPieces(response, answer, false);
    });
  };
}

interface Found {
  answer: SplicedAnswer;
  labels: RequestLabels;
  client: string | undefined;
}

/** The kept answer; undefined: the request is as it was. */
function find(request: IncomingMessage, options: FrontOptions): Found | undefined {
  const { snapshot } = options.catalogue;
  if (snapshot === undefined || options.isClosing() || !isWhole(request) || !isUsual(request)) return undefined;
  const bytes: Buffer = request.read(request.readableLength);
  const found = answerTo(request, bytes, snapshot, options);
  if (found === undefined) request.unshift(bytes);
  return found;
}

function answerTo(
  raw: IncomingMessage,
  body: Buffer,
  snapshot: Snapshot,
  { access, endpoint, read, downloads, logger }: FrontOptions,
): Found | undefined {
  const { headers } = raw;
  const asker: Asker = { raw, routeOptions: mcp, client: undefined, judgedBy: undefined };
  try {
    if (refusal(access, headers.origin, headers.host, snapshot.index) !== undefined) return undefined;
    const wish = rememberedWish(asker, snapshot);
    if (wish === undefined) return undefined;
    const asked = endpoint.asked(headers, jsonBody(headers['content-type'], body));
    const answer = endpoint.kept(asked, { era: asked.era, ...wish, logger, read, downloads });
    if (answer === undefined || !('head' in answer)) return undefined;
    return { answer, labels: { method: methodLabel(asked.question?.method), era: asked.era }, client: asker.client };
  } catch {
    // No token, or no JSON. The ordinary way finds the same, and says so.
    return undefined;
  }
}

/** A route that says nothing of access: it asks for a bearer token. */
const mcp = { config: {} };

const isForMcp = ({ method, url }: IncomingMessage): boolean =>
  method === 'POST' && (url === '/mcp' || url!.startsWith('/mcp?'));

const isWhole = ({ complete, readableLength }: IncomingMessage): boolean =>
  complete && readableLength > 0 && readableLength <= longestBody;

/** From no page of a browser, and of the type that nearly all name so. */
const isUsual = ({ headers }: IncomingMessage): boolean =>
  headers.origin === undefined && headers['content-type'] === 'application/json';
