// What stands below an artifact's name: its page, its files as they are, its archives.
import type { FastifyReply } from 'fastify';
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import type { Candidates } from '../answers/artifact-names.ts';
import { VersionArchive } from '../archive/version-archive.ts';
import { Budget } from '../budget.ts';
import type { Downloads } from '../downloads/downloads.ts';
import type { CurrentCatalogue } from '../http/catalogue.ts';
import { contentHeaders, type Sending, sendArchive, sendFile } from '../http/content.ts';
import type { AskedFiles } from '../live/asked-files.ts';
import type { ServerMetrics } from '../metrics.ts';
import { artifactFile } from '../snapshot/keys.ts';
import { mainFile } from '../snapshot/snapshot.ts';
import { isLive } from '../view.ts';
import { archiveName, artifactPage } from './artifact-page.ts';
import { candidatesPage } from './candidates-page.ts';
import { Markdown } from './markdown/markdown.ts';
import { pageHeaders } from './page-headers.ts';
import { type Place, placeOf } from './places.ts';
import { type Asked, notFound, sendPage } from './send-page.ts';
import { visitOf } from './visit.ts';

export interface ArtifactRoutesOptions {
  catalogue: CurrentCatalogue;
  metrics: Pick<ServerMetrics, 'read'>;
  downloads: Downloads;
}

/** In bytes, over all archives, files and texts that are being read or sent. */
const inMemory = 32 * 1024 * 1024;

export class ArtifactRoutes {
  readonly #options: ArtifactRoutesOptions;
  readonly #markdown = new Markdown();
  readonly #budget = new Budget(inMemory);

  constructor(options: ArtifactRoutesOptions) {
    this.#options = options;
  }

  /** @throws ContentUnavailable, Unauthorized */
  async answer(first: Asked, kind: ArtifactKind): Promise<FastifyReply> {
    const { asked, place } = await this.#find(first, kind);
    if (place === undefined) return notFound(asked);
    if ('candidates' in place) {
      asked.reply.code(300).headers(pageHeaders).type('text/html; charset=utf-8');
      return asked.reply.send(candidatesPage(asked.visit, kind, place.candidates));
    }
    const sending = this.#sending(asked, place);
    if (place.at === 'raw') return await sendRaw(asked, place, sending);
    if (place.at === 'archive') return await this.#sendArchive(asked, place, sending);
    await this.#hold(asked, mainFile(place.row)?.size ?? 0);
    return sendPage(asked, await artifactPage(asked.visit, place.artifact, place.row, this.#markdown));
  }

  close(): Promise<void> {
    return this.#markdown.close();
  }

  /** What is asked for, in the newest bytes of a Live source. */
  async #find(asked: Asked, kind: ArtifactKind): Promise<{ asked: Asked; place: Place | Candidates | undefined }> {
    const { request, visit } = asked;
    const { catalogue, downloads } = this.#options;
    const path = pathBelow(asked);
    const place = placeOf(visit.view, kind, path);
    if (place === undefined || 'candidates' in place || !isLive(visit.view)) return { asked, place };
    const { snapshot } = visit.view;
    const fresh = await catalogue.fresh?.(snapshot, [filesAt(place)]);
    if (fresh === undefined || fresh === snapshot) return { asked, place };
    const freshVisit = visitOf(request, fresh, downloads);
    return { asked: { ...asked, visit: freshVisit }, place: placeOf(freshVisit.view, kind, path) };
  }

  #sending({ request, reply, visit }: Asked, { artifact }: Place): Sending {
    const sent = (): void => this.#options.metrics.read(artifact.kind, artifact.from.library);
    return { request, reply, view: visit.view, budget: this.#budget, sent };
  }

  async #sendArchive(asked: Asked, { artifact, row }: Place, sending: Sending): Promise<FastifyReply> {
    // A prompt is no file that is installed.
    if (artifact.kind === 'prompt') return notFound(asked);
    const archive = await VersionArchive.of(asked.visit.view, artifact, row);
    const digest = await archive.digest(this.#budget);
    asked.reply.headers(contentHeaders);
    const sent = (): void => {
      sending.sent();
      this.#options.downloads.count(artifact, row.version, 'archive');
    };
    return sendArchive(
      { ...sending, sent },
      {
        type: 'application/gzip',
        fileName: archiveName(artifact, row),
        digest,
        size: archive.size,
        pieces: (budget, overdue) => archive.pieces(budget, overdue),
      },
    );
  }

  /** Waits until so many bytes may be in memory, which they are until the page is taken or the client is gone. */
  async #hold({ reply }: Asked, bytes: number): Promise<void> {
    const giveBack = await this.#budget.take(bytes, () => reply.raw.destroy());
    if (reply.raw.destroyed) giveBack();
    else reply.raw.once('close', giveBack);
  }
}

async function sendRaw(asked: Asked, { row, path }: Place, sending: Sending): Promise<FastifyReply> {
  const file = artifactFile(row, path);
  if (file === undefined) return notFound(asked);
  asked.reply.headers(contentHeaders);
  return await sendFile(sending, file);
}

/** What stands behind the kind's folder in the URL's path, as it was sent. The URL may be whole, and any letter encoded. */
function pathBelow({ request }: Asked): string {
  const [url] = (request.raw.url ?? '').split(/[?#]/, 1);
  const path = url!.replace(/^[a-z]+:\/\/[^/]*/i, '');
  return path.slice(path.indexOf('/', 1) + 1).replace(/\/$/, '');
}

function filesAt({ artifact, row, at, path }: Place): AskedFiles {
  const source = artifact.from.name;
  if (at === 'archive') return { source, row };
  const file = at === 'raw' ? artifactFile(row, path) : mainFile(row);
  return { source, row, paths: new Set(file === undefined ? [] : [file.path]) };
}
