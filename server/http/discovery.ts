// Skills over plain HTTP: the discovery index, archives and single files, so that `npx skills add` installs from a gateway.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { ContentUnavailable } from '../../catalogue/content.ts';
import { discoveryNames, discoverySchema, isOneFile } from '../answers/discovery.ts';
import { type DiscoveryEntries, DiscoveryListings } from '../archive/discovery-entries.ts';
import { archive, archiveDigest, archiveSize } from '../archive/skill-archive.ts';
import { Budget } from '../budget.ts';
import type { Downloads } from '../downloads/downloads.ts';
import type { ServerMetrics } from '../metrics.ts';
import { queryText, requestScope, scopeParameters, settingScope } from '../scope.ts';
import { artifactFile } from '../snapshot/keys.ts';
import type { Artifact } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import type { CurrentCatalogue } from './catalogue.ts';
import { contentHeaders, isKept, sendArchive, sendFile, tagOf } from './content.ts';
import { queryOf, viewOf } from './request-view.ts';

export interface DiscoveryOptions {
  catalogue: CurrentCatalogue;
  metrics: Pick<ServerMetrics, 'read'>;
  downloads: Pick<Downloads, 'count'>;
  logger: Logger;
}

const folder = '/.well-known/agent-skills/';

/** In bytes, over all archives and files that are being read or sent. */
const inMemory = 64 * 1024 * 1024;

/**
 * `/.well-known/agent-skills/…`, and `/<library>/.well-known/…` for whoever cannot send a header or a query: the library
 * in the path narrows what is seen as `?library=` does.
 */
export function addDiscovery(app: FastifyInstance, { catalogue, metrics, downloads, logger }: DiscoveryOptions): void {
  const budget = new Budget(inMemory);
  const listings = new DiscoveryListings(budget, logger);
  const counted: Asked['counted'] = (skill, whole) => () => {
    metrics.read('skill', skill.from.library);
    if (whole) downloads.count(skill, skill.row.version, 'archive');
  };
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
          reply.headers(contentHeaders);
          try {
            return await handler({ request, view, rest: restOf(request), counted }, reply);
          } catch (error) {
            if (!(error instanceof ContentUnavailable)) throw error;
            logger.warn({ digest: error.digest, why: error.message }, 'content not available');
            return unavailable(reply, 'The content cannot be read at the moment; try again in a minute');
          }
        },
      });
    };
    route('index.json', (asked, reply) => sendIndex(asked, reply, listings));
    route(':archive', (asked, reply) => sendSkillArchive(asked, reply, budget));
    route(':name/*', (asked, reply) => sendFileOfSkill(asked, reply, budget));
  }
}

interface Asked {
  request: FastifyRequest;
  view: View;
  /** What stands behind the folder in the URL's path, as it was sent. */
  rest: string;
  /** To be called when a skill is sent. @param whole all of its files, as the index offers it */
  counted(skill: Artifact, whole: boolean): () => void;
}

async function sendIndex(
  { request, view }: Asked,
  reply: FastifyReply,
  listings: DiscoveryListings,
): Promise<FastifyReply> {
  const { entries, digest } = await listings.of(view);
  // The request's own scope, so that the URLs in an answer lead to what it shows.
  const query = queryText(scopeParameters(requestScope(request.headers, queryOf(request))));
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
async function sendSkillArchive(
  { request, view, rest, counted }: Asked,
  reply: FastifyReply,
  budget: Budget,
): Promise<FastifyReply> {
  const { content } = view.snapshot;
  const name = rest.endsWith('.zip') ? rest.slice(0, -'.zip'.length) : '';
  const skill = discoveryNames(view).get(name);
  const size = skill && archiveSize(skill.row);
  if (skill === undefined || size === undefined) return notFound(reply);
  const { row } = skill;
  const sending = { request, reply, view, budget, sent: counted(skill, true) };
  return sendArchive(sending, {
    type: 'application/zip',
    fileName: `${name}.zip`,
    digest: await archiveDigest(row, content, budget),
    size,
    pieces: (within, overdue) => archive(row, content, within, overdue),
  });
}

/** `<name>/<path>`: a file as it is read over MCP, in the form of a listing or raw. */
async function sendFileOfSkill(
  { request, view, rest, counted }: Asked,
  reply: FastifyReply,
  budget: Budget,
): Promise<FastifyReply> {
  const slash = rest.indexOf('/');
  const skill = discoveryNames(view).get(rest.slice(0, slash));
  const file = skill && artifactFile(skill.row, rest.slice(slash + 1));
  if (skill === undefined || file === undefined) return notFound(reply);
  return sendFile({ request, reply, view, budget, sent: counted(skill, isOneFile(skill.row)) }, file);
}

function restOf({ raw: { url = '' } }: FastifyRequest): string {
  const path = url.split('?', 1)[0]!;
  const at = path.indexOf(folder);
  return at === -1 ? '' : path.slice(at + folder.length);
}

const notFound = (reply: FastifyReply): FastifyReply => reply.code(404).send({ error: 'There is no such file here' });

const unavailable = (reply: FastifyReply, error: string): FastifyReply =>
  reply.code(503).header('retry-after', '1').send({ error });
