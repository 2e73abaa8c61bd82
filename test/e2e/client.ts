// The program in client pods: what agents do, by both lines of the SDK. Prints a line of JSON.
//   node client.ts tools URL URI         tools alone, by the SDK that n8n is built on: lists, then reads URI
//   node client.ts resources URL URI     SDK 2.x: lists resources, then reads URI
//   node client.ts kinds URL WANTED      SDK 2.x: every kind of material, WANTED being JSON of that type; every file of every
//                                        skill is verified, over MCP and over plain HTTP
//   node client.ts n8n URL WANTED        the same kinds by tools alone
//   node client.ts artifacts URL CALLS   openkata's tools, in the order of CALLS, JSON pairs of a tool and its arguments
//   node client.ts counted URLS NAME N   asks again until each of URLS, a JSON array, lists the skill NAME with N downloads
//   node client.ts download URLS         what is there over plain HTTP, URLS being a JSON array; bodies come as base64
//   node client.ts until URL URI TEXT    reads until the answer holds TEXT, and tells when (milliseconds since 1970)
//   node client.ts reindex URL           asks for a look now, and tells what was answered
//   node client.ts load URL URI          reads all the time until its standard input ends, and tells what failed; a line
//                                        before that says when it reads
//   node client.ts mixed URL URI         calls of every sort, by several clients at once, until its standard input ends; a line each
//                                        second says how many
// A bearer token may follow these.
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { Client as OldClient } from 'n8n-sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from 'n8n-sdk/client/streamableHttp.js';
import { Agent, request } from 'undici';

const identity = { name: 'e2e', version: '1.0.0' };

export interface Seen {
  /** The protocol version that was agreed on, where the SDK tells it. */
  version: string | undefined;
  listed: string[];
  read: string;
}

export interface Load {
  /** Or calls of another sort. */
  reads: number;
  /** What went wrong, the first 20. */
  failures: string[];
  slowestMilliseconds: number;
}

type ToolResult = { isError?: boolean; content: { text: string }[] };

const headersFor = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

type Call = (name: string, args: Record<string, unknown>) => Promise<string>;

/** What n8n does on every turn of the model: connect, list the tools, call some. */
async function withTools<Result>(url: string, token: string | undefined, use: (call: Call) => Promise<Result>) {
  const client = new OldClient(identity);
  const address = new URL(`${url}?resources=off&prompts=off`);
  await client.connect(new OldTransport(address, { requestInit: { headers: headersFor(token) } }));
  const names = (await client.listTools()).tools.map(({ name }) => name);
  for (const name of ['list_resources', 'read_resource', 'list_prompts', 'get_prompt'])
    if (!names.includes(name)) throw new Error(`no tool ${name} among ${names}`);
  try {
    return await use(async (name, args) => {
      // n8n adds an argument of its own.
      const { isError, content } = (await client.callTool({
        name,
        arguments: { ...args, toolCallId: 'call_0' },
      })) as ToolResult;
      if (isError) throw new Error(`${name}: ${content[0]!.text}`);
      return content[0]!.text;
    });
  } finally {
    await client.close();
  }
}

const listedBy = async (call: Call): Promise<string[]> =>
  (JSON.parse(await call('list_resources', {})) as { uri: string }[]).map((row) => row.uri);

const tools = (url: string, uri: string, token?: string): Promise<Seen> =>
  withTools(url, token, async (call) => ({
    version: undefined,
    listed: await listedBy(call),
    read: await call('read_resource', { uri }),
  }));

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

/** What is asked for of every kind. */
export interface Wanted {
  prompt: string;
  arguments: Record<string, string>;
  uris: string[];
}

export interface Kinds {
  listed: string[];
  prompts: string[];
  /** What the prompt says. */
  prompt: string;
  /** The texts at `Wanted.uris`. */
  texts: string[];
}

export interface VerifiedKinds extends Kinds {
  version: string | undefined;
  /** Advertised skills, each with how many files of it have the digest that they should have. */
  skills: Record<string, number>;
  /** Names in the discovery index, each with the digest that its download has and should have. */
  offered: string[];
}

type PromptMessages = { messages: { content: unknown }[] };
const spoken = ({ messages }: PromptMessages): string => (messages[0]!.content as { text: string }).text;

async function kinds(url: string, wanted: string, token?: string): Promise<VerifiedKinds> {
  const { prompt, arguments: args, uris } = JSON.parse(wanted) as Wanted;
  const client = new Client(identity, { versionNegotiation: { mode: 'auto' } });
  const requestInit = { headers: headersFor(token) };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const listed = (await client.listResources()).resources.map((row) => row.uri);
  const prompts = (await client.listPrompts()).prompts.map(({ name }) => name);
  const said = spoken(await client.getPrompt({ name: prompt, arguments: args }));
  const texts: string[] = [];
  for (const uri of uris) texts.push(((await client.readResource({ uri })).contents[0] as { text: string }).text);
  const skills = await verifiedSkills(new SkillsClient(client));
  const version = client.getNegotiatedProtocolVersion();
  await client.close();
  return { version, listed, prompts, prompt: said, texts, skills, offered: await verifiedOffer(url, requestInit) };
}

async function verifiedSkills(client: SkillsClient): Promise<Record<string, number>> {
  const verified: Record<string, number> = {};
  for (const { uri } of (await client.list()).skills) {
    const { skill } = await client.get(uri);
    if (!Array.isArray(skill.resources)) throw new Error(`${uri} has no list of files`);
    for (const file of skill.resources)
      if ((await client.read(skill, file.uri)).verified !== true)
        throw new Error(`${file.uri} is not what it should be`);
    verified[uri] = skill.resources.length;
  }
  return verified;
}

