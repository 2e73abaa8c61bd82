// What an ordinary request asks. Whatever is out of the ordinary is no question here: the SDK judges it, and answers it.
import type { IncomingHttpHeaders } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import type { Era } from '../method.ts';

export interface Question {
  era: Era;
  method: string;
  /** Undefined: a notification, which gets no result. */
  id: string | number | undefined;
  cursor: string | undefined;
  uri: string | undefined;
  /** Equal for requests that have one answer, within a view and the requests' choices. */
  key: string;
  /**
   * What a client tells of itself in each request of the modern era. No answer depends on it, but the SDK refuses one that is
   * malformed.
   */
  envelope: JsonObject | undefined;
}

export const modernVersion = '2026-07-28';
const legacyVersions: ReadonlySet<unknown> = new Set(SUPPORTED_PROTOCOL_VERSIONS);

const longestId = 256;
const longestText = 4096;

/** @param body of a POST, parsed */
export function ordinaryQuestion(headers: IncomingHttpHeaders, body: unknown): Question | undefined {
  if (!isObject(body) || !isMessage(body)) return undefined;
  return headers['mcp-protocol-version'] === modernVersion ? modern(headers, body) : legacy(headers, body);
}

function modern(headers: IncomingHttpHeaders, { method, id, params }: Message): Question | undefined {
  if (id === undefined || params === undefined || headers['mcp-method'] !== method) return undefined;
  for (const name in params) if (name !== '_meta' && !isKnown(name, params[name])) return undefined;
  const { cursor, uri, _meta: meta } = params as Known;
  if (headers['mcp-name'] !== (method === 'resources/read' ? uri : undefined)) return undefined;
  const envelope = isObject(meta) ? envelopeOf(meta) : undefined;
  if (envelope === undefined) return undefined;
  return { era: 'modern', method, id, cursor, uri, key: keyOf(modernVersion, method, cursor, uri), envelope };
}

function legacy(headers: IncomingHttpHeaders, { method, id, params = {} }: Message): Question | undefined {
  const version = headers['mcp-protocol-version'];
  if (version !== undefined && !legacyVersions.has(version)) return undefined;
  if (headers['mcp-method'] !== undefined || headers['mcp-name'] !== undefined) return undefined;
  if (method === 'initialize') {
    const text = textOf(params);
    if (text === undefined) return undefined;
    const key = `${version} ${method} ${text}`;
    return { era: 'legacy', method, id, cursor: undefined, uri: undefined, key, envelope: undefined };
  }
  for (const name in params) if (!isKnown(name, params[name])) return undefined;
  const { cursor, uri } = params as Known;
  return {
    era: 'legacy',
    method,
    id,
    cursor,
    uri,
    key: keyOf(version, method, cursor, uri),
    envelope: undefined,
  };
}

/** Undefined: not one of this version of the protocol. */
function envelopeOf(meta: JsonObject): JsonObject | undefined {
  if (meta[PROTOCOL_VERSION_META_KEY] !== modernVersion || !isObject(meta[CLIENT_CAPABILITIES_META_KEY]))
    return undefined;
  let told = meta;
  for (const name in meta) {
    if (isPassing(name, meta[name])) told = { ...told, [name]: undefined };
  }
  return told;
}

/** JSON; undefined: too long to be remembered, or nested too deep to be written. */
export function textOf(value: JsonObject): string | undefined {
  try {
    const text = JSON.stringify(value);
    return text.length <= longestText ? text : undefined;
  } catch {
    return undefined;
  }
}

/** What differs from request to request, and says nothing to a method that only looks something up. */
const isPassing = (name: string, value: unknown): boolean =>
  name === 'traceparent' ||
  name === 'tracestate' ||
  name === 'baggage' ||
  (name === 'progressToken' && (typeof value === 'string' || Number.isSafeInteger(value)));

/** Unlike for whatever texts a client sends: how long each is stands before it, so that none can be made up as another one's. */
const keyOf = (version: unknown, method: string, cursor: string | undefined, uri: string | undefined): string =>
  `${version} ${lengthAnd(method)} ${cursor === undefined ? '' : lengthAnd(cursor)} ${uri === undefined ? '' : lengthAnd(uri)}`;

const lengthAnd = (text: string): string => `${text.length} ${text}`;

export type JsonObject = Record<string, unknown>;

interface Message {
  method: string;
  id: Question['id'];
  params: JsonObject | undefined;
}

interface Known {
  cursor?: string;
  uri?: string;
  _meta?: unknown;
}

/** A request or a notification with nothing in it that JSON-RPC has not. */
function isMessage(body: JsonObject): body is JsonObject & Message {
  for (const name in body) {
    if (name === 'jsonrpc' || name === 'method') continue;
    if (name === 'id' ? !isId(body.id) : name !== 'params' || !isObject(body.params)) return false;
  }
  return body.jsonrpc === '2.0' && typeof body.method === 'string';
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isId = (id: unknown): boolean => (typeof id === 'string' ? id.length <= longestId : Number.isSafeInteger(id));

/** The two parameters that methods which only look something up have, as texts. */
const isKnown = (name: string, value: unknown): boolean =>
  (name === 'cursor' || name === 'uri') && typeof value === 'string';
