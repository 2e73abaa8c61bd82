// Who asks: every route wants a bearer token where the gateway has any, unless it says otherwise. Whoever may not come in
// gets one answer, whatever was wrong with what he showed.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AuthSetting, Index } from '../../catalogue/index-file.ts';
import { clientOfToken } from '../tokens.ts';
import type { CurrentCatalogue } from './catalogue.ts';
import { refuse } from './refuse.ts';

/**
 * What a route asks for where the gateway has tokens. `token`, which holds when a route says nothing: a bearer token. `page`:
 * that, or HTTP Basic with the token as password, since browsers can do that alone. `anonymous`: nothing, but what is shown
 * must be right. `open`: nothing.
 */
export type Access = 'token' | 'page' | 'anonymous' | 'open';

/** What of a request says who asks. Fastify's is one. */
export interface Asker {
  raw: IncomingMessage;
  routeOptions: { config: { access?: Access } };
  /** The client whose token was shown: a key of the gateway's Secret. Undefined: none, or the gateway has no tokens. */
  client: string | undefined;
  /** The tokens by which that was judged; undefined before it was. */
  judgedBy: AuthSetting | undefined;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest extends Pick<Asker, 'client' | 'judgedBy'> {}
}

/** A request that shows no token of the index in force. The error handler answers it. */
export class Unauthorized extends Error {}

export function addAuthentication(app: FastifyInstance, catalogue: CurrentCatalogue): void {
  app.decorateRequest('client', undefined);
  app.decorateRequest('judgedBy', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    const index = catalogue.snapshot?.index;
    if (index?.auth === undefined || request.is404) return done();
    const { access } = request.routeOptions.config;
    if (access === 'open') return done();
    if (access === 'anonymous' && request.headers.authorization === undefined) return done();
    if (judge(request, index.auth) === undefined) answerUnauthorized(request, reply);
    else done();
  });
}

/**
 * Who may see what an index serves: undefined for everybody, where it has no tokens. Asked again where content is shown,
 * since another index may be in force by then.
 * @throws Unauthorized
 */
export function clientOf(request: Asker, { auth }: Index): string | undefined {
  if (auth === undefined) return undefined;
  const client = request.judgedBy === auth ? request.client : judge(request, auth);
  if (client === undefined) throw new Unauthorized();
  return client;
}

function judge(request: Asker, auth: AuthSetting): string | undefined {
  request.client = clientShown(request, auth);
  request.judgedBy = auth;
  return request.client;
}

export function answerUnauthorized(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const page = request.routeOptions.config.access === 'page';
  reply.header('www-authenticate', page ? ['Basic realm="Lyceum", charset="UTF-8"', 'Bearer'] : 'Bearer');
  return refuse(
    request,
    reply,
    401,
    `This gateway asks for a bearer token: send the header Authorization: Bearer TOKEN${page ? ', or in a browser give the token as the password, with any user name' : ''}`,
  );
}

function clientShown({ raw, routeOptions }: Asker, auth: AuthSetting): string | undefined {
  const header = raw.headers.authorization;
  if (header === undefined || isRepeated(raw.rawHeaders)) return undefined;
  const token = bearer.exec(header)?.[1] ?? (routeOptions.config.access === 'page' ? passwordOf(header) : undefined);
  return token === undefined ? undefined : clientOfToken(auth, token);
}

const bearer = /^bearer +([\x21-\x7e]{1,1024})$/i;
const basic = /^basic +([A-Za-z0-9+/]{1,4096}={0,2})$/i;

/** What stands behind the first colon of HTTP Basic; the user's name is of no meaning. */
function passwordOf(header: string): string | undefined {
  const encoded = basic.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('latin1');
  const colon = text.indexOf(':');
  return colon === -1 ? undefined : text.slice(colon + 1);
}

/** Node keeps the first of several, and what stood before this server may have gone by the last. */
function isRepeated(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') count += 1;
  }
  return count > 1;
}
