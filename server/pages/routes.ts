// The routes of the pages: what a browser asks for, in the scope of who asks.
import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { ContentUnavailable } from '../../catalogue/content.ts';
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import type { Downloads } from '../downloads/downloads.ts';
import type { CurrentCatalogue } from '../http/catalogue.ts';
import { embeddedNowhere, isKept, tagOf } from '../http/content.ts';
import { refuse } from '../http/refuse.ts';
import type { ServerMetrics } from '../metrics.ts';
import { ArtifactRoutes } from './artifact-routes.ts';
import { assetAt } from './assets.ts';
import { homePage, kindPage, librariesPage } from './list-pages.ts';
import { type KindFolder, kindsByFolder } from './places.ts';
import { QueryTooLong } from './search.ts';
import { searchAnswer } from './search-answer.ts';
import { type Asked, notFound, send, sendPage, unavailable } from './send-page.ts';
import { sourcePage, sourcesPage } from './source-pages.ts';
import { type Visit, visitOf } from './visit.ts';

export interface PagesOptions {
  catalogue: CurrentCatalogue;
  metrics: Pick<ServerMetrics, 'read'>;
  downloads: Downloads;
  logger: Logger;
}

const kind = ':kind(^skills$|^prompts$|^rules$|^profiles$)';
/** No artifact's name begins with a dot: `/skills/.well-known/…` is a library's. */
const name = ':name(^[^.].*$)';

export function addPages(app: FastifyInstance, options: PagesOptions): void {
  const { catalogue, downloads, logger } = options;
  const artifacts = new ArtifactRoutes(options);
  app.addHook('onClose', () => artifacts.close());

  const route = (url: string, answer: (asked: Asked) => Promise<FastifyReply>): void => {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      config: { access: 'page' },
      async handler(request, reply) {
        const { snapshot } = catalogue;
        if (snapshot === undefined) {
          return unavailable(request, reply, 'No catalogue is loaded yet; GET /readyz says why');
        }
        try {
          return await answer({ request, reply, visit: visitOf(request, snapshot, downloads) });
        } catch (error) {
          if (error instanceof QueryTooLong) return refuse(request, reply, 400, error.message);
          if (!(error instanceof ContentUnavailable)) throw error;
          logger.warn({ digest: error.digest, why: error.message }, 'content not available');
          return unavailable(request, reply, 'The content cannot be read at the moment; try again in a minute');
        }
      },
    });
  };
  const page = (url: string, make: (visit: Visit) => Promise<string> | string): void =>
    route(url, async (asked) => sendPage(asked, await make(asked.visit)));

  page('/', homePage);
  page('/libraries', librariesPage);
  page('/sources', sourcesPage);
  route('/sources/:name', async (asked) => {
    const text = sourcePage(asked.visit, (asked.request.params as { name: string }).name);
    return text === undefined ? notFound(asked) : sendPage(asked, text);
  });
  route('/search.json', async (asked) => {
    return send(asked, 'application/json; charset=utf-8', JSON.stringify(await searchAnswer(asked.visit)));
  });
  route(`/${kind}`, async (asked) => sendPage(asked, await kindPage(asked.visit, kindIn(asked))));
  for (const url of [`/${kind}/${name}`, `/${kind}/${name}/*`]) {
    route(url, (asked) => artifacts.answer(asked, kindIn(asked)));
  }
  app.route({
    method: ['GET', 'HEAD'],
    url: '/assets/:file',
    config: { access: 'page' },
    handler: async (request, reply) => sendAsset(request, reply),
  });
}

const kindIn = ({ request }: Asked): ArtifactKind => kindsByFolder[(request.params as { kind: KindFolder }).kind];

const forEver = 'private, max-age=31536000, immutable';

function sendAsset(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = `/assets/${(request.params as { file: string }).file}`;
  const asset = assetAt(path);
  if (asset === undefined) return refuse(request, reply, 404, 'There is nothing here');
  reply.headers({
    ...embeddedNowhere,
    'cache-control': asset.href === path ? forEver : 'private, no-cache',
    'content-security-policy': "default-src 'none'",
    'x-content-type-options': 'nosniff',
  });
  return isKept(request, reply, tagOf(hash('sha256', asset.bytes))) ? reply : reply.type(asset.type).send(asset.bytes);
}
