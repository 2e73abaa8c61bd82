// The SDK's clients of both lines, as they are connected to a server.
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const identity = { name: 'lyceum-test', version: '1.0.0' };

/** What both lines can do. */
export interface AnyClient {
  listResources(params?: {
    cursor?: string;
  }): Promise<{ resources: { uri: string }[]; nextCursor?: string | undefined }>;
  listResourceTemplates(): Promise<{ resourceTemplates: unknown[] }>;
  readResource(params: { uri: string }): Promise<{ contents: unknown[] }>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  // biome-ignore lint/suspicious/noExplicitAny: the two lines type their results differently
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<any>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<{ messages: unknown[] }>;
  complete(params: {
    ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };
    argument: { name: string; value: string };
    context?: { arguments: Record<string, string> };
  }): Promise<{ completion: { values: string[] } }>;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

/** By line, and how the era is come to. */
export const clients: Record<string, (url: URL) => Promise<AnyClient>> = {
  '2.x, negotiating': (url) => connectNew(url, 'auto', '2026-07-28'),
  '2.x, pinned to 2026-07-28': (url) => connectNew(url, { pin: '2026-07-28' }, '2026-07-28'),
  '2.x, of the initialize era': (url) => connectNew(url, 'legacy', '2025-11-25'),
  '1.x': async (url) => {
    const client = new OldClient(identity);
    await client.connect(new OldTransport(url));
    return client as unknown as AnyClient;
  },
};

async function connectNew(url: URL, mode: VersionNegotiationMode, version: string): Promise<AnyClient> {
  const client = new Client(identity, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(url));
  assert.equal(client.getNegotiatedProtocolVersion(), version);
  return client as unknown as AnyClient;
}
