// The body of a 207 (RFC 4918, 13), read as it comes: each `response` with its hrefs, status and the properties asked for.
import { SaxesParser, type SaxesTagNS } from 'saxes';
import type { Pace } from '../pace.ts';

export interface DavResponse {
  hrefs: string[];
  /** The response's own status, where it has one instead of properties. */
  status: number | undefined;
  /** Of resourcetype: a collection or not; undefined where the server gives no resourcetype. */
  collection: boolean | undefined;
  /** The status with which resourcetype itself was refused. */
  refused: number | undefined;
  /** Texts of the properties that have been found, by local name; of ownCloud's own ones by `oc:` and that. */
  properties: ReadonlyMap<string, string>;
}

/** The body is no multistatus, or not whole. */
export class NoMultistatus extends Error {}

const dav = 'DAV:';
const ownCloud = 'http://owncloud.org/ns';
const deepest = 64;
/** Names of one response; those of a listing have one each. */
const mostHrefs = 64;
/** Characters that are parsed in one go. */
const slice = 16_384;
/** Characters that XML cannot hold; what a name has of them is seen where the href is read. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const noXml = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;

/** The properties that a listing asks for, of the namespace `DAV:`; and ownCloud's `permissions`. */
export const askedProperties = ['resourcetype', 'getetag', 'getcontentlength', 'getlastmodified'] as const;

/** The body of a PROPFIND for them. */
export const propfindBody = Buffer.from(
  `<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop>${askedProperties
    .map((name) => `<${name}/>`)
    .join('')}<permissions xmlns="${ownCloud}"/></prop></propfind>`,
);

/**
 * Hands each response to `take`, in order. Properties count where their propstat is a success, whichever propstat that is.
 * Names are those of the namespace `DAV:` alone.
 * @throws NoMultistatus; whatever `take` and `pace` throw
 */
export async function readMultistatus(
  chunks: Iterable<Buffer>,
  pace: Pace,
  take: (response: DavResponse) => void,
): Promise<void> {
  const reading = new Reading(take);
  const decoder = new TextDecoder('utf-8');
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += slice) {
      reading.write(decoder.decode(chunk.subarray(at, at + slice), { stream: true }));
      await pace();
    }
  }
  reading.write(decoder.decode());
  reading.end();
}

interface Propstat {
  status: number | undefined;
  collection: boolean | undefined;
  properties: Map<string, string>;
}

/** What the propstats of a response have said so far. */
interface Gathered extends DavResponse {
  properties: Map<string, string>;
}

const asked: ReadonlySet<string> = new Set([...askedProperties, 'oc:permissions']);

class Reading {
  readonly #take: (response: DavResponse) => void;
  readonly #parser = new SaxesParser({ xmlns: true, position: false });
  /** Local names of the open elements; `oc:` before those of ownCloud, `` for one of another namespace. */
  readonly #open: string[] = [];
  #fault: Error | undefined;
  #text: string | undefined;
  #response: Gathered | undefined;
  #propstat: Propstat | undefined;
  #isMultistatus = false;

  constructor(take: (response: DavResponse) => void) {
    this.#take = take;
    this.#parser.on('error', (cause) => this.#fail(new NoMultistatus('it is not well-formed XML', { cause })));
    this.#parser.on('doctype', () => this.#fail(new NoMultistatus('it has a document type')));
    this.#parser.on('opentag', (tag) => this.#opened(tag));
    this.#parser.on('closetag', (tag) => this.#closed(tag));
    const text = (more: string) => {
      if (this.#text !== undefined) this.#text += more;
    };
    this.#parser.on('text', text);
    this.#parser.on('cdata', text);
  }

  write(text: string): void {
    this.#parser.write(text.replace(noXml, '\ufffd'));
    if (this.#fault !== undefined) throw this.#fault;
  }

  end(): void {
    this.#parser.close();
    if (this.#fault !== undefined) throw this.#fault;
    if (!this.#isMultistatus) throw new NoMultistatus('it is no multistatus');
  }

  #fail(fault: Error): void {
    this.#fault ??= fault;
  }

  #opened({ uri, local }: SaxesTagNS): void {
    if (this.#fault !== undefined) return;
    const name = uri === dav ? local : uri === ownCloud ? `oc:${local}` : '';
    this.#open.push(name);
    const depth = this.#open.length;
    if (depth === 1 && name === 'multistatus') this.#isMultistatus = true;
    else if (depth === 1) this.#fail(new NoMultistatus('it is no multistatus'));
    if (depth > deepest) this.#fail(new NoMultistatus('its elements lie too deep'));
    this.#text = undefined;
    if (depth === 2 && name === 'response') {
      this.#response = {
        hrefs: [],
        status: undefined,
        collection: undefined,
        refused: undefined,
        properties: new Map(),
      };
    }
    if (this.#response === undefined) return;
    const [, , third, fourth, fifth] = this.#open;
    if (depth === 3 && name === 'propstat') {
      this.#propstat = { status: undefined, collection: undefined, properties: new Map() };
    }
    if (depth === 3 && (name === 'href' || name === 'status')) this.#text = '';
    if (this.#propstat === undefined || third !== 'propstat') return;
    if (depth === 4 && name === 'status') this.#text = '';
    if (fourth !== 'prop') return;
    if (depth === 5 && name !== '') this.#text = '';
    if (depth === 5 && name === 'resourcetype') this.#propstat.collection ??= false;
    if (depth === 6 && fifth === 'resourcetype' && name === 'collection') this.#propstat.collection = true;
  }

  #closed(_tag: SaxesTagNS): void {
    if (this.#fault !== undefined) return;
    const depth = this.#open.length;
    const name = this.#open.pop()!;
    const text = this.#text?.trim();
    this.#text = undefined;
    const [response, propstat] = [this.#response, this.#propstat];
    if (response === undefined) return;
    if (propstat !== undefined) {
      if (depth === 5 && text && asked.has(name)) propstat.properties.set(name, text);
      if (depth === 4 && name === 'status' && text !== undefined) propstat.status = statusOf(text);
      if (depth === 3) {
        gather(response, propstat);
        this.#propstat = undefined;
      }
      return;
    }
    if (depth === 3 && name === 'href' && text) {
      if (response.hrefs.length === mostHrefs) this.#fail(new NoMultistatus('one of its rows has too many names'));
      response.hrefs.push(text);
    }
    if (depth === 3 && name === 'status' && text !== undefined) response.status = statusOf(text);
    if (depth === 2) {
      this.#response = undefined;
      this.#take(response.collection === undefined ? response : { ...response, refused: undefined });
    }
  }
}

/** Of two propstats that are a success, the first has the right. */
function gather(response: Gathered, { status, collection, properties }: Propstat): void {
  if (status !== undefined && status >= 200 && status <= 299) {
    response.collection ??= collection;
    for (const [name, text] of properties) if (!response.properties.has(name)) response.properties.set(name, text);
  } else if (collection !== undefined) response.refused = status ?? 500;
}

const statusOf = (line: string): number => Number(/^HTTP\/\d+(?:\.\d+)?\s+(\d{3})\b/.exec(line)?.[1] ?? 500);
