// Change notices, `subscriptions/listen`: who is told, of what, until when; and what nobody is told.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import Fastify from 'fastify';
import { noDownloads } from '../../server/downloads/downloads.ts';
import { accessRules } from '../../server/http/access.ts';
import { createApp } from '../../server/http/app.ts';
import { ChangeStreams } from '../../server/http/change-streams.ts';
import { createEndpoint } from '../../server/mcp/endpoint.ts';
import { createServerMetrics } from '../../server/metrics.ts';
import { CatalogueWatch } from '../../server/snapshot/watch.ts';
import type { View } from '../../server/view.ts';
import {
  type CatalogueFixture,
  GatewayFixture,
  gatewayName,
  namespace,
  schoolTree,
  serve,
  serveCatalogue,
  silent,
  until,
} from './support/gateway.ts';
import { call, get } from './support/mcp.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const version = '2026-07-28';
const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';
const envelope = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const everything = { resourcesListChanged: true, promptsListChanged: true, toolsListChanged: true };

interface Message {
  method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: messages are looked into freely
  params?: any;
  id?: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: messages are looked into freely
  result?: any;
}

/** A stream, read by hand. */
class Stream {
  readonly response: IncomingMessage;
  readonly #request: ClientRequest;
  readonly messages: Message[] = [];
  text = '';
  ended = false;

  constructor(request: ClientRequest, response: IncomingMessage) {
    this.#request = request;
    this.response = response;
    response.setEncoding('utf8').on('data', (text: string) => {
      this.text += text;
      const events = this.text.split('\n\n').slice(0, -1);
      const data = events.map((event) => /^data: (.*)$/m.exec(event)?.[1]).filter((one) => one !== undefined);
      for (const one of data.slice(this.messages.length)) this.messages.push(JSON.parse(one) as Message);
    });
    response.on('close', () => {
      this.ended = true;
    });
    response.on('error', () => {});
  }

  /** What was told after the acknowledgement: methods, with an address where there is one. */
  get told(): string[] {
    return this.messages
      .slice(1)
      .map(({ method = 'result', params }) => (params?.uri ? `${method} ${params.uri}` : method));
  }

  cut(): void {
    this.#request.destroy();
  }
}

async function listen(
  test: TestContext,
  url: string,
  notifications: object,
  { query = '', headers = {}, more = {} }: { query?: string; headers?: Record<string, string>; more?: object } = {},
): Promise<Stream> {
  const request = httpRequest(`${url}/mcp${query}`, {
    method: 'POST',
    agent: false,
    headers: {
      'content-type': 'application/json',
      'mcp-protocol-version': version,
      'mcp-method': 'subscriptions/listen',
      ...headers,
    },
  });
  request.on('error', () => {});
  test.after(() => request.destroy());
  const params = { _meta: envelope, notifications, ...more };
  request.end(JSON.stringify({ jsonrpc: '2.0', id: 'mine', method: 'subscriptions/listen', params }));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const stream = new Stream(request, response);
  if (response.statusCode === 200) await until('the acknowledgement', () => stream.messages.length > 0);
  return stream;
}

/** The tree with some of its texts changed; what is not named stays as it is, with the same revision. */
function changed(change: { alpha?: string; gamma?: string; hello?: string; title?: string }): CatalogueFixture {
  const [flat, deep] = schoolTree.sources as [CatalogueFixture['sources'][0], CatalogueFixture['sources'][0]];
  return {
    ...schoolTree,
    ...(change.title === undefined ? {} : { libraries: [{ name: 'flatsource', title: change.title }] }),
    sources: [
      {
        ...flat,
        skills: flat.skills!.map((skill) =>
          skill.address === 'alpha' && change.alpha !== undefined ? { ...skill, description: change.alpha } : skill,
        ),
        prompts: flat.prompts!.map((prompt) =>
          change.hello === undefined ? prompt : { ...prompt, text: change.hello },
        ),
      },
      {
        ...deep,
        skills: deep.skills!.map((skill) =>
          skill.address === 'gamma' && change.gamma !== undefined ? { ...skill, description: change.gamma } : skill,
        ),
      },
    ],
  };
}

const resources = 'notifications/resources/list_changed';
const prompts = 'notifications/prompts/list_changed';
const updated = 'notifications/resources/updated';

