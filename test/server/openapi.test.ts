// openapi.yaml against the server itself: every route stands in it and none else, and real answers are as it says.
//
// Who adds a route adds it to server/http/openapi.yaml, and to `samples` here a request for each answer that stands there.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { FastifyInstance } from 'fastify';
import { parse } from 'yaml';
import type { Reindex } from '../../server/reindex/reindex.ts';
import { type CatalogueFixture, GatewayFixture, lifetime, schoolTree, serve } from './support/gateway.ts';

const repository = join(import.meta.dirname, '../..');
const file = 'server/http/openapi.yaml';
const text = await readFile(join(repository, file), 'utf8');
// biome-ignore lint/suspicious/noExplicitAny: a document that is walked by any path
const document: any = parse(text);

/** A request, by the name of the server that answers it. */
interface Sample {
  server: 'open' | 'closed' | 'empty' | 'faulty';
  /** As it is documented, and as it is asked for where that is not the same. */
  route: string;
  path?: string;
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

const token = 'a-token-of-sixteen-characters';
const foreign = { Origin: 'https://elsewhere.example' };
const json = { 'Content-Type': 'application/json' };
const modern = { ...json, 'MCP-Protocol-Version': '2026-07-28' };
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const message = (method: string, more: object = {}): string => JSON.stringify({ jsonrpc: '2.0', method, ...more });
const envelope = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  },
};

const samples: Sample[] = [
  { server: 'open', route: 'POST /mcp', status: 200, headers: json, body: JSON.stringify(initialize) },
  { server: 'open', route: 'POST /mcp', status: 202, headers: json, body: message('notifications/initialized') },
  { server: 'open', route: 'POST /mcp', status: 400, headers: json, body: 'x' },
  { server: 'closed', route: 'POST /mcp', status: 401, headers: json, body: message('tools/list', { id: 1 }) },
  { server: 'open', route: 'POST /mcp', status: 403, headers: { ...json, ...foreign }, body: '{}' },
  {
    server: 'open',
    route: 'POST /mcp',
    status: 404,
    headers: { ...modern, 'Mcp-Method': 'nothing/here' },
    body: message('nothing/here', { id: 1, params: envelope }),
  },
  { server: 'open', route: 'POST /mcp', status: 415, headers: { 'Content-Type': 'text/plain' }, body: '{}' },
  { server: 'empty', route: 'POST /mcp', status: 503, headers: json, body: message('tools/list', { id: 1 }) },

  ...['', '/{library}'].flatMap((prefix) =>
    [
      ['index.json', 'index.json'],
      ['{archive}', 'beta.zip'],
      ['{name}/{path}', 'beta/SKILL.md'],
    ].flatMap(([documented, asked]): Sample[] => {
      const route = `GET ${prefix}/.well-known/agent-skills/${documented}`;
      const path = `${prefix.replace('{library}', 'flatsource')}/.well-known/agent-skills/${asked}`;
      return [
        { server: 'open', route, path, status: 200 },
        { server: 'open', route, path, status: 304, headers: { 'If-None-Match': '*' } },
        { server: 'closed', route, path, status: 401 },
        { server: 'open', route, path, status: 403, headers: foreign },
        { server: 'empty', route, path, status: 503 },
        ...(asked === 'index.json'
          ? []
          : [{ server: 'open' as const, route, path: path.replace('beta', 'none'), status: 404 }]),
      ];
    }),
  ),

  ...[
    ['/', '/'],
    ['/libraries', '/libraries'],
    ['/sources', '/sources'],
    ['/sources/{name}', '/sources/old'],
    ['/search.json', '/search.json?q=skill'],
    ['/{kind}', '/prompts'],
    ['/{kind}/{name}', '/skills/beta'],
    ['/{kind}/{name}/{path}', '/skills/beta/raw/SKILL.md'],
  ].flatMap(([documented, path]): Sample[] => {
    const route = `GET ${documented}`;
    return [
      { server: 'open', route, path, status: 200 },
      { server: 'open', route, path, status: 304, headers: { 'If-None-Match': '*' } },
      { server: 'closed', route, path, status: 401 },
      { server: 'open', route, path, status: 403, headers: foreign },
      { server: 'empty', route, path, status: 503 },
    ];
  }),
  { server: 'open', route: 'GET /', path: `/?q=${'x'.repeat(257)}`, status: 400 },
  { server: 'open', route: 'GET /search.json', path: `/search.json?q=${'x'.repeat(257)}`, status: 400 },
  { server: 'open', route: 'GET /sources/{name}', path: '/sources/none', status: 404 },
  { server: 'open', route: 'GET /{kind}/{name}', path: '/skills/twin', status: 300 },
  { server: 'open', route: 'GET /{kind}/{name}', path: '/skills/none', status: 404 },
  { server: 'open', route: 'GET /{kind}/{name}/{path}', path: '/skills/beta/9.9.9', status: 404 },
  { server: 'open', route: 'GET /assets/{file}', path: '/assets/style.css', status: 200 },
  {
    server: 'open',
    route: 'GET /assets/{file}',
    path: '/assets/style.css',
    status: 304,
    headers: { 'If-None-Match': '*' },
  },
  { server: 'closed', route: 'GET /assets/{file}', path: '/assets/style.css', status: 401 },
  { server: 'open', route: 'GET /assets/{file}', path: '/assets/style.css', status: 403, headers: foreign },
  { server: 'open', route: 'GET /assets/{file}', path: '/assets/none.css', status: 404 },

  { server: 'open', route: 'POST /reindex', status: 200 },
  { server: 'closed', route: 'POST /reindex', status: 401 },
  { server: 'open', route: 'POST /reindex', status: 403, headers: foreign },
  { server: 'faulty', route: 'POST /reindex', status: 403 },
  { server: 'closed', route: 'POST /reindex', status: 501, headers: { Authorization: `Bearer ${token}` } },
  { server: 'empty', route: 'POST /reindex', status: 503 },

  { server: 'open', route: 'GET /health', status: 200 },
  { server: 'closed', route: 'GET /health', status: 200 },
  { server: 'empty', route: 'GET /health', status: 200 },
  { server: 'faulty', route: 'GET /health', status: 200 },
  { server: 'closed', route: 'GET /health', status: 401, headers: { Authorization: 'Bearer wrong-token-altogether' } },
  { server: 'open', route: 'GET /health', status: 403, headers: foreign },

  { server: 'open', route: 'GET /livez', status: 200 },
  { server: 'open', route: 'GET /livez', status: 403, headers: foreign },
  { server: 'open', route: 'GET /readyz', status: 200 },
  { server: 'open', route: 'GET /readyz', status: 403, headers: foreign },
  { server: 'empty', route: 'GET /readyz', status: 503 },
  { server: 'open', route: 'GET /openapi.yaml', status: 200 },
  { server: 'closed', route: 'GET /openapi.yaml', status: 401 },
  { server: 'open', route: 'GET /openapi.yaml', status: 403, headers: foreign },
];

