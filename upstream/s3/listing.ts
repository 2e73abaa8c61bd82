// One page of a bucket's listing (ListObjectsV2), read as XML: its keys, and how to go on.
import { unescape as decodedAnyhow } from 'node:querystring';
import { SaxesParser } from 'saxes';
import type { Pace } from '../pace.ts';

export interface ListedObject {
  /** Raw. */
  key: string;
  /** The key cannot be told from what the server wrote: it has lost characters on the way. */
  garbled?: true;
  /** Without the quotes around it; a weak one with them, and `W/` before. */
  etag?: string;
  /** Bytes. */
  size?: number;
  /** When it was written, in the server's words. */
  modified?: string;
}

export interface ListingPage {
  objects: ListedObject[];
  truncated: boolean;
  /** What the next page is asked for with. */
  next: string | undefined;
}

/** The text is no listing, or not whole. */
export class NoListing extends Error {}

const deepest = 16;
/** Attributes of an element; listings have none but a namespace. */
const mostAttributes = 16;
/** Characters that are parsed in one go. */
const slice = 16_384;
/** Characters; whoever sends more of them wants memory. */
const longest = 4096;
/** Characters of an ETag or a time: a longer one is as good as none. */
const longestValidator = 256;
/** What stands for a character that XML cannot hold. */
const lost = '\ufffd';
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const noXml = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;
const characterReference = /&#(?:x([0-9a-f]{1,6})|([0-9]{1,7}));/gi;
/** So long is the longest one. */
const longestReference = 10;

/**
 * Keys are read as the server says that it has written them: with the encoding that was asked for (`url`), or plain.
 * @throws NoListing; whatever `pace` throws
 */
export async function readListing(text: string, pace: Pace): Promise<ListingPage> {
  const reading = new Reading();
  for (let at = 0; at < text.length; ) {
    const end = endOfSlice(text, at);
    reading.write(text.slice(at, end));
    at = end;
    await pace();
  }
  return reading.end();
}

/** Never within a character reference. */
function endOfSlice(text: string, at: number): number {
  const end = at + slice;
  if (end >= text.length) return text.length;
  const reference = text.lastIndexOf('&', end - 1);
  return reference > at && reference >= end - longestReference ? reference : end;
}

/** Text of a field, by its name: those of the page itself, and those of an object. */
type Fields = Map<string, string>;

class Reading {
  readonly #parser = new SaxesParser({ xmlns: false, position: false });
  readonly #open: string[] = [];
  readonly #page: Fields = new Map();
  readonly #objects: Fields[] = [];
  #object: Fields | undefined;
  #text: string | undefined;
  #attributes = 0;

  /** What its events throw ends the parsing at once, in the middle of a text. */
  constructor() {
    this.#parser.on('error', (cause) => {
      throw new NoListing('it is not well-formed XML', { cause });
    });
    this.#parser.on('doctype', () => {
      throw new NoListing('it has a document type');
    });
    this.#parser.on('attribute', () => {
      this.#attributes += 1;
      if (this.#attributes > mostAttributes) throw new NoListing('it has an element with too many attributes');
    });
    this.#parser.on('opentag', ({ name }) => this.#opened(name));
    this.#parser.on('closetag', () => this.#closed());
    const text = (more: string) => {
      if (this.#text === undefined) return;
      this.#text += more;
      if (this.#text.length > longest) throw new NoListing(`it has a field of more than ${longest} characters`);
    };
    this.#parser.on('text', text);
    this.#parser.on('cdata', text);
  }

  write(text: string): void {
    this.#parser.write(text.replace(noXml, lost).replace(characterReference, fitReference));
  }

  end(): ListingPage {
    this.#parser.close();
    const [truncated, next] = [this.#page.get('IsTruncated'), this.#page.get('NextContinuationToken')];
    const isEncoded = this.#page.get('EncodingType') === 'url';
    if (next?.includes(lost)) throw new NoListing('it goes on behind a key that has lost characters: rename that');
    return {
      objects: this.#objects.map((fields) => objectOf(fields, isEncoded)),
      // What does not say that it is whole is none, or objects would be missing without a word.
      truncated: truncated === undefined ? Boolean(next) : truncated.trim().toLowerCase() !== 'false',
      next: next === '' ? undefined : next,
    };
  }

  #opened(name: string): void {
    this.#attributes = 0;
    this.#open.push(name);
    const depth = this.#open.length;
    if (depth === 1 && name !== 'ListBucketResult') throw new NoListing('it is no listing of a bucket');
    if (depth > deepest) throw new NoListing('its elements lie too deep');
    this.#text = undefined;
    if (depth === 2 && name === 'Contents') this.#object = new Map();
    else if (depth === 2 || (depth === 3 && this.#object !== undefined)) this.#text = '';
  }

  #closed(): void {
    const depth = this.#open.length;
    const name = this.#open.pop()!;
    const text = this.#text;
    this.#text = undefined;
    if (depth === 2 && this.#object !== undefined) {
      this.#objects.push(this.#object);
      this.#object = undefined;
    } else if (text !== undefined && wantedFields.has(name)) {
      const fields = this.#object ?? this.#page;
      // A copy, since what is cut from a page keeps all of it in memory.
      if (!fields.has(name)) fields.set(name, Buffer.from(text).toString());
    }
  }
}

const wantedFields = new Set([
  'Key',
  'ETag',
  'Size',
  'LastModified',
  'IsTruncated',
  'NextContinuationToken',
  'EncodingType',
]);

/** A reference to a character that XML cannot hold ends a parser. */
function fitReference(whole: string, hex: string | undefined, decimal: string | undefined): string {
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return lost;
  return String.fromCodePoint(code).search(noXml) === 0 ? lost : whole;
}

/** @throws NoListing for an object without a key */
function objectOf(fields: Fields, isEncoded: boolean): ListedObject {
  const written = fields.get('Key');
  if (written === undefined || written === '') throw new NoListing('it lists something without a key');
  const key = isEncoded ? decoded(written) : written;
  const [etag, size, modified] = [etagOf(fields.get('ETag')), fields.get('Size')?.trim(), fields.get('LastModified')];
  const fits = (text: string | undefined): text is string => text !== undefined && text.length <= longestValidator;
  return {
    key: key ?? decodedAnyhow(written),
    ...(key === undefined || (!isEncoded && written.includes(lost)) ? { garbled: true as const } : {}),
    ...(fits(etag) ? { etag } : {}),
    ...(size !== undefined && /^\d{1,15}$/.test(size) ? { size: Number(size) } : {}),
    ...(fits(modified) ? { modified } : {}),
  };
}

/** A key as a query holds it: a plus is a blank. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** A quoted ETag without its quotes; some servers write none. */
export function etagOf(text: string | undefined): string | undefined {
  const etag = text?.trim();
  if (etag === undefined || etag === '') return undefined;
  const bare = /^"(.*)"$/s.exec(etag)?.[1] ?? etag;
  return bare === '' ? undefined : bare;
}

/** Whether an ETag may be asked for with If-Match, and promises the same bytes (RFC 9110, 8.8.1). */
export const isStrong = (etag: string | undefined): etag is string =>
  etag !== undefined && /^(?!W\/)[\x21\x23-\x7e]+$/i.test(etag);