describe('a client that listens', () => {
  it('is acknowledged with what the server can tell it, on a stream that no proxy holds back', async (test) => {
    const { url } = await serveCatalogue(test, schoolTree);
    const { response, messages } = await listen(test, url, {
      ...everything,
      resourceSubscriptions: ['skill://flatsource/alpha', 'skill://nobody/knows', 'file:///etc/passwd'],
    });
    assert.equal(response.statusCode, 200);
    assert.equal(response.headers['content-type'], 'text/event-stream');
    assert.equal(response.headers['x-accel-buffering'], 'no');
    assert.equal(messages[0]!.method, 'notifications/subscriptions/acknowledged');
    assert.deepEqual(messages[0]!.params.notifications, {
      resourcesListChanged: true,
      promptsListChanged: true,
      resourceSubscriptions: ['skill://flatsource/alpha'],
    });
    assert.equal(messages[0]!.params._meta[subscriptionKey], 'mine');
  });

  it('finds that promised in server/discover, and nothing of it in the old era', async (test) => {
    const { url } = await serveCatalogue(test, schoolTree);
    const { capabilities } = (await call(url, 'server/discover')).body.result;
    assert.deepEqual(capabilities.resources, { listChanged: true, subscribe: true });
    assert.deepEqual(capabilities.prompts, { listChanged: true });
    assert.deepEqual(capabilities.tools, {});
    const begin = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'old', version: '1' } };
    const old = (await call(url, 'initialize', begin, { era: 'legacy' })).body.result.capabilities;
    assert.deepEqual([old.resources, old.prompts, old.tools], [{}, {}, {}]);
    const refused = await call(url, 'subscriptions/listen', { notifications: everything }, { era: 'legacy' });
    assert.equal(refused.body.error.code, -32601);
  });

  it('is told within two seconds when the catalogue changes, through the SDK', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(schoolTree);
    const { url } = await serve(test, gateway);
    const client = new Client({ name: 'listens', version: '1' }, { versionNegotiation: { mode: { pin: version } } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
    test.after(() => client.close());
    const told = Promise.withResolvers<number>();
    client.setNotificationHandler(resources, () => told.resolve(performance.now()));
    const subscription = await client.listen({ resourcesListChanged: true });
    await gateway.publish(changed({ alpha: 'Another first skill.' }));
    const published = performance.now();
    const took = (await told.promise) - published;
    assert.ok(took < 2000, `${took} ms`);
    const { contents } = await client.readResource({ uri: 'skill://flatsource' });
    assert.match(JSON.stringify(contents), /Another first skill/);
    await subscription.close();
  });

  it('is told of the kind that changed and of addresses that read otherwise, and of nothing else', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(schoolTree);
    const { url } = await serve(test, gateway);
    const uris = [
      'skill://flatsource/alpha',
      'skill://flatsource/beta',
      'skill://flatsource',
      'skill://flatsource/alpha/_manifest',
    ];
    const all = await listen(test, url, { ...everything, resourceSubscriptions: uris });
    const onlyPrompts = await listen(test, url, { promptsListChanged: true });

    await gateway.publish(changed({ hello: 'Good day, {{who}}!\n' }));
    await until('the prompt', () => all.told.length === 1 && onlyPrompts.told.length === 1);
    assert.deepEqual([all.told, onlyPrompts.told], [[prompts], [prompts]]);

    await gateway.publish(changed({ hello: 'Good day, {{who}}!\n', alpha: 'Another.' }));
    await until('the skill', () => all.told.length >= 5);
    const [alpha, , index, manifest] = uris.map((uri) => `${updated} ${uri}`);
    assert.deepEqual(all.told, [prompts, resources, alpha, index, manifest]);

    await gateway.publish(changed({ hello: 'Good day, {{who}}!\n', alpha: 'Another.', title: 'Flat' }));
    await until('the title', () => all.told.length >= 6);
    assert.deepEqual(all.told.slice(5), [resources]);
    assert.deepEqual(onlyPrompts.told, [prompts]);
  });

  it('is told of its own view alone, not even that something else changed', async (test) => {
    const gateway = await GatewayFixture.create(test);
    const auth = {
      tokens: { all: 'token-of-everybody', flat: 'token-of-flat-only' },
      scopes: [{ client: 'flat', library: 'flatsource' }],
    };
    await gateway.publish({ ...schoolTree, auth });
    const { url } = await serve(test, gateway);
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const watched = { ...everything, resourceSubscriptions: ['skill://deepsource/gamma', 'skill://flatsource/alpha'] };
    const whole = await listen(test, url, watched, { headers: bearer(auth.tokens.all) });
    const others = [
      await listen(test, url, watched, { headers: bearer(auth.tokens.flat) }),
      await listen(test, url, watched, { query: '?library=flatsource', headers: bearer(auth.tokens.all) }),
      await listen(test, url, watched, { query: '?tags=flatsource', headers: bearer(auth.tokens.all) }),
    ];
    const sibling = await listen(test, url, everything, {
      query: '?library=plugin-b',
      headers: bearer(auth.tokens.all),
    });
    for (const { messages } of others) {
      assert.deepEqual(messages[0]!.params.notifications.resourceSubscriptions, ['skill://flatsource/alpha']);
    }

    await gateway.publish({ ...changed({ gamma: 'Another third skill.' }), auth });
    await until('the change of gamma', () => whole.told.length === 2);
    await gateway.publish({ ...changed({ gamma: 'Another third skill.', alpha: 'Another first skill.' }), auth });
    await until('the change of alpha', () => others.every(({ told }) => told.length === 2));
    for (const { told } of others) assert.deepEqual(told, [resources, `${updated} skill://flatsource/alpha`]);
    assert.deepEqual(sibling.told, []);
  });

  it('gets the final result when its token is rotated away; other streams go on', async (test) => {
    const gateway = await GatewayFixture.create(test);
    const tokens = { stays: 'token-that-remains', goes: 'token-that-is-rotated' };
    await gateway.publish({ ...schoolTree, auth: { tokens } });
    const { url } = await serve(test, gateway);
    const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    const stays = await listen(test, url, everything, bearer(tokens.stays));
    const goes = await listen(test, url, everything, bearer(tokens.goes));
    await gateway.publish({
      ...changed({ alpha: 'A secret.' }),
      auth: { tokens: { ...tokens, goes: 'another-token-by-now' } },
    });
    await until('the end', () => goes.ended);
    assert.deepEqual(goes.told, ['result']);
    assert.deepEqual(goes.messages[1], {
      jsonrpc: '2.0',
      id: 'mine',
      result: { resultType: 'complete', _meta: goes.messages[1]!.result._meta },
    });
    await until('the other one', () => stays.told.length === 1);
    assert.equal(stays.ended, false);
    assert.equal((await listen(test, url, everything)).response.statusCode, 401);
  });

  it('gets the final result when the server stops', async (test) => {
    const server = await serveCatalogue(test, schoolTree);
    const streams = [
      await listen(test, server.url, everything),
      await listen(test, server.url, { promptsListChanged: true }),
    ];
    const begun = performance.now();
    await server.close();
    assert.ok(performance.now() - begun < 2000);
    for (const stream of streams) {
      await until('the end', () => stream.ended);
      assert.deepEqual(stream.told, ['result']);
    }
  });

  it('is forgotten when it closes its connection, and counted until then', async (test) => {
    const server = await serveCatalogue(test, schoolTree, { metricsPort: 0 });
    const open = async () =>
      /^lyceum_change_streams (\d+)$/m.exec(await (await fetch(`${server.metricsUrl}/metrics`)).text())?.[1];
    const streams = [await listen(test, server.url, everything), await listen(test, server.url, everything)];
    assert.equal(await open(), '2');
    // The SDK is told by a signal, which a garbage collection may cut.
    collectGarbage();
    for (const stream of streams) stream.cut();
    await until('nobody listens', async () => (await open()) === '0');
  });

  it('costs little memory, however much it sent', async (test) => {
    const { url } = await serveCatalogue(test, schoolTree);
    const more = { _meta: { ...envelope, 'example.com/own': Array.from({ length: 80_000 }, () => []) } };
    const held = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    await listen(test, url, everything, { more });
    const before = held();
    for (let number = 0; number < 10; number++) await listen(test, url, everything, { more });
    const each = (held() - before) / 10 / 1024;
    assert.ok(each < 500, `${each} KiB a stream`);
  });

  it('keeps no catalogue in memory that is served no longer', async (test) => {
    const fixture = await GatewayFixture.create(test);
    await fixture.publish(schoolTree);
    const ignore = () => {};
    const told = { logger: silent, loaded: ignore, failed: ignore, looked: ignore };
    const watch = new CatalogueWatch({ volume: fixture.root, namespace, gateway: gatewayName, ...told });
    await watch.start();
    const endpoint = createEndpoint({ version: '0.0.0-test', logger: silent });
    const access = accessRules(namespace, gatewayName, '127.0.0.1');
    const app = createApp({
      catalogue: watch,
      endpoint,
      access,
      metrics: createServerMetrics(),
      downloads: noDownloads,
      logger: silent,
    });
    test.after(() => Promise.all([app.close(), endpoint.close(), watch.close()]));
    const stream = await listen(test, await app.listen({ host: '127.0.0.1', port: 0 }), everything);
    const first = new WeakRef(watch.snapshot!);
    await fixture.publish(changed({ alpha: 'Other.', gamma: 'Other.', hello: 'Other.' }));
    await until('the notice', () => stream.told.length > 0);
    await until('it is forgotten', () => {
      collectGarbage();
      return first.deref() === undefined;
    });
  });

  it('may open so many streams and no more, and again as many when it has closed them', async (test) => {
    const { url } = await serveCatalogue(test, schoolTree);
    const streams: Stream[] = [];
    for (let number = 0; number < 100; number++) streams.push(await listen(test, url, { promptsListChanged: true }));
    const refused = await listen(test, url, everything);
    assert.equal(refused.response.statusCode, 503);
    assert.ok(Number(refused.response.headers['retry-after']) > 0);
    streams[0]!.cut();
    await until('there is room', async () => (await listen(test, url, everything)).response.statusCode === 200);
    assert.equal((await call(url, 'resources/list')).status, 200);
  });

  it('is refused in words when it asks for nothing that is one', async (test) => {
    const { url } = await serveCatalogue(test, schoolTree);
    for (const params of [
      {},
      { notifications: null },
      { notifications: 'all' },
      { notifications: { resourceSubscriptions: [7] } },
    ]) {
      const { status, body } = await call(url, 'subscriptions/listen', params);
      assert.deepEqual([status, body.error.code, body.id], [200, -32602, 1], JSON.stringify(params));
    }
  });

  it('hears from the server every 15 seconds, so that no proxy takes the connection for dead', async (test) => {
    const { url } = await serveCatalogue(test, schoolTree);
    test.mock.timers.enable({ apis: ['setInterval'] });
    const stream = await listen(test, url, everything);
    assert.doesNotMatch(stream.text, /^:/m);
    test.mock.timers.tick(15_000);
    await until('a comment', () => /^: /m.test(stream.text));
    assert.deepEqual(stream.told, []);
  });
});

describe('a client that does not read what it is told', () => {
  it('is cut off, and nothing more is kept for it', async (test) => {
    const catalogue = { snapshot: undefined, fault: undefined };
    const streams = new ChangeStreams({ catalogue, counted: () => {}, logger: silent });
    const cancelled = Promise.withResolvers<void>();
    let given = 0;
    const events = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        await new Promise((resolve) => setImmediate(resolve));
        given += 2 ** 16;
        controller.enqueue(new Uint8Array(2 ** 16));
      },
      cancel: () => cancelled.resolve(),
    });
    const app = Fastify();
    test.after(() => app.close());
    app.post('/', async (request, reply) => {
      const notify = { toolsChanged() {}, promptsChanged() {}, resourcesChanged() {}, resourceUpdated() {} };
      await streams.send(request, reply, { events, notify, uris: [], close: async () => {} }, {} as View);
    });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const request = httpRequest(url, { method: 'POST', agent: false });
    request.on('error', () => {});
    request.on('response', (response) => response.pause().on('error', () => {}));
    request.end();
    await cancelled.promise;
    assert.ok(given < 64 * 2 ** 20, `${given} bytes were given out`);
    request.destroy();
    assert.equal((await get(`${url}/none`)).status, 404);
  });
});