/** Documented answers that no request brings about in a moment; tests of their own hold the words. */
const without: Record<string, string[]> = { 'POST /reindex': ['500', '504'] };

const everyKind: CatalogueFixture = {
  sources: [
    ...schoolTree.sources,
    { name: 'old', state: 'stale', reason: 'Unreachable', skills: [{ address: 'x', description: 'Kept.' }] },
    { name: 'one', skills: [{ address: 'twin', description: 'A name that two libraries have.' }] },
    { name: 'two', skills: [{ address: 'twin', description: 'A name that two libraries have.' }] },
    { name: 'broken', state: 'failed', reason: 'NotFound' },
    { name: 'new', state: 'pending' },
    { name: 'notes', live: { url: 'webdav+http://127.0.0.1:1/', subdirectory: '', fileSize: 1 } },
  ],
};

/** Routes as `METHOD /path`: what the server registers while it starts, but for those of its port for metrics. */
const routes = new Set<string>();
const urls: Record<string, string> = {};
const suite = lifetime();

before(async () => {
  const note = (event: unknown): void => {
    (event as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url }) => {
      if (url === '/metrics') return;
      for (const one of [method].flat()) routes.add(`${one} ${documentedPath(url)}`);
    });
  };
  subscribe('fastify.initialization', note);
  const reindex: Reindex = async () => ({ rebuilt: ['old'], unfinished: ['broken'] });
  const live = { guard: { allowLoopback: true, deniedCidrs: [] }, secretOf: async () => new Map() };
  const start = async (name: Sample['server'], catalogue?: CatalogueFixture, index?: string): Promise<void> => {
    const fixture = await GatewayFixture.create(suite);
    if (catalogue !== undefined) await fixture.publish(catalogue);
    const server = await serve(suite, fixture, name === 'open' ? { reindex, live } : {});
    urls[name] = server.url;
    if (index === undefined) return;
    await fixture.writeIndex(index);
    const isTold = async () => 'catalogue' in ((await (await fetch(`${server.url}/health`)).json()) as object);
    while (!(await isTold())) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await start('open', { ...everyKind, reindex: 'Anyone' });
  await start('closed', { ...everyKind, auth: { tokens: { n8n: token } } });
  await start('empty');
  await start('faulty', everyKind, '{');
  unsubscribe('fastify.initialization', note);
});

/** `/skills/:library/*` as the document writes it: `/skills/{library}/{path}`. */
const documentedPath = (url: string): string =>
  url
    .replace(/:(\w+)(\([^)]*\))?/g, '{$1}')
    .replace(/\*$/, '{path}')
    .replace(/(.)\/$/, '$1');

