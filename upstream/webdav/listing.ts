// One folder as its server lists it: what is in it, and what the server said that cannot be taken.
import { UpstreamFault } from '../fault.ts';
import { statusFault } from '../guard/faults.ts';
import { placeOf } from './href.ts';
import type { DavResponse } from './multistatus.ts';

export interface Entry {
  name: string;
  folder: boolean;
  /** As the server writes it, quotes and `W/` included. */
  etag?: string;
  /** Bytes. */
  size?: number;
  /** Milliseconds since 1970; servers tell whole seconds. */
  modified?: number;
  /** A folder of a Nextcloud or ownCloud server that is no mount: its ETag moves whenever anything below it does. */
  deep?: true;
}

/** What is left out of a folder, and why. */
export interface Remark {
  reason: 'BadFileName' | 'AccessDenied';
  /** The name, where it could be read. */
  name?: string;
  message: string;
}

export interface Listed {
  hrefPath: readonly string[];
  /** With its port where that is not the scheme's own. */
  host: string;
  /** What messages call the server. */
  server: string;
  /** What messages call the folder. */
  folder: string;
  /** Told of each thing that is listed, before anything of it is kept. */
  counted(): void;
}

/** Statuses of a row that say: there is something here, and you may not see it. Any other failure makes a listing incomplete. */
const denials = new Set([401, 403, 404, 410, 423, 424, 451]);

/** Gathers the rows of one Depth-1 listing. */
export class FolderListing {
  readonly #listed: Listed;
  readonly entries = new Map<string, Entry>();
  readonly remarks: Remark[] = [];
  #self = false;

  constructor(listed: Listed) {
    this.#listed = listed;
  }

  /** @throws UpstreamFault where a row shows that the listing is not whole, or not one of this folder */
  add(response: DavResponse): void {
    const { hrefPath, host, server, folder, counted } = this.#listed;
    if (response.hrefs.length === 0)
      throw new UpstreamFault('UpstreamInvalid', `${server} lists something without a name in ${folder}`);
    for (const href of response.hrefs) {
      const place = placeOf(href, hrefPath, host);
      if (place.at === 'nowhere' || place.at === 'child') counted();
      if (place.at === 'nowhere') {
        this.remarks.push({
          reason: 'BadFileName',
          message: `The server lists a name here that ${place.why}: it is left out, rename it.`,
        });
      } else if (place.at === 'self') this.#addSelf(response);
      else if (place.at === 'child') this.#addChild(response, place.name, place.slash);
    }
  }

  /** @throws UpstreamFault where the folder itself was not among the rows: then they are those of another one */
  end(): void {
    if (this.#self) return;
    const { server, folder } = this.#listed;
    throw new UpstreamFault(
      'UpstreamInvalid',
      `${server} does not list ${folder} when it is asked for that; check spec.url, and whether a proxy in front of it changes paths`,
    );
  }

  #addSelf({ status, refused, collection }: DavResponse): void {
    const { server, folder } = this.#listed;
    const failed = status !== undefined && status > 299 ? status : refused;
    if (failed !== undefined) throw statusFault(server, failed, undefined);
    if (collection === false)
      throw new UpstreamFault('NotFound', `${folder} at ${server} is a file, not a folder; check spec.url`);
    this.#self = true;
  }

  #addChild({ status, refused, collection, properties }: DavResponse, name: string, slash: boolean): void {
    const { server, folder: listed } = this.#listed;
    const failed = status !== undefined && status > 299 ? status : refused;
    if (failed !== undefined && collection === undefined && !(status === undefined && failed === 404)) {
      if (!denials.has(failed)) {
        throw new UpstreamFault(
          'UpstreamInvalid',
          `${server} cannot list all of ${listed} at present (HTTP ${failed} for a part of it)`,
        );
      }
      const message = `The server lists it and does not show it (HTTP ${failed}): let the user of spec.secretRef read it, or remove it.`;
      this.remarks.push({ reason: 'AccessDenied', name, message });
      return;
    }
    if (this.entries.has(name)) {
      this.remarks.push({
        reason: 'BadFileName',
        name,
        message: 'The server lists this name twice: one is left out, rename it.',
      });
      return;
    }
    const etag = etagOf(properties.get('getetag'));
    const size = properties.get('getcontentlength');
    const modified = Date.parse(properties.get('getlastmodified') ?? '');
    const folder = collection ?? slash;
    this.entries.set(name, {
      name,
      folder,
      ...(etag === undefined ? {} : { etag }),
      ...(size !== undefined && /^\d{1,15}$/.test(size) ? { size: Number(size) } : {}),
      ...(Number.isNaN(modified) ? {} : { modified }),
      ...(folder && isDeep(properties.get('oc:permissions')) ? { deep: true } : {}),
    });
  }
}

/** Characters; a longer one is as good as none, and whoever sends it wants memory. */
const longestEtag = 1024;

/** A copy, since what is cut from a listing keeps the text around it in memory. */
const etagOf = (text: string | undefined): string | undefined =>
  text === undefined || text.length > longestEtag ? undefined : Buffer.from(text).toString();

/** M and S: mounted or shared from elsewhere, where changes may be noticed only when somebody looks. */
const isDeep = (permissions: string | undefined): boolean => permissions !== undefined && !/[MS]/.test(permissions);
