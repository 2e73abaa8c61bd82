// Loading while serving: the new catalogue or the old one, whole, and never nothing.
import assert from 'node:assert/strict';
import { readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import pino from 'pino';
import { indexPath, sourceFolder } from '../../catalogue/layout.ts';
import { contentsOf, resolve } from '../../server/answers/read.ts';
import { CatalogueWatch } from '../../server/snapshot/watch.ts';
import { visible } from '../../server/view.ts';
import {
  type CatalogueFixture,
  GatewayFixture,
  gatewayName,
  namespace,
  type Owner,
  schoolTree,
  serve,
  silent,
  until,
} from './support/gateway.ts';
import { call, callTool, get, listRows, readText } from './support/mcp.ts';

/** A catalogue in which everything says which generation it is of. */
const edition = (number: number): CatalogueFixture => ({
  sources: ['one', 'two', 'three'].map((name) => ({
    name,
    library: 'shared',
    skills: Array.from({ length: 10 }, (_, at) => ({
      address: `${name}-${at}`,
      description: `edition ${number}.`,
      files: { 'edition.txt': `edition ${number}.` },
    })),
  })),
});

const editionsIn = (text: string): Set<string> => new Set(text.match(/edition \d+/g));

async function watched(owner: Owner, gateway: GatewayFixture): Promise<CatalogueWatch> {
  const watch = new CatalogueWatch({
    volume: gateway.root,
    namespace,
    gateway: gatewayName,
    logger: silent,
    loaded: () => {},
    failed: () => {},
    looked: () => {},
  });
  owner.after(() => watch.close());
  await watch.start();
  return watch;
}

describe('a new catalogue', { concurrency: true }, () => {
  it('is served within two seconds by the same process', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(edition(1));
    const { url } = await serve(test, gateway);
    assert.match((await readText(url, 'skill://shared/one-0'))!, /edition 1/);
    await gateway.publish(edition(2));
    const published = Date.now();
    await until('the new edition is read', async () =>
      /edition 2/.test((await readText(url, 'skill://shared/one-0'))!),
    );
    assert.ok(Date.now() - published < 2000, `${Date.now() - published} ms`);
    assert.equal((await get(`${url}/health`)).body.generation, 2);
  });

  it('replaces the old one under constant reading: no answer fails, none is mixed, none goes back', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(edition(1));
    const { url } = await serve(test, gateway);
    const last = 4;
    let reading = true;
    let answers = 0;
    const read = async (query: (url: string) => Promise<string>): Promise<void> => {
      let newest = 0;
      while (reading) {
        const editions = editionsIn(await query(url));
        assert.equal(editions.size, 1, `one edition in an answer, not ${[...editions].join(', ')}`);
        const number = Number([...editions][0]!.split(' ')[1]);
        assert.ok(number >= newest, `edition ${number} after ${newest}`);
        newest = number;
        answers++;
      }
    };
    const text = async (uri: string): Promise<string> => {
      const read = await readText(url, uri);
      assert.ok(read !== undefined, uri);
      return read;
    };
    const readers = [
      read(() => text('skill://shared')),
      read(() => text('skill://shared/two-3')),
      read(() => text('skill://shared/three-9/edition.txt')),
      read(async () => JSON.stringify(await listRows(url, { query: '?skills=full', era: 'legacy' }))),
      read(async () => JSON.stringify((await callTool(url, 'read_resource', { uri: 'skill://shared' })).body)),
    ];
    try {
      for (let number = 2; number <= last; number++) {
        await gateway.publish(edition(number));
        await until(`edition ${number} is served`, async () =>
          (await text('skill://shared')).includes(`edition ${number}`),
        );
      }
    } finally {
      reading = false;
      await Promise.all(readers);
    }
    assert.ok(answers > 100, `${answers} answers`);
  });

  it('leaves who began on the old one to finish on it', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(edition(1));
    const watch = await watched(test, gateway);
    const before = visible(watch.snapshot!, []);
    const target = resolve(before, 'skill://shared/one-0/edition.txt')!;
    await gateway.publish({ sources: [{ name: 'other', skills: [{ address: 'x' }] }] });
    await until('the new catalogue is in force', () => watch.snapshot !== before.snapshot);
    assert.equal(resolve(visible(watch.snapshot!, []), 'skill://shared/one-0'), undefined);
    const contents = await contentsOf(before, target, 'skill://shared/one-0/edition.txt');
    assert.equal('text' in contents && contents.text, 'edition 1.');
  });

  it('without its last skill empties the listing', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(edition(1));
    const { url } = await serve(test, gateway);
    await gateway.publish({ sources: [] });
    await until('nothing is listed', async () => (await listRows(url)).length === 0);
    assert.equal(await readText(url, 'skill://shared/one-0'), undefined);
  });

  it('shares with the old one what is the same in both', async (test) => {
    const gateway = await GatewayFixture.create(test);
    const skills = [{ address: 'a', description: 'One.' }, { address: 'b' }];
    const steady = { name: 'steady', revision: 'r1', skills: [{ address: 'c' }] };
    await gateway.publish({ sources: [steady, { name: 'moving', revision: 'r1', skills }] });
    const watch = await watched(test, gateway);
    const before = watch.snapshot!;
    skills[0] = { address: 'a', description: 'Two.' };
    await gateway.publish({ sources: [steady, { name: 'moving', revision: 'r2', skills }] });
    await until('the new catalogue is in force', () => watch.snapshot !== before);
    const now = watch.snapshot!;
    assert.equal(now.sources[0]!.content, before.sources[0]!.content);
    assert.equal(now.libraries.get('steady')!.shelves, before.libraries.get('steady')!.shelves);
    const row = (snapshot: typeof now, address: string) =>
      snapshot.libraries.get('moving')!.shelves.skill.at.get(address)!.row;
    assert.equal(row(now, 'b'), row(before, 'b'));
    assert.equal(row(now, 'a').description, 'Two.');
  });

  it('takes over settings that changed without any content changing', async (test) => {
    const gateway = await GatewayFixture.create(test);
    const source = { name: 'steady', revision: 'r1', skills: [{ address: 'c' }] };
    await gateway.publish({ sources: [source] });
    const watch = await watched(test, gateway);
    assert.equal(visible(watch.snapshot!, [{ tags: ['new'] }]).skills.length, 0);
    const before = watch.snapshot;
    const libraries = [{ name: 'steady', title: 'Steady', tags: ['new'] }];
    await gateway.publish({ libraries, sources: [source] });
    await until('the new settings are in force', () => watch.snapshot !== before);
    assert.equal(visible(watch.snapshot!, [{ tags: ['new'] }]).skills.length, 1);
    assert.equal(watch.snapshot!.libraries.get('steady')!.title, 'Steady');
    const titled = watch.snapshot;
    await gateway.publish({
      libraries,
      sources: [{ ...source, moves: [{ kind: 'skill', from: 'c', to: 'steady--c/c' }] }],
    });
    await until('the move is in force', () => watch.snapshot !== titled);
    assert.deepEqual(
      watch.snapshot!.skills.map(({ qualified }) => qualified),
      ['steady/steady--c/c'],
    );
  });
});