async function verifiedOffer(url: string, init: RequestInit): Promise<string[]> {
  const index = new URL('/.well-known/agent-skills/index.json', url);
  const { skills } = (await (await fetch(index, init)).json()) as {
    skills: { name: string; url: string; digest: string }[];
  };
  for (const { name, url: file, digest } of skills) {
    const bytes = Buffer.from(await (await fetch(new URL(file, index), init)).arrayBuffer());
    const is = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    if (is !== digest) throw new Error(`${name} at ${file} is ${is}, not ${digest}`);
  }
  return skills.map(({ name }) => name);
}

const n8n = (url: string, wanted: string, token?: string): Promise<Kinds> =>
  withTools(url, token, async (call) => {
    const { prompt, arguments: args, uris } = JSON.parse(wanted) as Wanted;
    const listed = await listedBy(call);
    const prompts = (JSON.parse(await call('list_prompts', {})) as { name: string }[]).map(({ name }) => name);
    const said = spoken(JSON.parse(await call('get_prompt', { name: prompt, arguments: JSON.stringify(args) })));
    const texts: string[] = [];
    for (const uri of uris) texts.push(await call('read_resource', { uri }));
    return { listed, prompts, prompt: said, texts };
  });

/** What a tool answered. */
export interface Answered {
  isError: boolean;
  text: string;
}

async function artifacts(url: string, calls: string, token?: string): Promise<Answered[]> {
  const client = new OldClient(identity);
  const address = new URL(`${url}?artifacts=on`);
  await client.connect(new OldTransport(address, { requestInit: { headers: headersFor(token) } }));
  const names = new Set((await client.listTools()).tools.map(({ name }) => name));
  const answers: Answered[] = [];
  for (const [name, args] of JSON.parse(calls) as [string, Record<string, unknown>][]) {
    if (!names.has(name)) throw new Error(`no tool ${name} among ${[...names]}`);
    const { isError = false, content } = (await client.callTool({ name, arguments: args })) as ToolResult;
    answers.push({ isError, text: content[0]!.text });
  }
  await client.close();
  return answers;
}

async function counted(urls: string, skill: string, times: string, token?: string): Promise<void> {
  const deadline = Date.now() + 120_000;
  for (const url of JSON.parse(urls) as string[]) {
    for (;;) {
      const [list] = await artifacts(url, '[["list_skills",{}]]', token);
      const rows = JSON.parse(list!.text) as { name: string; downloads: number }[];
      const found = rows.find(({ name }) => name === skill)?.downloads;
      if (found === Number(times)) break;
      if (Date.now() > deadline) throw new Error(`${url} does not tell of ${times} downloads within 120 s: ${found}`);
      await pause(200);
    }
  }
}

export interface Downloaded {
  status: number;
  headers: Record<string, string>;
  /** In base64. */
  body: string;
}

async function download(urls: string, token?: string): Promise<Downloaded[]> {
  const all: Downloaded[] = [];
  for (const url of JSON.parse(urls) as string[]) {
    const answer = await fetch(url, { headers: headersFor(token) });
    const body = Buffer.from(await answer.arrayBuffer()).toString('base64');
    all.push({ status: answer.status, headers: Object.fromEntries(answer.headers), body });
  }
  return all;
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

/** Calls that are made again and again, each sort by a client of its own, until the standard input ends. */
async function steady(sum: Load, calls: readonly (() => Promise<unknown>)[]): Promise<void> {
  let going = true;
  process.stdin.on('end', () => {
    going = false;
  });
  process.stdin.resume();
  const caller = async (call: () => Promise<unknown>): Promise<void> => {
    while (going) {
      const begun = performance.now();
      try {
        await call();
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
  await Promise.all(calls.map(caller));
}

const nothingYet = (): Load => ({ reads: 0, failures: [], slowestMilliseconds: 0 });

/** Two readers: one keeps its connection, as agents do; the other makes a new one each time. */
async function load(url: string, uri: string, token?: string): Promise<Load> {
  const sum = nothingYet();
  const kept = new Agent();
  await read(url, uri, kept, token);
  console.log('reading');
  await steady(sum, [() => read(url, uri, kept, token), () => read(url, uri, new Agent({ pipelining: 0 }), token)]);
  return sum;
}

/** Both lines of the SDK, from the connection on; reads on kept connections and on new ones; pages, indexes and files over plain HTTP. */
async function mixed(url: string, uri: string, token?: string): Promise<Load> {
  const sum = nothingYet();
  const kept = new Agent();
  const init = { headers: headersFor(token) };
  const plain = async (path: string): Promise<void> => {
    const answer = await fetch(new URL(path, url), init);
    const { length } = await answer.text();
    if (answer.status !== 200 || length === 0)
      throw new Error(`${path}: status ${answer.status}, ${length} characters`);
  };
  await read(url, uri, kept, token);
  console.log(0);
  const timer = setInterval(() => console.log(sum.reads), 1000);
  await steady(sum, [
    () => read(url, uri, kept, token),
    () => read(url, uri, new Agent({ pipelining: 0 }), token),
    () => tools(url, uri, token),
    () => resources(url, uri, token),
    () => verifiedOffer(url, init),
    () => artifacts(url, '[["list_skills",{}]]', token),
    async () => {
      for (const path of ['/', '/libraries', '/search.json', '/health']) await plain(path);
    },
  ]);
  clearInterval(timer);
  return sum;
}

const commands: Record<string, (...args: string[]) => Promise<unknown>> = {
  tools,
  resources,
  kinds,
  n8n,
  artifacts,
  counted,
  download,
  until,
  reindex,
  load,
  mixed,
} as never;
const [command = '', ...args] = process.argv.slice(2);
console.log(JSON.stringify((await commands[command]!(...args)) ?? null));
process.exit(0);
