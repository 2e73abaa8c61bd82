// The MCP requests that are measured, well-formed for each era of the protocol.
import { skillPlace } from './catalogue.ts';

export type Era = 'modern' | 'legacy';

export interface McpRequest {
  /** With its query. */
  path: string;
  headers: Record<string, string>;
  body: string;
}

const modernVersion = '2026-07-28';
const legacyVersion = '2025-11-25';
const envelope = {
  'io.modelcontextprotocol/protocolVersion': modernVersion,
  'io.modelcontextprotocol/clientCapabilities': {},
};

export const readSkill = (era: Era, number: number): McpRequest => {
  const { library, name } = skillPlace(number);
  const uri = `skill://${library}/${name}`;
  return request(era, 'resources/read', { uri }, { 'mcp-name': uri });
};

export const listResources = (era: Era): McpRequest => request(era, 'resources/list');

export const listSkills = (era: Era): McpRequest => request(era, 'skills/list');

export const listPrompts = (era: Era): McpRequest => request(era, 'prompts/list');

/** How a client of either era begins. */
export const begin = (era: Era): McpRequest =>
  era === 'modern'
    ? request(era, 'server/discover')
    : request(era, 'initialize', {
        protocolVersion: legacyVersion,
        capabilities: {},
        clientInfo: { name: 'bench', version: '1' },
      });

/** As a client that knows only tools asks, so that there are some. */
export const listTools = (era: Era): McpRequest => request(era, 'tools/list', {}, {}, '?resources=off');

function request(
  era: Era,
  method: string,
  params: object = {},
  modernHeaders: Record<string, string> = {},
  query = '',
): McpRequest {
  const modern = era === 'modern';
  return {
    path: `/mcp${query}`,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': modern ? modernVersion : legacyVersion,
      ...(modern ? { 'mcp-method': method, ...modernHeaders } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: modern ? { _meta: envelope, ...params } : params }),
  };
}

/**
 * The answer's body, which must be a result.
 * @param origin of the server, no slash at its end
 */
export async function answerTo(origin: string, { path, headers, body }: McpRequest): Promise<Buffer> {
  const response = await fetch(origin + path, { method: 'POST', headers, body });
  const answer = Buffer.from(await response.arrayBuffer());
  const { result } = JSON.parse(answer.toString()) as { result?: unknown };
  if (response.status !== 200 || result === undefined) throw new Error(`${response.status}: ${answer}`);
  return answer;
}
