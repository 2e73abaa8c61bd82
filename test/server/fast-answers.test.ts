// The fast way and the SDK alone: each request goes to two servers over one catalogue, and both must answer alike.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { noDownloads } from '../../server/downloads/downloads.ts';
import { accessRules } from '../../server/http/access.ts';
import { createApp } from '../../server/http/app.ts';
import { createEndpoint } from '../../server/mcp/endpoint.ts';
import { methods } from '../../server/mcp/methods.ts';
import { createServerMetrics, type ServerMetrics } from '../../server/metrics.ts';
import {
  type CatalogueFixture,
  GatewayFixture,
  gatewayName,
  lifetime,
  namespace,
  schoolTree,
  silent,
  watchOf,
} from './support/gateway.ts';

const modernVersion = '2026-07-28';
const legacyVersions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];
const versionKey = 'io.modelcontextprotocol/protocolVersion';
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
const clientKey = 'io.modelcontextprotocol/clientInfo';
const envelope = { [versionKey]: modernVersion, [capabilitiesKey]: {} };

const tree: CatalogueFixture = {
  ...schoolTree,
  instructions: 'Read before you act — „alles“.',
  sources: [
    ...schoolTree.sources,
    {
      name: 'wide',
      library: 'wide',
      tags: ['many'],
      skills: Array.from({ length: 300 }, (_, number) => ({
        address: `skill-${number}`,
        description: `Does ${number} — with an é, 🎉 and "quotes".`,
        group: number % 2 === 0 ? 'even' : 'odd',
      })),
      files: {
        'bare file.md': 'Bare.\n',
        'naïve file?.md': '# Näme\r\n\uFEFF\u2028',
        'logo.png': Uint8Array.of(0x89, 0x50, 0xff, 0, 1),
      },
    },
  ],
};

interface Sent {
  query?: string;
  headers: Record<string, string>;
  /** JSON, well-formed or not. */
  body: string;
}

/** One server with what it keeps in reach. */
interface Side {
  app: FastifyInstance;
  metrics: ServerMetrics;
  kept: number;
}

const named = (method: string, params: Record<string, unknown>): unknown =>
  method === 'resources/read' ? params.uri : ['tools/call', 'prompts/get'].includes(method) ? params.name : undefined;

/** A well-formed request. @param version of the protocol; undefined: of a legacy client that names none */
function ordinary(
  version: string | undefined,
  method: string,
  params: Record<string, unknown> = {},
  id: unknown = 1,
): Sent {
  const modern = version === modernVersion;
  const name = modern ? named(method, params) : undefined;
  return {
    headers: {
      'content-type': 'application/json',
      ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
      ...(modern ? { 'mcp-method': method } : {}),
      ...(typeof name === 'string' ? { 'mcp-name': headerText(name) } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: modern ? { _meta: envelope, ...params } : params }),
  };
}

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;
const headerText = (text: string): string => (/^[\x21-\x7e]*$/.test(text) ? text : base64(text));

const uris = [
  'skill://flatsource',
  'skill://flatsource/',
  'skill://plugin-a',
  'skill://flatsource/alpha',
  'skill://flatsource/alpha/SKILL.md',
  'skill://flatsource/beta/_manifest',
  'skill://flatsource/beta/scripts/run.sh',
  'skill://deepsource/_files',
  'skill://deepsource/shared/nested/schema.json',
  'skill://wide/na%C3%AFve%20file%3F.md',
  'skill://wide/naïve file?.md',
  'skill://wide/logo.png',
  'skill://index.json',
  'skill://nobody/knows',
  'skill://',
  '',
  'x'.repeat(9000),
];

