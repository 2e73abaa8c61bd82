// Requests with a secret in every place where one may be put, by mistake or on purpose; and what is answered.
import { once } from 'node:events';
import { connect } from 'node:net';
import { Agent, type Dispatcher, request } from 'undici';
import type { Canaries, Place } from './canaries.ts';

export interface Door {
  /** In words. */
  name: string;
  origin: string;
  /** Paths that are there, each with the method that it takes. */
  paths: readonly string[];
  /** What opens it; nothing where it is open. */
  token?: string;
  /** Whether it speaks MCP at /mcp. */
  mcp: boolean;
  ca?: Buffer;
}

interface Call {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** What whoever calls says in so many words, and may be told again. */
  said?: readonly string[];
}

/** @returns the answers, headers included */
export async function callAll(canaries: Canaries, door: Door): Promise<Place[]> {
  // A connection for each call: a kept one may be closed as the next call begins.
  const agent = new Agent({ pipelining: 0, ...(door.ca === undefined ? {} : { connect: { ca: door.ca } }) });
  try {
    const places: Place[] = [];
    for (const call of calls(canaries, door)) places.push(await answer(door, agent, call));
    if (door.ca === undefined) for (const call of damaged(canaries, door)) places.push(await raw(door, call));
    return places;
  } finally {
    await agent.destroy();
  }
}

async function answer({ name, origin }: Door, agent: Agent, call: Call): Promise<Place> {
  const { method = 'GET', path, headers = {}, body, said = [] } = call;
  const where = `${name}, the answer to ${method} ${path.replace(/canary[0-9a-f]*/g, '…').slice(0, 80)}`;
  const found = await request(origin + path, {
    method: method as Dispatcher.HttpMethod,
    headers,
    dispatcher: agent,
    ...(body === undefined ? {} : { body }),
  }).catch((error: NodeJS.ErrnoException) => {
    // A server need not hear a body to its end that it has refused.
    if (body !== undefined && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) return undefined;
    throw new Error(`${where}: ${error.message}`, { cause: error });
  });
  if (found === undefined) return { where, text: '' };
  const bytes = Buffer.from(await found.body.arrayBuffer());
  const head = `${found.statusCode} ${JSON.stringify(found.headers)}\n`;
  const packed = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return { where, text: packed ? bytes : Buffer.concat([Buffer.from(head), bytes]), except: said };
}