const operations = new Map<string, { responses: Record<string, unknown> }>(
  Object.entries<Record<string, never>>(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== 'parameters')
      .map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  ),
);

it('it is a valid document of OpenAPI 3.1, of the version that is released', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  assert.ok(valid, JSON.stringify(errors, null, 1));
  assert.match(document.openapi, /^3\.1\./);
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
  assert.equal(document.info.version, version);
});

it('every route of the server stands in it, and nothing that is no route', async () => {
  const missing: string[] = [];
  for (const name of routes) {
    const [method, path] = name.split(' ') as [string, string];
    // HEAD goes with GET, and a preflight with everything.
    if (method === 'HEAD' || method === 'OPTIONS' || operations.has(name)) continue;
    // What is answered with "not allowed" is registered, and yet no operation.
    if (!path.includes('{') && (await fetch(urls.open + path, { method })).status === 405) continue;
    missing.push(name);
  }
  const how = `routes that are not in ${file}: add them under "paths", and requests for their answers to "samples" here`;
  assert.deepEqual(missing, [], how);
  const gone = [...operations.keys()].filter((name) => !routes.has(name));
  assert.deepEqual(gone, [], `operations in ${file} that the server does not have: take them out`);
});

it('it is served as it stands', async () => {
  const answer = await fetch(`${urls.open}/openapi.yaml`);
  assert.equal(answer.headers.get('content-type'), 'application/yaml; charset=utf-8');
  assert.equal(await answer.text(), text);
});

describe('answers are as it says', () => {
  const ajv = formats.default(
    new Ajv2020({ strictSchema: true, strictTypes: false, strictRequired: false, allErrors: true }),
  );
  const pointer = (...steps: string[]): string =>
    `doc#/${steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
  ajv.addVocabulary(['openapi', 'info', 'servers', 'security', 'paths', 'components']);
  ajv.addSchema(document, 'doc');
  /** Which members of the named schemas were seen in an answer. */
  const seen = new Set<string>();

  /** The response of an operation, behind its reference, and where it stands. */
  function responseOf(
    route: string,
    status: number,
  ): { steps: string[]; content?: Record<string, unknown> } | undefined {
    const [method, path] = route.split(' ') as [string, string];
    const steps = ['paths', path, method.toLowerCase(), 'responses', String(status)];
    const found = document.paths[path]?.[method.toLowerCase()]?.responses?.[status];
    if (typeof found?.$ref !== 'string') return found && { steps, ...found };
    const name = found.$ref.split('/').at(-1);
    return { steps: ['components', 'responses', name], ...document.components.responses[name] };
  }

  it('every documented answer has a sample', () => {
    const sampled = new Set(samples.map(({ route, status }) => `${route} ${status}`));
    const missing = [...operations].flatMap(([route, { responses }]) =>
      Object.keys(responses)
        .filter((status) => !sampled.has(`${route} ${status}`) && !without[route]?.includes(status))
        .map((status) => `${route} ${status}`),
    );
    assert.deepEqual(missing, [], 'answers without a request in "samples" that brings them about');
  });

  for (const { server, route, path, status, headers, body } of samples) {
    it(`${route}: ${status}, of the ${server} gateway`, async () => {
      const [method, documented] = route.split(' ') as [string, string];
      const answer = await fetch(urls[server] + (path ?? documented), {
        method,
        ...(headers === undefined ? {} : { headers }),
        ...(body === undefined ? {} : { body }),
      });
      const sent = await answer.text();
      assert.equal(answer.status, status, sent);
      const response = responseOf(route, status);
      assert.ok(response, `${route} says nothing of ${status}: add it to ${file}`);
      const type = answer.headers.get('content-type')?.split(';')[0];
      const types = Object.keys(response.content ?? {});
      if (types[0] !== '*/*') assert.deepEqual(type === undefined ? [] : [type], types, 'the media type');
      if (type !== 'application/json') return;
      const validate = ajv.getSchema(pointer(...response.steps, 'content', type, 'schema')) as ValidateFunction;
      assert.ok(validate(JSON.parse(sent)), `${sent}\n${ajv.errorsText(validate.errors)}`);
      note(JSON.parse(sent));
    });
  }

  function note(body: object): void {
    if (!('status' in body) || body.status === 'error') return;
    for (const member of Object.keys(body)) seen.add(member);
    const { sources = {} } = body as { sources?: Record<string, object> };
    for (const source of Object.values(sources))
      for (const member of Object.keys(source)) seen.add(`sources.${member}`);
  }

  it('what it says of health and reindex is what answers have, and nothing else', () => {
    const { HealthFields, Reindexed, SourceHealth } = document.components.schemas;
    const documented = [
      ...Object.keys({ ...HealthFields.properties, ...Reindexed.properties }),
      ...Object.keys(SourceHealth.properties).map((member) => `sources.${member}`),
    ];
    assert.deepEqual([...seen].sort(), documented.sort());
  });
});
