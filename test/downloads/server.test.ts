// Downloads as people see them: in the lists of every server of a gateway, whatever becomes of operator and volume.
import assert from 'node:assert/strict';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { downloadsPath } from '../../catalogue/layout.ts';
import type { SendDownloads } from '../../server/downloads/delivery.ts';
import type { RunningServer } from '../../server/server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';
import { type CatalogueFixture, GatewayFixture, gatewayName, namespace, serve } from '../server/support/gateway.ts';
import { callTool, get } from '../server/support/mcp.ts';
import { downloadsOn, installsIn } from './support.ts';

const install = async ({ url }: RunningServer, skill: string): Promise<void> => {
  const { body } = await callTool(url, 'install_skill', { skill });
  assert.notEqual(body.result.isError, true, JSON.stringify(body));
};

/** How often each skill was taken, as a list tells it. */
async function told({ url }: RunningServer, kind = 'skill'): Promise<Record<string, number>> {
  const { body } = await callTool(url, `list_${kind}s`);
  const rows: { name: string; downloads: number }[] = JSON.parse(body.result.content[0].text);
  return Object.fromEntries(rows.map(({ name, downloads }) => [name, downloads]));
}

const tells = (server: RunningServer, expected: Record<string, number>): Promise<unknown> =>
  eventually(
    `the list tells ${JSON.stringify(expected)}`,
    () => told(server),
    (got) => JSON.stringify(got) === JSON.stringify(expected),
    30,
  );

/** A gateway of a whole operator, and servers of it that send it what they count. */
async function gatewayOf(test: TestContext): Promise<{ operator: OperatorFixture; server(): Promise<RunningServer> }> {
  const operator = await OperatorFixture.start();
  test.after(() => operator[Symbol.asyncDispose]());
  const sendDownloads: SendDownloads = async (batch) =>
    (await operator.countDownloads('default/agents', batch)) === 'refused' ? 'refused' : 'kept';
  return {
    operator,
    server: () =>
      serve(
        test,
        { root: operator.volume },
        { namespace: 'default', gateway: 'agents', sendDownloads, metricsPort: 0 },
      ),
  };
}

const published = (operator: OperatorFixture, skills: number): Promise<unknown> =>
  eventually(
    'the catalogue',
    async () => (await operator.index()).sources.reduce((sum, { counts }) => sum + (counts?.skills ?? 0), 0),
    (got) => got === skills,
  );

describe('downloads', { concurrency: true }, () => {
  it('of all servers are told by each, at once by the one that counted, and never fewer than before', async (test) => {
    const { operator, server } = await gatewayOf(test);
    operator.cluster.configMap('pack', { 'skills__one__SKILL.md': skillText('one') });
    operator.cluster.source('pack', { spec: { url: 'configmap://pack' } });
    operator.cluster.gateway('agents');
    await published(operator, 1);
    const [first, second] = [await server(), await server()];
    assert.deepEqual(await told(first), { one: 0 });
    await install(first, 'one');
    assert.deepEqual(await told(first), { one: 1 });
    await install(second, 'one');
    let most = 0;
    for (const wanted of [2, 3]) {
      await eventually(
        `${wanted} at both`,
        async () => {
          const now = (await told(first)).one!;
          assert.ok(now >= most, `${now} after ${most}`);
          most = now;
          return now === wanted && (await told(second)).one === wanted;
        },
        Boolean,
        30,
      );
      if (wanted === 2) await install(first, 'one');
    }
    assert.deepEqual(installsIn(await downloadsOn(operator.volume, 'default/agents')), { 'skill pack/one': 3 });
    const metrics = await (await fetch(`${first.metricsUrl}/metrics`)).text();
    assert.match(metrics, /^lyceum_downloads_total\{kind="skill",library="pack",what="install"\} 2$/m);
    assert.match(metrics, /^lyceum_downloads_unconfirmed 0$/m);
    assert.match(metrics, /^lyceum_downloads_lost_total 0$/m);
    assert.match(await operator.metrics(), /^lyceum_download_batches_total\{result="kept"\} [1-9]/m);
    assert.match(await operator.metrics(), /^lyceum_downloads_unknown_total 0$/m);
  });

  it('belong to the address that an artifact has in the gateway, also where it had to move', async (test) => {
    const { operator, server } = await gatewayOf(test);
    for (const [at, name] of ['older', 'newer'].entries()) {
      operator.cluster.configMap(name, { 'skills__one__SKILL.md': skillText('one', name) });
      const created = `2026-01-0${at + 1}T00:00:00Z`;
      operator.cluster.source(name, { spec: { url: `configmap://${name}`, library: 'shared' }, created });
    }
    operator.cluster.gateway('agents');
    await published(operator, 2);
    const one = await server();
    const moved = 'shared/newer--skills-one/one';
    await eventually('both', async () => JSON.stringify(Object.keys(await told(one))).includes('newer--'));
    await install(one, moved);
    await install(one, moved);
    await install(one, 'shared/one');
    await eventually(
      'it is kept',
      async () => installsIn(await downloadsOn(operator.volume, 'default/agents')),
      (kept) => Object.values(kept).reduce((sum, times) => sum + times, 0) === 3,
    );
    assert.deepEqual(installsIn(await downloadsOn(operator.volume, 'default/agents')), {
      'skill shared/newer--skills-one/one': 2,
      'skill shared/one': 1,
    });
    assert.equal((await told(one))[moved], 2);
  });

  it('are there after a restart of everything', async (test) => {
    const { operator, server } = await gatewayOf(test);
    operator.cluster.configMap('pack', { 'skills__one__SKILL.md': skillText('one') });
    operator.cluster.source('pack', { spec: { url: 'configmap://pack' } });
    operator.cluster.gateway('agents');
    await published(operator, 1);
    const before = await server();
    await install(before, 'one');
    await before.close();
    await operator.stop();
    await operator.start();
    const after = await server();
    assert.deepEqual(await told(after), { one: 1 });
    await install(after, 'one');
    await tells(await server(), { one: 2 });
  });

  it('go with their gateway', async (test) => {
    const { operator, server } = await gatewayOf(test);
    operator.cluster.configMap('pack', { 'skills__one__SKILL.md': skillText('one') });
    operator.cluster.source('pack', { spec: { url: 'configmap://pack' } });
    operator.cluster.gateway('agents');
    await published(operator, 1);
    const one = await server();
    await install(one, 'one');
    await one.close();
    await downloadsOn(operator.volume, 'default/agents');
    operator.cluster.gateways.delete('agents');
    await eventually('it is collected', () =>
      downloadsOn(operator.volume, 'default/agents').then(
        () => false,
        () => true,
      ),
    );
  });
});

