// Skills over plain HTTP: the discovery index, archives and single files, so that `npx skills add` installs from a gateway.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { ContentUnavailable } from '../../catalogue/content.ts';
import { discoveryNames, discoverySchema } from '../answers/discovery.ts';
import { type DiscoveryEntries, DiscoveryListings } from '../archive/discovery-entries.ts';
import { archive, archiveDigest, archiveSize } from '../archive/skill-archive.ts';
import { Budget } from '../budget.ts';
import type { ServerMetrics } from '../metrics.ts';
import { requestScope, type Scope, settingScope } from '../scope.ts';
import { artifactFile } from '../snapshot/keys.ts';
import type { View } from '../view.ts';
import type { CurrentCatalogue } from './catalogue.ts';
import { queryOf, viewOf } from './request-view.ts';

export interface DiscoveryOptions {
  catalogue: CurrentCatalogue;
  metrics: Pick<ServerMetrics, 'read'>;
  logger: Logger;
}

const folder = '/.well-known/agent-skills/';

/** In bytes, over all archives and files that are being read or sent. */
const inMemory = 64 * 1024 * 1024;

/**
 * `/.well-known/agent-skills/…`, and `/<library>/.well-known/…` for whoever cannot send a header or a query: the library
 * in the path narrows what is seen as `?library=` does.
 */
export function addDiscovery(app: FastifyInstance, { catalogue, metrics, logger }: DiscoveryOptions): void {
  const budget = new Budget(inMemory);
  const listings = new DiscoveryListings(budget, logger);
  for (const prefix of ['', '/:library']) {
    const route = (path: string, handler: (asked: Asked, reply: FastifyReply) => Promise<FastifyReply>): void => {
      app.route<{ Params: { library?: string } }>({
        method: ['GET', 'HEAD'],
        url: prefix + folder + path,
        async handler(request, reply) {
          const { snapshot } = catalogue;
          if (snapshot === undefined) return unavailable(reply, 'No catalogue is loaded yet; GET /readyz says why');
          const { library } = request.params;
          const view = viewOf(request, snapshot, library === undefined ? [] : settingScope({ library }));
          reply.headers(always);
          try {
            return await handler({ request, view, rest: restOf(request), metrics }, reply);
          } catch (error) {
            if (!(error instanceof ContentUnavailable)) throw error;
            logger.warn({ digest: error.digest, why: error.message }, 'content not available');
            return unavailable(reply, 'The content cannot be read at the moment; try again in a minute');
          }
        },
      });
    };
    route('index.json', (asked, reply) => sendIndex(asked, reply, listings));
    route(':archive', (asked, reply) => sendArchive(asked, reply, budget));
    route(':name/*', (asked, reply) => sendFile(asked, reply, budget));
  }
}

interface Asked {
  request: FastifyRequest;
  view: View;
  /** What stands behind the folder in the URL's path, as it was sent. */
  rest: string;
  metrics: Pick<ServerMetrics, 'read'>;
}

async function sendIndex(
  { request, view }: Asked,
  reply: FastifyReply,
  listings: DiscoveryListings,
): Promise<FastifyReply> {
  const { entries, digest } = await listings.of(view);
  const query = queryOfScope(requestScope(request.headers, queryOf(request)));
  const tag = tagOf(createHash('sha256').update(digest).update(query).digest('hex'));
  if (isKept(request, reply, tag)) return reply;
  reply.type('application/json; charset=utf-8');
  if (request.method === 'HEAD') return reply.send();
  return reply.send(Readable.from(indexPieces(entries, query), { objectMode: false }));
}

