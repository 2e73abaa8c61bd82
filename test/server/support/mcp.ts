// MCP spoken by hand over HTTP, in both eras: what is sent and what comes back is seen as it is.
import assert from 'node:assert/strict';
import type { Row } from '../../../server/answers/listing.ts';

export interface Reply {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: replies are looked into freely
  body: any;
}

export interface CallOptions {
  query?: string;
  headers?: Record<string, string>;
  era?: 'modern' | 'legacy';
  /** Asks once more, as many do, and wants the same: that answer is a kept one, where answers are kept. */
  twice?: boolean;
}

const modernVersion = '2026-07-28';
const envelope = {
  'io.modelcontextprotocol/protocolVersion': modernVersion,
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** One request, well-formed for its era. */
export async function call(
  url: string,
  method: string,
  params: Record<string, unknown> = {},
  { query = '', headers = {}, era = 'modern', twice = false }: CallOptions = {},
): Promise<Reply> {
  const named =
    method === 'resources/read' ? params.uri : ['tools/call', 'prompts/get'].includes(method) ? params.name : undefined;
  const protocol: Record<string, string> =
    era === 'legacy'
      ? { 'mcp-protocol-version': '2025-11-25' }
      : {
          'mcp-protocol-version': modernVersion,
          'mcp-method': method,
          ...(named ? { 'mcp-name': headerText(named) } : {}),
        };
  const ask = () =>
    post(
      `${url}/mcp${query}`,
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: era === 'legacy' ? params : { _meta: envelope, ...params },
      }),
      { accept: 'application/json, text/event-stream', ...protocol, ...headers },
    );
  const reply = await ask();
  if (!twice) return reply;
  const { status, body } = await ask();
  assert.deepEqual({ status, body }, { status: reply.status, body: reply.body });
  return reply;
}

/** Header values that are not plain ASCII go as base64, as the protocol says. */
function headerText(value: unknown): string {
  const text = String(value);
  return /^[\x21-\x7e]+$/.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

export async function post(
  url: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const response = await fetch(url, {
    method: 'POST',
    body: typeof body === 'string' ? body : Buffer.from(body),
    headers: { 'content-type': 'application/json', ...headers },
  });
  return await replyOf(response);
}

export async function get(url: string, headers: Record<string, string> = {}): Promise<Reply> {
  return await replyOf(await fetch(url, { headers }));
}

async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

export async function listRows(url: string, options: CallOptions = {}): Promise<Row[]> {
  return (await call(url, 'resources/list', {}, options)).body.result.resources;
}

export async function listUris(url: string, options: CallOptions = {}): Promise<string[]> {
  return (await listRows(url, options)).map(({ uri }) => uri);
}

/** The text that a URI reads; undefined when the answer is that there is no such resource. */
export async function readText(url: string, uri: string, options: CallOptions = {}): Promise<string | undefined> {
  const { body } = await call(url, 'resources/read', { uri }, options);
  if (body.error?.code === -32602) return undefined;
  return body.result.contents[0].text;
}

export async function callTool(
  url: string,
  name: string,
  args: Record<string, unknown> = {},
  options: CallOptions = {},
): Promise<Reply> {
  return await call(url, 'tools/call', { name, arguments: args }, options);
}