describe('a server', { concurrency: true }, () => {
  const catalogue: CatalogueFixture = {
    sources: [
      {
        name: 'pack',
        skills: [{ address: 'one', description: 'One.' }],
        rules: [{ address: 'one', description: 'One.' }],
      },
    ],
  };
  const file = ({ root }: GatewayFixture): string => join(root, downloadsPath(namespace, gatewayName));
  const published = async (test: TestContext): Promise<GatewayFixture> => {
    const fixture = await GatewayFixture.create(test);
    await fixture.publish(catalogue);
    return fixture;
  };
  const shows = (install: number): string =>
    JSON.stringify({ format: 1, artifacts: { 'skill pack/one': { install, archive: 2 } }, replicas: {} });

  it('tells installs and archives together, each kind for itself', async (test) => {
    const fixture = await published(test);
    await writeFile(file(fixture), shows(3));
    const server = await serve(test, fixture);
    assert.deepEqual([await told(server), await told(server, 'rule')], [{ one: 5 }, { one: 0 }]);
  });

  it('tells 0 of what cannot be read, and goes on: whatever stands there, and when it can be read again', async (test) => {
    const fixture = await published(test);
    const large = `{"format":1,"artifacts":{},"replicas":{},"x":"${'x'.repeat(33 * 1024 * 1024)}"}`;
    for (const text of ['', 'null', '<html>', '{"format":2}', shows(-3), shows(0.5), large]) {
      await writeFile(file(fixture), text);
      const server = await serve(test, fixture);
      assert.deepEqual(await told(server), { one: 0 }, text.slice(0, 80));
      await install(server, 'one');
      assert.deepEqual(await told(server), { one: 1 });
      await server.close();
    }
    await rm(file(fixture));
    await mkdir(file(fixture));
    const server = await serve(test, fixture);
    assert.deepEqual(await told(server), { one: 0 });
    await writeFile(`${file(fixture)}.new`, shows(7));
    await rm(file(fixture), { recursive: true });
    await rename(`${file(fixture)}.new`, file(fixture));
    await tells(server, { one: 9 });
    await writeFile(file(fixture), 'damaged');
    await tells(server, { one: 0 });
  });

  it('installs as ever while nobody takes its counts, and has them all when somebody does', async (test) => {
    const fixture = await published(test);
    let away = true;
    const kept: number[] = [];
    const sendDownloads: SendDownloads = async ({ counts, sequence }) => {
      if (away) throw new Error('full');
      for (const { install } of counts) kept[sequence] = install;
      return 'kept';
    };
    const server = await serve(test, fixture, { sendDownloads, metricsPort: 0 });
    for (let time = 0; time < 50; time++) await install(server, 'one');
    assert.deepEqual(await told(server), { one: 50 });
    assert.equal((await get(`${server.url}/readyz`)).status, 200);
    const metrics = await (await fetch(`${server.metricsUrl}/metrics`)).text();
    assert.match(metrics, /^lyceum_downloads_unconfirmed 50$/m);
    away = false;
    await eventually('all are kept', () => kept.reduce((sum, times) => sum + times, 0) === 50, Boolean, 30);
  });

  it('counts an archive when it is sent: for `npx skills`, where a skill of one file is that file, and of a page', async (test) => {
    const fixture = await GatewayFixture.create(test);
    const skills = [
      { address: 'one', description: 'One.' },
      { address: 'two', description: 'Two.', files: { 'more.md': 'More.' } },
    ];
    await fixture.publish({ sources: [{ name: 'pack', skills }] });
    const server = await serve(test, fixture);
    const fetched = async (path: string, init: RequestInit = {}): Promise<Response> => {
      const answer = await fetch(server.url + path, init);
      await answer.arrayBuffer();
      return answer;
    };
    const known = '/.well-known/agent-skills';
    for (const path of [`${known}/index.json`, `${known}/two/SKILL.md`, `${known}/two/more.md`, '/skills/two']) {
      assert.equal((await fetched(path)).status, 200, path);
    }
    assert.equal((await fetched(`${known}/none.zip`)).status, 404);
    assert.deepEqual(await told(server), { one: 0, two: 0 });
    assert.equal((await fetched(`${known}/one/SKILL.md`)).status, 200);
    for (const path of [`${known}/two.zip`, '/skills/two/archive']) {
      const etag = (await fetched(path)).headers.get('etag')!;
      assert.equal((await fetched(path, { headers: { 'if-none-match': etag } })).status, 304);
      assert.equal((await fetched(path, { method: 'HEAD' })).status, 200);
    }
    assert.deepEqual(await told(server), { one: 1, two: 2 });
  });

  it('with nobody to send to counts in its memory', async (test) => {
    const server = await serve(test, await published(test));
    await install(server, 'one');
    assert.deepEqual(await told(server), { one: 1 });
  });
});