describe('a catalogue that cannot be loaded', { concurrency: true }, () => {
  const index = (gateway: GatewayFixture): string => join(gateway.root, indexPath(namespace, gatewayName));

  async function served(
    test: TestContext,
  ): Promise<{ gateway: GatewayFixture; url: string; metricsUrl: string; lines: string[] }> {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(schoolTree);
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const { url, metricsUrl } = await serve(test, gateway, { logger, metricsPort: 0 });
    return { gateway, url, metricsUrl: metricsUrl!, lines };
  }

  const broken: Record<string, [reason: string, damage: (gateway: GatewayFixture) => Promise<void>]> = {
    'is missing': ['Missing', async (gateway) => await rm(index(gateway))],
    'is empty': ['Corrupt', async (gateway) => await gateway.writeIndex('')],
    'is cut in the middle': [
      'Corrupt',
      async (gateway) => await gateway.writeIndex((await readFile(index(gateway), 'utf8')).slice(0, 400)),
    ],
    'is JSON of another shape': ['Corrupt', async (gateway) => await gateway.writeIndex('{"format":1,"sources":7}')],
    'was edited by hand': [
      'Corrupt',
      async (gateway) =>
        await gateway.writeIndex((await readFile(index(gateway), 'utf8')).replace('"flatsource"', '"flatsauce"')),
    ],
    'was written by a newer version': [
      'NewerFormat',
      async (gateway) => await gateway.writeIndex(JSON.stringify({ format: 99, whatever: true })),
    ],
    'names a catalogue file that is not there': [
      'Missing',
      async (gateway) => {
        await rm(join(gateway.root, sourceFolder(namespace, 'flatsource'), 'catalogues'), { recursive: true });
        await gateway.publish({ ...schoolTree, sources: [{ name: 'fresh', skills: [{ address: 'x' }] }] });
        await rm(join(gateway.root, sourceFolder(namespace, 'fresh'), 'catalogues'), { recursive: true });
      },
    ],
    'names a segment that is not there': [
      'Missing',
      async (gateway) => {
        await gateway.publish({ ...schoolTree, sources: [{ name: 'fresh', skills: [{ address: 'x' }] }] });
        await rm(join(gateway.root, sourceFolder(namespace, 'fresh'), 'segments'), { recursive: true });
      },
    ],
  };

  for (const [what, [reason, damage]] of Object.entries(broken)) {
    it(`since it ${what} leaves the last good one in place, and is said`, async (test) => {
      const { gateway, url, metricsUrl, lines } = await served(test);
      await damage(gateway);
      await until('the failure is noticed', async () => (await get(`${url}/health`)).body.catalogue !== undefined);
      const { status, body } = await get(`${url}/health`);
      assert.equal(status, 200);
      assert.equal(body.status, 'ok');
      assert.equal(body.generation, 1);
      assert.equal(body.catalogue.reason, reason);
      assert.equal((await listRows(url)).length, 5);
      assert.match((await readText(url, 'skill://flatsource/alpha'))!, /Instructions of alpha/);
      assert.equal((await get(`${url}/readyz`)).status, 200);
      await until('it was seen three times', async () => {
        const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
        return Number(/looks_total\{result="failed"\} (\d+)/.exec(metrics)?.[1]) >= 3;
      });
      assert.equal(lines.length, 1, 'said once, however often it is seen');
    });
  }

  it('is forgotten when a good one follows', async (test) => {
    const { gateway, url } = await served(test);
    await gateway.writeIndex('nonsense');
    await until('the failure is noticed', async () => (await get(`${url}/health`)).body.catalogue !== undefined);
    await gateway.publish(edition(7));
    await until('the good one is served', async () => (await get(`${url}/health`)).body.generation === 2);
    assert.equal((await get(`${url}/health`)).body.catalogue, undefined);
    assert.match((await readText(url, 'skill://shared/one-0'))!, /edition 7/);
  });

  it('is tried again by itself, since the volume may have been late', async (test) => {
    const { gateway, url } = await served(test);
    await gateway.publish({ sources: [{ name: 'fresh', skills: [{ address: 'x' }] }] });
    const segments = join(gateway.root, sourceFolder(namespace, 'fresh'), 'segments');
    await rename(segments, `${segments}.late`);
    await until('the failure is noticed', async () => (await get(`${url}/health`)).body.catalogue !== undefined);
    await rename(`${segments}.late`, segments);
    await until('it is served', async () => (await get(`${url}/health`)).body.generation === 2);
    assert.match((await readText(url, 'skill://fresh/x'))!, /Instructions of x/);
  });

  it('at the start leaves the server alive, not ready, and saying why; it serves when one appears', async (test) => {
    const gateway = await GatewayFixture.create(test);
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const { url } = await serve(test, gateway, { logger });
    const [said] = lines.map((line) => JSON.parse(line));
    assert.equal(said.msg, 'catalogue not loaded, nothing is served yet');
    assert.equal(said.volume, gateway.root, 'the folder may be the mistake');
    assert.equal((await get(`${url}/livez`)).status, 200);
    const readiness = await get(`${url}/readyz`);
    assert.equal(readiness.status, 503);
    assert.match(readiness.body.why, /index\.json/);
    assert.equal((await get(`${url}/health`)).body.status, 'starting');
    for (const era of ['modern', 'legacy'] as const) {
      const { status, headers, body } = await call(url, 'resources/list', {}, { era });
      assert.equal(status, 503);
      assert.equal(headers.get('retry-after'), '1');
      assert.equal(body.error.code, -32603);
      assert.equal(body.id, 1);
    }
    await gateway.publish(schoolTree);
    await until('it is ready', async () => (await get(`${url}/readyz`)).status === 200);
    assert.equal((await listRows(url)).length, 5);
  });
});