function* calls(canaries: Canaries, { name, paths, token, mcp }: Door): Generator<Call> {
  const word = (what: string): string => canaries.plant(`${name}: ${what}`);
  const mine: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  for (const at of paths) {
    const [method, path] = at.split(' ') as [string, string];
    const post: Record<string, string> = method === 'POST' ? { 'content-type': 'application/json' } : {};
    const body = method === 'POST' ? { body: '{}' } : {};
    const with_ = (headers: Record<string, string>, query = ''): Call => {
      const joined = query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
      return { method, path: joined, headers: { ...post, ...headers }, ...body };
    };
    yield with_({ authorization: `Bearer ${word(`a bearer token, ${at}`)}` });
    const pair = `${word(`a user, ${at}`)}:${word(`a password, ${at}`)}`;
    yield with_({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
    yield with_({ authorization: word(`no scheme, ${at}`) });
    yield with_({
      ...mine,
      cookie: `session=${word(`a cookie, ${at}`)}`,
      'x-api-key': word(`a key, ${at}`),
      'proxy-authorization': `Bearer ${word(`a token for a proxy, ${at}`)}`,
      'x-forwarded-access-token': word(`a token of a proxy, ${at}`),
      'user-agent': word(`a user agent, ${at}`),
      referer: `https://example.org/?token=${word(`a referer, ${at}`)}`,
      'x-request-id': word(`a request id, ${at}`),
      traceparent: `00-${word(`a trace, ${at}`)}-01`,
    });
    yield with_(mine, `token=${word(`?token, ${at}`)}&access_token=${word(`?access_token, ${at}`)}`);
    yield with_({ ...mine, origin: `https://${word(`an origin, ${at}`)}.example.org` });
    if (token !== undefined) yield with_({ ...mine, 'x-more': word(`beside the right token, ${at}`) });
  }
  const said = word('a path');
  for (const path of [
    `/${said}`,
    `/skills/${said}`,
    `/x/${said}/.well-known/agent-skills/index.json`,
    `/sources/${said}`,
  ])
    yield { path, headers: mine, said: [said] };
  const query = word('a search');
  for (const path of [`/?q=${query}`, `/search.json?q=${query}`, `/?library=${query}`, `/skills?tags=${query}`])
    yield { path, headers: mine, said: [query] };
  const long = word('a URL that is too long');
  yield { path: `/?token=${long}${'x'.repeat(9000)}`, headers: mine };
  const type = word('a type of content');
  yield { method: 'POST', path: '/mcp', headers: { ...mine, 'content-type': `text/${type}` }, body: word('a body') };
  if (mcp) yield* messages(canaries, name, mine);
}

/** Messages of MCP whose words are secrets: whoever sends one may be told his own words. */
function* messages(canaries: Canaries, name: string, mine: Record<string, string>): Generator<Call> {
  const message = (what: string, of: (word: string) => object | string, more: Record<string, string> = {}): Call => {
    const word = canaries.plant(`${name}: ${what}`);
    const body = of(word);
    const headers = {
      ...mine,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...more,
    };
    return {
      method: 'POST',
      path: '/mcp',
      headers,
      body: typeof body === 'string' ? body : JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
      said: [word],
    };
  };
  yield message('the name of a client', (word) => ({
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: word, version: word } },
  }));
  yield message('a version of the protocol', (word) => ({
    method: 'initialize',
    params: { protocolVersion: word, capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  }));
  yield message('a method', (word) => ({ method: word }));
  yield message('a tool', (word) => ({ method: 'tools/call', params: { name: word, arguments: {} } }));
  yield message('an argument of a tool', (word) => ({
    method: 'tools/call',
    params: { name: 'read_resource', arguments: { uri: `skill://${word}`, token: word } },
  }));
  yield message('an address', (word) => ({ method: 'resources/read', params: { uri: `skill://${word}/x` } }));
  yield message('a prompt', (word) => ({ method: 'prompts/get', params: { name: word, arguments: { a: word } } }));
  yield message('a cursor', (word) => ({ method: 'resources/list', params: { cursor: word } }));
  yield message('_meta', (word) => ({ method: 'resources/list', params: { _meta: { token: word } } }));
  yield message('an id', (word) => ({ id: word, method: 'tools/list' }));
  yield message('half a message', (word) => `{"jsonrpc": "2.0", "token": "${word}`);
  yield message('a batch', (word) => `[{"jsonrpc":"2.0","id":1,"method":"${word}"}]`);
  yield message('a body that is too long', (word) => `{"x": "${word.repeat(20_000)}"}`);
  for (const header of ['mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id', 'x-library', 'x-tags']) {
    const word = canaries.plant(`${name}: ${header}`);
    yield { ...message(`beside ${header}`, () => ({ method: 'tools/list' }), { [header]: word }), said: [word] };
  }
}

/** What no client library sends. */
function damaged(canaries: Canaries, { name }: Door): [what: string, text: string][] {
  const word = (what: string): string => canaries.plant(`${name}: ${what}`);
  return [
    ['a version of HTTP that there is not', `GET / HTTP/9.9\r\nauthorization: Bearer ${word('HTTP/9.9')}\r\n\r\n`],
    ['a header without a colon', `GET / HTTP/1.1\r\nhost: x\r\n${word('no colon')}\r\n\r\n`],
    ['a method of its own', `${word('a method of HTTP')} / HTTP/1.1\r\nhost: x\r\n\r\n`],
    ['a host of its own', `GET / HTTP/1.1\r\nhost: ${word('a host')}\r\nconnection: close\r\n\r\n`],
    ['headers that are too long', `GET / HTTP/1.1\r\nhost: x\r\nx: ${word('long headers').repeat(2000)}\r\n\r\n`],
    [
      'two tokens',
      `GET / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${word('one of two')}\r\nauthorization: Bearer ${word('two of two')}\r\nconnection: close\r\n\r\n`,
    ],
    [
      'an absolute address',
      `GET http://ada:${word('an absolute address')}@x/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    ],
    ['a length that is none', `POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: ${word('a length')}\r\n\r\n`],
    [
      'a chunk that is none',
      `POST /mcp HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${word('a chunk')}\r\n`,
    ],
  ];
}

async function raw({ name, origin }: Door, [what, text]: [string, string]): Promise<Place> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  const pieces: Buffer[] = [];
  socket.on('error', () => {});
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.setTimeout(10_000, () => socket.destroy());
  socket.write(text);
  await once(socket, 'close');
  return { where: `${name}, the answer to ${what}`, text: Buffer.concat(pieces) };
}

/** Every page of a door that a link leads to, and what the pages are made with. */
export async function crawl(door: Door, begin: readonly string[], most = 400): Promise<Place[]> {
  const headers = door.token === undefined ? {} : { authorization: `Bearer ${door.token}` };
  const left = [...begin];
  const seen = new Set(left);
  const places: Place[] = [];
  for (let path = left.shift(); path !== undefined && places.length < most; path = left.shift()) {
    const found = await request(door.origin + path, { headers });
    const bytes = Buffer.from(await found.body.arrayBuffer());
    places.push({ where: `${door.name}, ${path}`, text: bytes });
    if (!String(found.headers['content-type']).startsWith('text/html')) continue;
    for (const [, link] of bytes.toString().matchAll(/(?:href|src)="([^"#]+)/g)) {
      const at = URL.parse(link!.replaceAll('&amp;', '&'), door.origin + path);
      const next = at === null ? '' : at.pathname + at.search;
      if (at?.origin !== door.origin || seen.has(next)) continue;
      seen.add(next);
      left.push(next);
    }
  }
  return places;
}