/** Every method with parameters that have a result, and some that have none. */
const asked: [method: string, params: Record<string, unknown>][] = [
  ['server/discover', {}],
  ['ping', {}],
  ['tools/list', {}],
  ['prompts/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['skills/list', {}],
  ...['alpha/SKILL.md', 'alpha', 'nothing/SKILL.md'].map((path): [string, Record<string, unknown>] => [
    'skills/get',
    { uri: `skill://flatsource/${path}` },
  ]),
  ...['flatsource', 'flatsource/beta', 'deepsource/shared', 'plugin-a', 'none'].map(
    (path): [string, Record<string, unknown>] => ['resources/directory/read', { uri: `skill://${path}` }],
  ),
  ...uris.map((uri): [string, Record<string, unknown>] => ['resources/read', { uri }]),
  ['tools/call', { name: 'read_resource', arguments: { uri: 'skill://flatsource/alpha' } }],
  ['tools/call', { name: 'list_skills', arguments: {} }],
  ['prompts/get', { name: 'flatsource_hello', arguments: { who: 'you' } }],
  [
    'completion/complete',
    { ref: { type: 'ref/resource', uri: 'skill://{library}' }, argument: { name: 'library', value: 'f' } },
  ],
  ['no/such', {}],
];
const legacyAsked: typeof asked = [
  ...asked,
  ['initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'n8n', version: '1' } }],
  [
    'initialize',
    {
      protocolVersion: '2025-03-26',
      capabilities: { roots: { listChanged: true } },
      clientInfo: { name: 'é', version: '' },
    },
  ],
  [
    'initialize',
    { protocolVersion: '2099-01-01', capabilities: {}, clientInfo: { name: 'x', version: '1', title: 'X' } },
  ],
];

/** One of each way in which a method is answered. */
const someAsked = legacyAsked.filter(
  ([method, { uri }], at) =>
    ['server/discover', 'ping', 'resources/list', 'tools/call'].includes(method) ||
    uri === 'skill://flatsource/alpha' ||
    uri === 'skill://flatsource/alpha/SKILL.md' ||
    at === legacyAsked.length - 1,
);

const scopes: Pick<Sent, 'query' | 'headers'>[] = [
  { headers: {} },
  { query: '?library=flatsource', headers: {} },
  { query: '?library=plugin-a&tags=deepsource', headers: {} },
  { query: '?library=flatsource', headers: { 'x-skill-library': 'deepsource' } },
  { query: '?library=nobody', headers: {} },
  { query: '?skills=full', headers: {} },
  { query: '?resources=off&prompts=off', headers: {} },
  { query: '?artifacts=on', headers: {} },
  { headers: { 'x-mcp-resources': 'off', 'x-skill-listing': 'full', 'x-skill-tags': 'many' } },
];

describe('a hot answer', () => {
  const suite = lifetime();
  let fast: Side;
  let sdk: Side;
  before(async () => {
    const fixture = await GatewayFixture.create(suite);
    await fixture.publish(tree);
    const watch = watchOf(fixture);
    await watch.start();
    suite.after(() => watch.close());
    const side = (isFast: boolean): Side => {
      const metrics = createServerMetrics();
      const endpoint = createEndpoint({ version: '0.0.0-test', logger: silent, fast: isFast });
      const made: Side = {
        metrics,
        kept: 0,
        app: createApp({
          catalogue: watch,
          endpoint: {
            ...endpoint,
            kept(one, context) {
              const answer = endpoint.kept(one, context);
              if (answer !== undefined) made.kept += 1;
              return answer;
            },
          },
          access: accessRules(namespace, gatewayName, '127.0.0.1'),
          metrics,
          downloads: noDownloads,
          logger: silent,
          reindex: undefined,
          reindexForAnyone: undefined,
        }),
      };
      suite.after(async () => {
        await made.app.close();
        await endpoint.close();
      });
      return made;
    };
    fast = side(true);
    sdk = side(false);
  });

  const answerOf = async ({ app }: Side, { query = '', headers, body }: Sent) => {
    const reply = await app.inject({
      method: 'POST',
      url: `/mcp${query}`,
      headers: { host: 'localhost', ...headers },
      payload: body,
    });
    const { date: _date, 'content-length': length, connection: _connection, ...others } = reply.headers;
    if (length !== undefined) assert.equal(Number(length), reply.rawPayload.length);
    return {
      status: reply.statusCode,
      headers: others,
      body: reply.payload === '' ? undefined : (JSON.parse(reply.payload) as { result?: { nextCursor?: string } }),
    };
  };

  /**
   * Asks the fast side three times, so that an answer is the SDK's, then made, then kept; each must be what the SDK says alone.
   * @returns how often it was kept
   */
  const compare = async (sent: Sent) => {
    const expected = await answerOf(sdk, sent);
    const before = fast.kept;
    for (let time = 0; time < 3; time++) {
      assert.deepEqual(
        await answerOf(fast, sent),
        expected,
        `${sent.query ?? ''} ${JSON.stringify(sent.headers)} ${sent.body.slice(0, 500)}`,
      );
    }
    return { kept: fast.kept - before, expected };
  };

  it('is what the SDK says, for every method, version and scope', async () => {
    for (const { query, headers } of scopes) {
      const isWhole = query === undefined && Object.keys(headers).length === 0;
      for (const version of isWhole ? [modernVersion, undefined, ...legacyVersions] : [modernVersion, '2025-11-25']) {
        for (const [method, params] of version === modernVersion ? asked : legacyAsked) {
          const sent = ordinary(version, method, params);
          await compare({
            ...sent,
            ...(query === undefined ? {} : { query }),
            headers: { ...sent.headers, ...headers },
          });
        }
      }
    }
  });

  it('is kept for every method that looks something up, and for those that every client begins with', async () => {
    const uri = { 'skills/get': 'skill://flatsource/beta/SKILL.md', 'resources/directory/read': 'skill://deepsource' };
    const names = methods.filter(({ cacheable }) => cacheable).map(({ name }) => name);
    const paramsOf = (name: string) =>
      name === 'resources/read'
        ? { uri: 'skill://flatsource/beta' }
        : name in uri
          ? { uri: uri[name as keyof typeof uri] }
          : {};
    const hot = (version: string, more: string[]) =>
      [...names, ...more].map((name) => ordinary(version, name, paramsOf(name)));
    for (const sent of [...hot(modernVersion, ['server/discover']), ...hot('2025-11-25', ['ping'])]) {
      const { kept, expected } = await compare(sent);
      assert.equal(expected.status, 200, sent.body);
      assert.ok(kept >= 1, `${sent.body} was kept ${kept} times`);
    }
    const begin = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'begins', version: '1' } };
    assert.equal((await compare(ordinary(undefined, 'initialize', begin))).kept, 2);
    const notified = { ...ordinary('2025-11-25', ''), body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' };
    const { kept, expected } = await compare(notified);
    assert.deepEqual([kept, expected.status], [2, 202]);
  });

  it('is what the SDK says on every page', async () => {
    for (const version of [modernVersion, '2025-11-25']) {
      for (const [method, query, pages] of [
        ['resources/list', '?skills=full', 2],
        ['skills/list', '', 1],
      ] as const) {
        let cursor: string | undefined;
        let seen = 0;
        do {
          const sent = ordinary(version, method, cursor === undefined ? {} : { cursor });
          const { expected } = await compare({ ...sent, query });
          cursor = expected.body?.result?.nextCursor;
          seen += 1;
        } while (cursor !== undefined);
        assert.ok(seen >= pages, `${method} has ${seen} pages`);
        for (const foreign of ['', 'bm90aGluZw', '!', 'x'.repeat(5000), '\u0000']) {
          await compare({ ...ordinary(version, method, { cursor: foreign }), query });
        }
      }
    }
  });

  it('is no answer to another question, whatever blanks and quotes stand in it', async () => {
    for (const version of [modernVersion, '2025-11-25']) {
      const full = (params: Record<string, unknown>): Sent => ({
        ...ordinary(version, 'resources/list', params),
        query: '?skills=full',
      });
      const { expected } = await compare(full({}));
      const cursor = expected.body?.result?.nextCursor;
      assert.ok(cursor !== undefined);
      await compare(full({ uri: `${JSON.stringify(cursor)} ` }));
      await compare(full({ uri: `,${JSON.stringify(cursor)}` }));
      await compare(full({ cursor }));

      const uri = 'skill://wide/bare file.md';
      await compare(ordinary(version, 'resources/read', { uri }));
      const method = 'resources/read skill://wide/bare';
      await compare(ordinary(version, method, { uri: 'file.md' }));
      await compare(ordinary(version, 'resources/read', { cursor: 'x', uri }));
      await compare(ordinary(version, 'resources/read', { uri: `"x" ${uri}` }));
    }
  });

  it('has the id of its request, whatever is one', async () => {
    const written = [
      '0',
      '-7',
      '-0',
      '9007199254740991',
      '9007199254740992',
      '-9007199254740993',
      '1.5',
      '1e3',
      '1e400',
      'null',
      'true',
      '{}',
      '[1]',
    ];
    const texts = [
      '',
      'abc',
      '"',
      '\\',
      '\n\u0000',
      'é🎉',
      '\ud800',
      '</script>',
      'x'.repeat(200),
      'x'.repeat(100_000),
    ];
    for (const version of [modernVersion, '2025-11-25']) {
      for (const [method, params] of [
        ['resources/list', {}],
        ['resources/read', { uri: 'skill://flatsource/alpha' }],
        ['ping', {}],
      ] as const) {
        const sent = ordinary(version, method, params, 'ID');
        for (const id of [...written, ...texts.map((text) => JSON.stringify(text))]) {
          await compare({ ...sent, body: sent.body.replace('"ID"', () => id) });
        }
        await compare({ ...sent, body: sent.body.replace('"id":"ID",', '') });
      }
    }
  });

  it('is never given to a modern request whose headers are not what they must be', async () => {
    for (const [method, params] of asked) {
      const { headers, body } = ordinary(modernVersion, method, params);
      const { 'mcp-name': _name, ...nameless } = headers;
      const { 'mcp-method': _method, ...methodless } = headers;
      const { 'mcp-protocol-version': _version, ...versionless } = headers;
      const variants: Record<string, string>[] = [
        nameless,
        methodless,
        versionless,
        { 'content-type': 'application/json' },
        { ...headers, 'mcp-method': 'tools/call' },
        { ...headers, 'mcp-method': method.toUpperCase() },
        { ...headers, 'mcp-method': ` ${method}\t` },
        { ...headers, 'mcp-method': base64(method) },
        { ...headers, 'mcp-protocol-version': '2025-11-25' },
        { ...headers, 'mcp-protocol-version': '2027-01-01' },
        { ...headers, 'mcp-protocol-version': `${modernVersion}, ${modernVersion}` },
        { ...headers, 'mcp-name': 'skill://deepsource' },
        { ...headers, 'mcp-name': '' },
        { ...headers, 'mcp-name': '=?base64?!?=' },
        { ...headers, accept: 'text/html' },
        { ...headers, 'mcp-session-id': 'abc', 'last-event-id': '7' },
        { ...headers, origin: 'http://localhost:3000' },
        { ...headers, 'content-type': 'application/json; charset=utf-8' },
        { ...headers, 'content-type': 'text/plain' },
      ];
      const name = named(method, params);
      if (typeof name === 'string' && name.length < 1000) {
        variants.push({ ...headers, 'mcp-name': base64(name) }, { ...headers, 'mcp-name': `  ${headerText(name)} ` });
      }
      for (const variant of variants) await compare({ headers: variant, body });
    }
  });

  it('is never given to a modern request whose envelope the SDK refuses, nor kept from one that it takes', async () => {
    const metas: unknown[] = [
      null,
      [],
      'x',
      {},
      { [versionKey]: modernVersion },
      { [capabilitiesKey]: {} },
      { ...envelope, [versionKey]: '2027-01-01' },
      { ...envelope, [versionKey]: 1 },
      { ...envelope, [capabilitiesKey]: null },
      { ...envelope, [capabilitiesKey]: [] },
      { ...envelope, [capabilitiesKey]: 'all' },
      { ...envelope, [capabilitiesKey]: { roots: 1 } },
      { ...envelope, [capabilitiesKey]: { roots: { listChanged: 'yes' } } },
      { ...envelope, [capabilitiesKey]: { elicitation: { form: {} }, sampling: {}, experimental: { x: {} }, own: 1 } },
      { ...envelope, [clientKey]: { name: 'client', version: '1.0', title: 'A client' } },
      { ...envelope, [clientKey]: { name: 1, version: '1.0' } },
      { ...envelope, [clientKey]: { name: 'client' } },
      { ...envelope, 'io.modelcontextprotocol/logLevel': 'debug' },
      { ...envelope, 'io.modelcontextprotocol/logLevel': 'loud' },
      { ...envelope, progressToken: 7 },
      { ...envelope, progressToken: 'seven' },
      { ...envelope, progressToken: 1.5 },
      { ...envelope, progressToken: { x: 1 } },
      { ...envelope, traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=1' },
      { ...envelope, traceparent: { x: 1 }, baggage: null },
      { ...envelope, 'example.com/own': { deep: [1, 2, { three: null }] } },
      { ...envelope, long: 'x'.repeat(6000) },
    ];
    for (const [method, params] of someAsked) {
      for (const meta of metas) {
        await compare({ ...ordinary(modernVersion, method, { ...params, _meta: meta }) });
        const { headers, body } = ordinary('2025-11-25', method, { ...params, _meta: meta });
        await compare({ headers, body });
      }
    }
  });

  it('is never given to a message that is out of the ordinary', async () => {
    for (const version of [modernVersion, '2025-11-25', undefined, '2099-01-01', '']) {
      for (const [method, params] of someAsked) {
        const { headers, body } = ordinary(version, method, params);
        const parsed = JSON.parse(body) as Record<string, unknown>;
        const given = parsed.params as Record<string, unknown>;
        const bodies: string[] = [
          { ...parsed, jsonrpc: '1.0' },
          { ...parsed, jsonrpc: undefined },
          { ...parsed, method: undefined },
          { ...parsed, method: [method] },
          { ...parsed, extra: 1 },
          { ...parsed, result: {} },
          { ...parsed, params: undefined },
          { ...parsed, params: null },
          { ...parsed, params: [given] },
          { ...parsed, params: 'x' },
          { ...parsed, params: { ...given, unknown: true } },
          { ...parsed, params: { ...given, cursor: null } },
          { ...parsed, params: { ...given, cursor: 7 } },
          { ...parsed, params: { ...given, cursor: '' } },
          { ...parsed, params: { ...given, uri: ['skill://flatsource'] } },
          { ...parsed, params: { ...given, uri: 'skill://deepsource' } },
          [parsed],
        ].map((one) => JSON.stringify(one));
        bodies.push(
          body.replace('{', '{"__proto__":{"method":"resources/list"},'),
          body.replace('"params":{', '"params":{"__proto__":{"cursor":"x"},'),
          body.replace('"params":{', '"params":{"constructor":1,'),
          body.replace('{', '{"id":2,"method":"ping",'),
          `\uFEFF${body}`,
          ` ${body}\n`,
        );
        for (const one of bodies) await compare({ headers, body: one });
        await compare({ headers: { ...headers, 'mcp-method': 'resources/list', 'mcp-name': 'x' }, body });
      }
    }
  });

  it('survives what is nested deeper than it can be written', async () => {
    const deep = `${'[{"x":'.repeat(15_000)}1${'}]'.repeat(15_000)}`;
    for (const place of ['"params":{', '"_meta":{', `"${capabilitiesKey}":{`]) {
      const { headers, body } = ordinary(modernVersion, 'resources/list');
      const sent = { headers, body: body.replace(place, `${place}"deep":${deep}${place.endsWith('y":{') ? '' : ','}`) };
      await answerOf(fast, { ...sent, body: sent.body.replace(',}', '}') });
    }
    const { headers, body } = ordinary(undefined, 'initialize', { protocolVersion: '2025-11-25' });
    await answerOf(fast, { headers, body: body.replace('"params":{', `"params":{"deep":${deep},`) });
    assert.equal((await answerOf(fast, ordinary(modernVersion, 'resources/list'))).status, 200);
  });

  it('is counted as one that is not', async () => {
    const countOf = async ({ metrics }: Side): Promise<number> => {
      const { values } = (await metrics.registry.getSingleMetric('lyceum_reads_total')!.get()) as {
        values: { value: number }[];
      };
      return values.reduce((sum, { value }) => sum + value, 0);
    };
    const [before, beforeSdk] = [await countOf(fast), await countOf(sdk)];
    for (const uri of uris) await compare(ordinary(modernVersion, 'resources/read', { uri }));
    assert.ok((await countOf(sdk)) > beforeSdk);
    assert.equal((await countOf(fast)) - before, 3 * ((await countOf(sdk)) - beforeSdk));
  });
});
