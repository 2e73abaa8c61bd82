// The program in client pods: what agents do, by both lines of the SDK. Prints a line of JSON.
//   node client.ts tools URL URI         SDK 1.x with tools alone, as n8n has it: lists, then reads URI
//   node client.ts resources URL URI     SDK 2.x: lists resources, then reads URI
//   node client.ts until URL URI TEXT    reads until the answer holds TEXT, and tells when (milliseconds since 1970)
//   node client.ts reindex URL           asks for a look now, and tells what was answered
// A bearer token may follow these.
//   node client.ts load URL URI          reads all the time until its standard input ends, and tells what failed; a line
//                                        before that says when it reads
import { setTimeout as pause } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Agent, request } from 'undici';

const identity = { name: 'e2e', version: '1.0.0' };

export interface Seen {
  /** The protocol version that was agreed on, where the SDK tells it. */
  version: string | undefined;
  listed: string[];
  read: string;
}

export interface Load {
  reads: number;
  /** What went wrong, the first 20. */
  failures: string[];
  slowestMilliseconds: number;
}

type ToolResult = { isError?: boolean; content: { text: string }[] };

const headersFor = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

async function tools(url: string, uri: string, token?: string): Promise<Seen> {
  const client = new OldClient(identity);
  await client.connect(
    new OldTransport(new URL(`${url}?resources=off`), { requestInit: { headers: headersFor(token) } }),
  );
  const names = (await client.listTools()).tools.map(({ name }) => name);
  for (const name of ['list_resources', 'read_resource'])
    if (!names.includes(name)) throw new Error(`no tool ${name} among ${names}`);
  const call = async (name: string, args: Record<string, unknown>) => {
    const { isError, content } = (await client.callTool({ name, arguments: args })) as ToolResult;
    if (isError) throw new Error(`${name}: ${content[0]!.text}`);
    return content[0]!.text;
  };
  const listed = (JSON.parse(await call('list_resources', {})) as { uri: string }[]).map((row) => row.uri);
  const read = await call('read_resource', { uri });
  await client.close();
  return { version: undefined, listed, read };
}

async function resources(url: string, uri: string, token?: string): Promise<Seen> {
  const client = new Client(identity, { versionNegotiation: { mode: 'auto' } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: headersFor(token) } }),
  );
  const listed = (await client.listResources()).resources.map((row) => row.uri);
  const { contents } = await client.readResource({ uri });
  const read = (contents[0] as { text: string }).text;
  const version = client.getNegotiatedProtocolVersion();
  await client.close();
  return { version, listed, read };
}

/** One read without an SDK. @throws where the answer is no content */
async function read(url: string, uri: string, dispatcher: Agent, token?: string): Promise<string> {
  const { statusCode, body } = await request(url, {
    method: 'POST',
    dispatcher,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headersFor(token),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } }),
    headersTimeout: 5000,
    bodyTimeout: 5000,
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`status ${statusCode}: ${text}`);
  const answer = JSON.parse(text) as { result?: { contents: { text: string }[] } };
  if (answer.result === undefined) throw new Error(text);
  return answer.result.contents[0]!.text;
}

async function until(url: string, uri: string, text: string, token?: string): Promise<{ at: number }> {
  const agent = new Agent();
  const deadline = Date.now() + 60_000;
  for (;;) {
    const answer = await read(url, uri, agent, token).catch((fault: Error) => fault.message);
    if (answer.includes(text)) return { at: Date.now() };
    if (Date.now() > deadline) throw new Error(`not served within 60 s; the last answer: ${answer}`);
    await pause(50);
  }
}

export interface Reindexed {
  status: number;
  /** From the question to the answer. */
  seconds: number;
  /** Absent where it was refused. */
  rebuilt?: string[];
  error?: string;
}

async function reindex(url: string, token?: string): Promise<Reindexed> {
  const begun = performance.now();
  const { statusCode: status, body } = await request(new URL('/reindex', url), {
    method: 'POST',
    headers: headersFor(token),
    headersTimeout: 70_000,
  });
  const { rebuilt, error } = (await body.json()) as Partial<Reindexed>;
  const seconds = (performance.now() - begun) / 1000;
  return { status, seconds, ...(rebuilt && { rebuilt }), ...(error && { error }) };
}

/** Two readers: one keeps its connection, as agents do; the other makes a new one each time. */
async function load(url: string, uri: string): Promise<Load> {
  let going = true;
  process.stdin.on('end', () => {
    going = false;
  });
  process.stdin.resume();
  const sum: Load = { reads: 0, failures: [], slowestMilliseconds: 0 };
  const reader = async (dispatcher: () => Agent): Promise<void> => {
    while (going) {
      const begun = performance.now();
      try {
        await read(url, uri, dispatcher());
      } catch (fault) {
        const cause = (fault as { code?: string }).code ?? '';
        if (sum.failures.length < 20)
          sum.failures.push(`${new Date().toISOString()} ${cause} ${(fault as Error).message}`);
      }
      sum.reads += 1;
      sum.slowestMilliseconds = Math.max(sum.slowestMilliseconds, Math.round(performance.now() - begun));
      await pause(10);
    }
  };
  const kept = new Agent();
  await read(url, uri, kept);
  console.log('reading');
  await Promise.all([reader(() => kept), reader(() => new Agent({ pipelining: 0 }))]);
  return sum;
}

const commands: Record<string, (...args: string[]) => Promise<unknown>> = {
  tools,
  resources,
  until,
  reindex,
  load,
} as never;
const [command = '', ...args] = process.argv.slice(2);
console.log(JSON.stringify(await commands[command]!(...args)));
process.exit(0);
