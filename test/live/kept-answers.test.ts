// Answers that are kept as bytes for the next one who asks: none where a Live source is in scope.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { noDownloads } from '../../server/downloads/downloads.ts';
import { accessRules } from '../../server/http/access.ts';
import { createApp } from '../../server/http/app.ts';
import { createEndpoint } from '../../server/mcp/endpoint.ts';
import { createServerMetrics } from '../../server/metrics.ts';
import { GatewayFixture, gatewayName, lifetime, namespace, silent, watchOf } from '../server/support/gateway.ts';

describe('kept answers', () => {
  const suite = lifetime();

  test('are given to whoever sees no Live source, and to nobody else', async () => {
    const fixture = await GatewayFixture.create(suite);
    const live = { url: 'webdav+https://cloud.example/notes/', subdirectory: '', fileSize: 1000 };
    const skills = [{ address: 'loki', description: 'Queries logs.' }];
    await fixture.publish({
      sources: [
        { name: 'notes', live, skills },
        { name: 'copy', skills },
      ],
    });
    const watch = watchOf(fixture);
    await watch.start();
    suite.after(() => watch.close());
    const endpoint = createEndpoint({ version: '0.0.0', logger: silent });
    let kept = 0;
    const app = createApp({
      catalogue: watch,
      endpoint: {
        ...endpoint,
        kept(asked, context) {
          const answer = endpoint.kept(asked, context);
          if (answer !== undefined) kept += 1;
          return answer;
        },
      },
      access: accessRules(namespace, gatewayName, '127.0.0.1'),
      metrics: createServerMetrics(),
      downloads: noDownloads,
      logger: silent,
      reindex: undefined,
      reindexForAnyone: undefined,
    });
    suite.after(() => app.close());
    /** How many of four equal requests are answered with what is kept. */
    const keptOf = async (library: string, method: string, params: object): Promise<number> => {
      const before = kept;
      const url = `/mcp?library=${library}`;
      for (let time = 0; time < 4; time++) {
        const payload = { jsonrpc: '2.0', id: time, method, params };
        const { statusCode, json } = await app.inject({ method: 'POST', url, payload });
        assert.equal(statusCode, 200);
        assert(json().result, `${method} has a result`);
      }
      return kept - before;
    };
    const begin = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'n8n', version: '1' } };
    const asked: [method: string, params: (library: string) => object][] = [
      ['resources/list', () => ({})],
      ['resources/read', (library) => ({ uri: `skill://${library}/loki` })],
      ['skills/list', () => ({})],
      ['skills/get', (library) => ({ uri: `skill://${library}/loki/SKILL.md` })],
      ['initialize', () => begin],
    ];
    for (const [method, params] of asked) {
      assert.equal(await keptOf('notes', method, params('notes')), 0, method);
      assert((await keptOf('copy', method, params('copy'))) > 0, `${method} of a snapshot`);
    }
  });
});