describe('content that was damaged on the volume', () => {
  it('is refused, never served wrong, and the rest is served', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(schoolTree);
    const { url } = await serve(test, gateway);
    const folder = join(gateway.root, sourceFolder(namespace, 'flatsource'), 'segments');
    const segment = join(folder, (await readdir(folder)).find((name) => name.endsWith('.segment'))!);
    const bytes = await readFile(segment);
    bytes[bytes.indexOf('Instructions of alpha')]! ^= 1;
    await writeFile(`${segment}.new`, bytes);
    await rename(`${segment}.new`, segment);
    for (const era of ['modern', 'legacy'] as const) {
      const { body } = await call(url, 'resources/read', { uri: 'skill://flatsource/alpha' }, { era });
      assert.equal(body.error.code, -32603);
      assert.doesNotMatch(JSON.stringify(body), /segment|sha256/);
      const { result } = (await callTool(url, 'read_resource', { uri: 'skill://flatsource/alpha' }, { era })).body;
      assert.equal(result.isError, true);
    }
    assert.match((await readText(url, 'skill://flatsource/beta'))!, /Instructions of beta/);
    await truncate(segment, 0);
    assert.equal(
      (await call(url, 'resources/read', { uri: 'skill://flatsource/beta/scripts/run.sh' })).body.error.code,
      -32603,
    );
    assert.match((await readText(url, 'skill://deepsource/gamma'))!, /Instructions of gamma/);
  });
});