async function* indexPieces(entries: DiscoveryEntries, query: string): AsyncGenerator<string> {
  let piece = `{"$schema":${JSON.stringify(discoverySchema)},"skills":[`;
  let comma = '';
  for await (const entry of entries()) {
    piece += comma + JSON.stringify({ ...entry, url: entry.url + query });
    comma = ',';
    if (piece.length < 65_536) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]}`;
}

/** `<name>.zip` */
async function sendArchive(
  { request, view, rest, metrics }: Asked,
  reply: FastifyReply,
  budget: Budget,
): Promise<FastifyReply> {
  const { content } = view.snapshot;
  const name = rest.endsWith('.zip') ? rest.slice(0, -'.zip'.length) : '';
  const skill = discoveryNames(view).get(name);
  const size = skill && archiveSize(skill.row);
  if (skill === undefined || size === undefined) return notFound(reply);
  const { row } = skill;
  if (isKept(request, reply, tagOf(await archiveDigest(row, content, budget)))) return reply;
  reply.type('application/zip').header('content-length', size);
  reply.header('content-disposition', `attachment; filename="${name}.zip"`);
  if (request.method === 'HEAD') return reply.send();
  metrics.read('skill', skill.from.library);
  const pieces = archive(row, content, budget, () => reply.raw.destroy());
  return reply.send(Readable.from(pieces, { objectMode: false }));
}

/** `<name>/<path>`: a file as it is read over MCP, in the form of a listing or raw. */
async function sendFile(
  { request, view, rest, metrics }: Asked,
  reply: FastifyReply,
  budget: Budget,
): Promise<FastifyReply> {
  const slash = rest.indexOf('/');
  const skill = discoveryNames(view).get(rest.slice(0, slash));
  const file = skill && artifactFile(skill.row, rest.slice(slash + 1));
  if (skill === undefined || file === undefined) return notFound(reply);
  if (isKept(request, reply, tagOf(file.digest))) return reply;
  reply.type(contentType(file.mediaType, file.text)).header('content-length', file.size);
  if (request.method === 'HEAD') return reply.send();
  const giveBack = await budget.take(file.size, () => reply.raw.destroy());
  if (reply.raw.destroyed) giveBack();
  else reply.raw.once('close', giveBack);
  const bytes = await view.snapshot.content.read(file.digest);
  metrics.read('skill', skill.from.library);
  return reply.send(bytes);
}

/** What is served is other people's text: no browser takes it for a page of this server's own. */
const always = {
  'cache-control': 'private, no-cache',
  'content-security-policy': "default-src 'none'; sandbox",
  vary: 'Authorization, X-Skill-Library, X-Skill-Pack, X-Skill-Tags',
  'x-content-type-options': 'nosniff',
};

const contentType = (mediaType: string, isText: boolean): string =>
  isText && mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType;

const tagOf = (digest: string): string => `"${digest.replace('sha256:', '')}"`;

/** Names the state of what is asked for. @returns true when the client has it, which is answered then */
function isKept(request: FastifyRequest, reply: FastifyReply, tag: string): boolean {
  reply.header('etag', tag);
  const known = request.headers['if-none-match']?.split(',').map((one) => one.trim().replace(/^W\//, ''));
  if (known === undefined || !(known.includes(tag) || known.includes('*'))) return false;
  reply.code(304).send();
  return true;
}

function restOf({ raw: { url = '' } }: FastifyRequest): string {
  const path = url.split('?', 1)[0]!;
  const at = path.indexOf(folder);
  return at === -1 ? '' : path.slice(at + folder.length);
}

/** The request's own scope, so that the URLs in an answer lead to what it shows. */
function queryOfScope(scope: Scope): string {
  const query = new URLSearchParams();
  for (const { library, tags } of scope) {
    if (library !== undefined) query.set('library', library);
    if (tags !== undefined) query.set('tags', tags.join(','));
  }
  return query.size === 0 ? '' : `?${query}`;
}

const notFound = (reply: FastifyReply): FastifyReply => reply.code(404).send({ error: 'There is no such file here' });

const unavailable = (reply: FastifyReply, error: string): FastifyReply =>
  reply.code(503).header('retry-after', '1').send({ error });
