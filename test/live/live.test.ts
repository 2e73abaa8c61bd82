// Live sources: a file that is edited in a WebDAV folder is served on the next read, whatever the server does meanwhile.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, mock, test } from 'node:test';
import { mountedSecrets } from '../../server/live/mounted-secrets.ts';
import { eventually } from '../fixtures/eventually.ts';
import { skillText } from '../fixtures/operator.ts';
import {
  asked,
  secret,
  startWebDavServer,
  type WebDavServerFixture,
  webDavServerKinds,
} from '../fixtures/webdav-server.ts';
import { call, callTool, get, listUris } from '../server/support/mcp.ts';
import { liveGateway } from './support.ts';

const loki = 'skill://notes/loki';
const sha256 = (bytes: string | Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Looks count for two seconds, pauses are of thirty: what these tests wait for is told by this clock, which is put forward. */
const clock = performance.now.bind(performance);
let forward = 0;
before(() => void mock.method(performance, 'now', () => clock() + forward));
const later = (milliseconds: number): void => {
  forward += milliseconds;
};
const pastFresh = (): void => later(2001);
const pastPause = (): void => later(30_001);
const prompt = (text: string) =>
  `---\ndescription: Greets.\narguments:\n  - name: who\n    required: true\n---\n${text}\n`;

for (const kind of webDavServerKinds) {
  describe(kind, () => {
    let dav: WebDavServerFixture;
    before(async () => {
      dav = await startWebDavServer(kind);
    });
    afterEach(() => dav.reset());
    after(() => dav.close());

    test('an edit is served on the next read, of a skill, its files, a pack file and a prompt; the generation stays', async () => {
      await dav.write({
        'skills/loki/SKILL.md': skillText('loki'),
        'skills/loki/größe #1.md': 'file 1',
        'shared/rules.md': 'pack 1',
        'prompts/hello.md': prompt('Hello {{ who }}.'),
      });
      await using gateway = await liveGateway(dav, { spec: { include: { files: ['shared/**'] } } });
      const { generation } = await gateway.health();
      const fileUri = (await gateway.read('skill://notes/_files'))!.match(/skill:\S+rules\.md/)![0];
      const odd = 'skill://notes/loki/gr%C3%B6%C3%9Fe%20%231.md';
      await dav.write(
        {
          'skills/loki/SKILL.md': skillText('loki', 'Edited.'),
          'skills/loki/größe #1.md': 'file 2, longer',
          'shared/rules.md': 'pack 2',
          'prompts/hello.md': prompt('Good evening {{ who }}!'),
        },
        0,
      );
      assert.equal(await gateway.read(loki), skillText('loki', 'Edited.'));
      assert.equal(await gateway.read(`${loki}/SKILL.md`), skillText('loki', 'Edited.'));
      assert.equal(await gateway.read(odd), 'file 2, longer');
      assert.equal(await gateway.read(fileUri), 'pack 2');
      const { body } = await call(gateway.server.url, 'prompts/get', {
        name: 'notes_hello',
        arguments: { who: 'Ann' },
      });
      assert.match(body.result.messages[0].content.text, /^Good evening Ann!/);
      assert.equal((await gateway.health()).generation, generation);
      pastFresh();
      await dav.write({ 'skills/loki/SKILL.md': skillText('loki', 'Once more.') }, 0);
      const tool = await callTool(gateway.server.url, 'read_resource', { uri: loki });
      assert.equal(tool.body.result.content[0].text, skillText('loki', 'Once more.'));
    });

    test('an install has the newest bytes of every file, and their digests', async () => {
      await dav.write({ 'skills/loki/SKILL.md': skillText('loki'), 'skills/loki/a.md': 'a', 'skills/loki/b.bin': 'b' });
      await using gateway = await liveGateway(dav);
      const edited = { 'SKILL.md': skillText('loki', 'Edited.'), 'a.md': 'longer' };
      const binary = Buffer.from([0xff, 0x00, 0xfe]);
      await dav.write({ 'skills/loki/SKILL.md': edited['SKILL.md'], 'skills/loki/a.md': edited['a.md'] }, 0);
      await dav.write({ 'skills/loki/b.bin': binary }, 0);
      const { body } = await callTool(gateway.server.url, 'install_skill', { skill: 'loki' });
      const { files, blobs, manifest } = JSON.parse(body.result.content[0].text);
      assert.deepEqual(files, edited);
      assert.deepEqual(blobs, { 'b.bin': binary.toString('base64') });
      assert.deepEqual(manifest.checksums, {
        'SKILL.md': sha256(edited['SKILL.md']),
        'a.md': sha256('longer'),
        'b.bin': sha256(binary),
      });
    });

    test('an install or an archive of an older version has the newest bytes of that one', async () => {
      const at = (version: string, text: string) => ({ [`skills/odin/${version}/SKILL.md`]: skillText('odin', text) });
      await dav.write({ ...at('1.0.0', 'One.'), ...at('2.0.0', 'Two.') });
      await using gateway = await liveGateway(dav);
      const { url } = gateway.server;
      const install = async (version?: string) =>
        JSON.parse((await callTool(url, 'install_skill', { skill: 'odin', version })).body.result.content[0].text);
      await dav.write(at('1.0.0', 'One, edited.'), 0);
      assert.equal((await install('1.0.0')).files['SKILL.md'], skillText('odin', 'One, edited.'));
      assert.equal((await install()).files['SKILL.md'], skillText('odin', 'Two.'));
      pastFresh();
      await dav.write(at('1.0.0', 'One, edited again.'), 0);
      const archive = Buffer.from(await (await fetch(`${url}/skills/odin/archive/1.0.0`)).arrayBuffer());
      assert.ok(archive.includes('One, edited again.'));
    });

    test('the manifest and skills/get are priced against the server, and lists tell what was seen last', async () => {
      const [before, edited] = [skillText('loki'), skillText('loki', 'Edited in Nextcloud.')];
      await dav.write({ 'skills/loki/SKILL.md': before, 'skills/loki/a.md': 'a' });
      await using gateway = await liveGateway(dav);
      await dav.write({ 'skills/loki/SKILL.md': edited, 'skills/loki/a.md': 'aa' }, 0);
      const listed = async () =>
        (await call(gateway.server.url, 'skills/list')).body.result.skills[0].resources.map(
          ({ digest, size }: { digest: string; size: number }) => `${digest} ${size}`,
        );
      const [was, is] = [
        [`${sha256(before)} ${before.length}`, `${sha256('a')} 1`],
        [`${sha256(edited)} ${edited.length}`, `${sha256('aa')} 2`],
      ];
      assert.deepEqual(await listed(), was, 'nobody has asked upstream yet');
      const got = await call(gateway.server.url, 'skills/get', { uri: `${loki}/SKILL.md` });
      assert.deepEqual(
        got.body.result.skill.resources.map(
          ({ digest, size }: { digest: string; size: number }) => `${digest} ${size}`,
        ),
        is,
      );
      assert.deepEqual(await listed(), is);
      const manifest = JSON.parse((await gateway.read(`${loki}/_manifest`))!);
      assert.deepEqual(
        manifest.files.map(({ hash, size }: { hash: string; size: number }) => `${hash} ${size}`),
        is,
      );
      assert.equal(await gateway.read(`${loki}/a.md`), 'aa');
    });

    test('what a SKILL.md says of its skill is told as it was seen last: skills/get, skills/list, indexes', async () => {
      await dav.write({ 'skills/loki/SKILL.md': skillText('loki', 'Queries logs.'), 'skills/loki/a.md': 'a' });
      await using gateway = await liveGateway(dav);
      const edited =
        '---\nname: loki\ndescription: Queries traces.\nversion: 1.10\nlicense: MIT\ntags: [traces]\n---\n# Edited\n';
      await dav.write({ 'skills/loki/SKILL.md': edited }, 0);
      const uri = `${loki}/SKILL.md`;
      const frontmatter = {
        name: 'loki',
        description: 'Queries traces.',
        version: 1.1,
        license: 'MIT',
        tags: ['traces'],
      };
      const entry = {
        uri,
        frontmatter,
        resources: [
          { uri, digest: sha256(edited), size: edited.length },
          { uri: `${loki}/a.md`, digest: sha256('a'), size: 1 },
        ],
      };
      const { body } = await call(gateway.server.url, 'skills/get', { uri });
      assert.deepEqual(body.result.skill, entry);
      assert.deepEqual((await call(gateway.server.url, 'skills/list')).body.result.skills, [entry]);
      assert.match((await gateway.read('skill://notes'))!, /loki: Queries traces\.$/m);
      const [listed] = JSON.parse((await gateway.read('skill://index.json'))!).skills;
      assert.deepEqual([listed.description, listed.digest], ['Queries traces.', sha256(edited)]);
      const wellKnown = await get(`${gateway.server.url}/.well-known/agent-skills/index.json`);
      assert.equal(wellKnown.body.skills[0].description, 'Queries traces.');
      assert.equal(await gateway.read(uri), edited);
    });

    const conforms = skillText('loki');
    const refused: Record<string, string> = {
      'no frontmatter': '# Loki\n',
      'a frontmatter that is not closed': '---\nname: loki\ndescription: D.\n',
      'no description': '---\nname: loki\n---\n',
      'YAML that only a lenient reader takes': '---\nname: loki\ndescription: Use when: always\n---\n',
      'another name than it is served under': conforms.replace('loki', 'tempo'),
    };
    test('a skill that does not conform any longer is read, and not told of until it conforms again', async () => {
      await dav.write({ 'skills/loki/SKILL.md': conforms });
      await using gateway = await liveGateway(dav);
      const uri = `${loki}/SKILL.md`;
      const got = async () => (await call(gateway.server.url, 'skills/get', { uri })).body;
      const listed = async (): Promise<number> =>
        (await call(gateway.server.url, 'skills/list')).body.result.skills.length;
      for (const [what, text] of Object.entries(refused)) {
        await dav.write({ 'skills/loki/SKILL.md': text }, 20);
        pastFresh();
        assert.equal((await got()).error?.code, -32602, what);
        assert.equal(await listed(), 0, what);
        assert.deepEqual(JSON.parse((await gateway.read('skill://index.json'))!).skills, [], what);
        assert.equal(await gateway.read(loki), text, what);
        await dav.write({ 'skills/loki/SKILL.md': `${conforms}Mended after ${what}.\n` }, 10);
        pastFresh();
        assert.equal((await got()).result.skill.frontmatter.description, 'What loki is for.', what);
        assert.equal(await listed(), 1, what);
      }
    });

    test('within two seconds of an answer nothing is asked; afterwards one PROPFIND, and a GET where it has moved', async () => {
      await dav.write({ 'skills/loki/SKILL.md': skillText('loki') });
      await using gateway = await liveGateway(dav);
      await gateway.read(loki);
      dav.exchanges.length = 0;
      await gateway.read(loki);
      await Promise.all([gateway.read(loki), gateway.read(`${loki}/SKILL.md`)]);
      assert.deepEqual(asked(dav), []);
      pastFresh();
      await Promise.all(Array.from({ length: 10 }, () => gateway.read(loki)));
      assert.deepEqual(asked(dav), ['PROPFIND /dav/skills/loki/SKILL.md'], 'ten readers share one look');
      pastFresh();
      dav.exchanges.length = 0;
      await dav.write({ 'skills/loki/SKILL.md': skillText('loki', 'New.') }, 30);
      await gateway.read(loki);
      assert.deepEqual(asked(dav), ['PROPFIND /dav/skills/loki/SKILL.md', 'GET /dav/skills/loki/SKILL.md']);
      const { sources } = await gateway.health();
      assert.equal(sources.notes.live, true);
      assert.equal(sources.notes.cooling, false);
      assert.deepEqual([sources.notes.revalidated, sources.notes.fetched], [3, 2]);
    });
  });
}

describe('with Apache', () => {
  let dav: WebDavServerFixture;
  before(async () => {
    dav = await startWebDavServer('Apache with Basic');
  });
  afterEach(() => dav.reset());
  after(() => dav.close());

  const one = () => dav.write({ 'skills/loki/SKILL.md': skillText('loki'), 'skills/loki/a.md': 'a' });

  test('an answer counts from when it came, not from when it was asked for', async () => {
    await one();
    await using gateway = await liveGateway(dav);
    await gateway.read(loki);
    pastFresh();
    dav.tamper = () => {
      later(600);
      return undefined;
    };
    await gateway.read(loki);
    dav.tamper = undefined;
    dav.exchanges.length = 0;
    later(1900);
    await gateway.read(loki);
    assert.deepEqual(asked(dav), []);
    later(200);
    await gateway.read(loki);
    assert.deepEqual(asked(dav), ['PROPFIND /dav/skills/loki/SKILL.md']);
  });

  test('the server is asked once how it wants the password, however many files are asked for at first', async () => {
    await one();
    await dav.write(Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`skills/loki/${at}.md`, 'x'])));
    await using gateway = await liveGateway(dav);
    await gateway.read(`${loki}/_manifest`);
    assert.equal(dav.exchanges.filter(({ authorization }) => authorization === undefined).length, 1);
    assert.equal(asked(dav).filter((line) => line.startsWith('PROPFIND')).length, 8);
  });

  test('a new file needs a refresh; a deleted one is served until then; the refresh takes over what was newer', async () => {
    await one();
    await using gateway = await liveGateway(dav);
    await dav.write({ 'skills/loki/b.md': 'b', 'skills/loki/SKILL.md': skillText('loki', 'Edited.') }, 30);
    await dav.remove('skills/loki/a.md');
    assert.equal(await gateway.read(`${loki}/b.md`), undefined);
    assert.equal(await gateway.read(`${loki}/a.md`), 'a');
    assert.equal(await gateway.read(loki), skillText('loki', 'Edited.'));
    assert.equal((await gateway.health()).sources.notes.cooling, false, 'a file that is gone is no failure');
    const { cluster } = gateway.operator;
    const { spec } = cluster.sources.get('default/notes')!;
    cluster.source('notes', { spec, annotations: { 'lyceum.dev/requestedAt': 'now' } });
    await eventually('the new file is served', async () => (await gateway.read(`${loki}/b.md`)) === 'b');
    assert.equal(await gateway.read(`${loki}/a.md`), undefined);
    assert.equal(await gateway.read(loki), skillText('loki', 'Edited.'));
    const held = /lyceum_live_held_bytes (\d+)/.exec(
      await (await fetch(`${gateway.server.metricsUrl}/metrics`)).text(),
    );
    assert.equal(held?.[1], '0', 'nothing lies over a catalogue that has it');
    pastFresh();
    await dav.write({ 'skills/loki/b.md': 'b, edited' }, 0);
    assert.equal(await gateway.read(`${loki}/b.md`), 'b, edited', 'reads follow the new catalogue');
  });

  test('a source that moves is asked at its new place, one that is no longer Live not at all', async () => {
    await one();
    await dav.write({ 'new place/skills/loki/SKILL.md': skillText('loki') });
    await using gateway = await liveGateway(dav, { spec: { include: { skills: ['skills/*'] } } });
    await gateway.read(loki);
    const { cluster } = gateway.operator;
    const spec = { url: dav.sourceUrl('new%20place'), cache: 'Live', secretRef: { name: 'cloud' } };
    cluster.source('notes', { spec });
    const { generation } = await gateway.health();
    await eventually('the new place is served', async () => (await gateway.health()).generation > generation);
    dav.exchanges.length = 0;
    await dav.write({ 'new place/skills/loki/SKILL.md': skillText('loki', 'Edited there.') }, 0);
    pastFresh();
    await eventually(
      'it is asked there',
      async () => (await gateway.read(loki)) === skillText('loki', 'Edited there.'),
    );
    assert(asked(dav).every((one) => one.includes('/dav/new%20place/')));
    cluster.source('notes', { spec: { ...spec, cache: 'Snapshot' } });
    await eventually('it is no longer Live', async () => (await gateway.health()).sources.notes.live === undefined);
    await eventually('the look is over', () => cluster.condition('sources', 'notes', 'Ready') === 'True/Succeeded');
    pastFresh();
    dav.exchanges.length = 0;
    await gateway.read(loki);
    assert.deepEqual(asked(dav), []);
  });

  test('a source that is no longer Live is served from the volume, as every replica has it', async () => {
    await one();
    await using gateway = await liveGateway(dav);
    await dav.write({ 'skills/loki/SKILL.md': skillText('loki', 'Edited.') }, 0);
    assert.equal(await gateway.read(loki), skillText('loki', 'Edited.'));
    await dav.stop();
    try {
      const spec = { url: dav.sourceUrl(), cache: 'Snapshot', secretRef: { name: 'cloud' } };
      gateway.operator.cluster.source('notes', { spec });
      await eventually('it is no longer Live', async () => (await gateway.health()).sources.notes.live === undefined);
      await eventually('the volume is served', async () => (await gateway.read(loki)) === skillText('loki'));
    } finally {
      await dav.listen();
    }
  });

  test('an edit that is taken back upstream is what the catalogue has again', async () => {
    await one();
    await using gateway = await liveGateway(dav);
    await dav.write({ 'skills/loki/a.md': 'edited' }, 20);
    assert.equal(await gateway.read(`${loki}/a.md`), 'edited');
    pastFresh();
    await dav.write({ 'skills/loki/a.md': 'a' }, 10);
    assert.equal(await gateway.read(`${loki}/a.md`), 'a');
  });

  test('a refresh of another source does not bring older bytes back', async () => {
    await one();
    await using gateway = await liveGateway(dav, {
      others: { copy: { url: dav.sourceUrl(), library: 'copy', secretRef: { name: 'cloud' } } },
    });
    const edited = skillText('loki', 'Edited.');
    await dav.write({ 'skills/loki/SKILL.md': edited }, 30);
    assert.equal(await gateway.read(loki), edited);
    const { generation } = await gateway.health();
    const { cluster } = gateway.operator;
    const { spec } = cluster.sources.get('default/copy')!;
    cluster.source('copy', { spec, annotations: { 'lyceum.dev/requestedAt': 'now' } });
    await eventually('the other source is newer', async () => (await gateway.health()).generation > generation);
    await dav.stop();
    try {
      assert.equal(await gateway.read(loki), edited, 'also while nobody can be asked');
    } finally {
      await dav.listen();
    }
  });

  test('a snapshot source never asks, and health has no live fields for it', async () => {
    await one();
    const others = { copy: { url: dav.sourceUrl(), cache: 'Snapshot', library: 'copy', secretRef: { name: 'cloud' } } };
    await using gateway = await liveGateway(dav, { others });
    await dav.write({ 'skills/loki/SKILL.md': skillText('loki', 'Edited.') }, 0);
    assert.equal(await gateway.read('skill://copy/loki'), skillText('loki'));
    assert.deepEqual(dav.exchanges, []);
    const { sources } = await gateway.health();
    assert.deepEqual(
      Object.keys(sources.copy).filter((key) => /live|cool|fetch|reval/.test(key)),
      [],
    );
    assert.equal(sources.notes.live, true);
    assert.doesNotMatch(
      JSON.stringify(sources),
      /127\.0\.0\.1|dav|canary|SKILL/,
      'no backend, credential or file name',
    );
  });

  test('a stopped server: served from the volume, one line in the log, a pause, and it recovers by itself', async () => {
    await one();
    await using gateway = await liveGateway(dav);
    await dav.stop();
    try {
      assert.equal(await gateway.read(loki), skillText('loki'));
      assert.equal(await gateway.read(`${loki}/a.md`), 'a');
      assert.equal((await gateway.health()).sources.notes.cooling, true);
      pastPause();
      assert.equal((await gateway.health()).sources.notes.cooling, false);
      assert.equal(await gateway.read(loki), skillText('loki'));
      assert.equal((await gateway.health()).sources.notes.cooling, true, 'it was asked again, in vain');
      const lines = gateway.log().filter(({ level }) => Number(level) >= 40);
      assert.equal(lines.length, 1);
      const { source, file, reason } = lines[0]!;
      assert.deepEqual(
        { source, file, reason },
        { source: 'notes', file: 'skills/loki/SKILL.md', reason: 'Unreachable' },
      );
      assert.doesNotMatch(JSON.stringify(gateway.log()), /canary|jörg/);
    } finally {
      await dav.listen();
    }
    await dav.write({ 'skills/loki/SKILL.md': skillText('loki', 'Edited meanwhile.') }, 0);
    assert.equal(await gateway.read(loki), skillText('loki'), 'the pause is not over');
    pastPause();
    assert.equal(await gateway.read(loki), skillText('loki', 'Edited meanwhile.'));
    assert.equal((await gateway.health()).sources.notes.cooling, false);
  });

  const failing: Record<string, (dav: WebDavServerFixture) => void> = {
    'a sign-in page with 200': (server) => {
      server.behaviour = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html>canary</html>');
        return true;
      };
    },
    'a file that does not arrive whole': (server) => {
      server.tamper = (request, answer) => (request.method === 'GET' ? answer.subarray(1) : undefined);
    },
    'a 500': (server) => {
      server.behaviour = (_request, response) => {
        response.writeHead(500).end('canary');
        return true;
      };
    },
  };
  for (const [what, turn] of Object.entries(failing)) {
    test(`${what} is never content`, async () => {
      await one();
      await using gateway = await liveGateway(dav);
      await dav.write({ 'skills/loki/SKILL.md': skillText('loki', 'Edited.') }, 30);
      turn(dav);
      assert.equal(await gateway.read(loki), skillText('loki'));
      assert.equal((await gateway.health()).sources.notes.cooling, true);
      assert.doesNotMatch(JSON.stringify(gateway.log()), /canary/);
    });
  }

  test('a wrong Secret on the server is one failure; a mended one is used at once', async () => {
    await one();
    const mounted = await mountedSecret('canary-wrong');
    await using gateway = await liveGateway(dav, { secretOf: mounted.secretOf });
    await dav.write({ 'skills/loki/SKILL.md': skillText('loki', 'Edited.') }, 0);
    assert.equal(await gateway.read(loki), skillText('loki'));
    assert.equal(gateway.log().find(({ level }) => level === 40)?.reason, 'AuthenticationFailed');
    dav.exchanges.length = 0;
    assert.equal(await gateway.read(loki), skillText('loki'));
    assert.deepEqual(dav.exchanges, [], 'the same Secret is not tried again before the pause is over');
    await mounted.set(secret.password!);
    assert.equal(await gateway.read(loki), skillText('loki', 'Edited.'));
    assert.equal((await gateway.health()).sources.notes.cooling, false);
    assert.equal(gateway.log().filter(({ level }) => Number(level) >= 40).length, 1);
  });

  test('a file over the limit, and a main file that is empty or no text, are not taken over', async () => {
    await one();
    await using gateway = await liveGateway(dav, { spec: { limits: { fileSize: '1000' } } });
    await dav.write({ 'skills/loki/a.md': 'x'.repeat(1001), 'skills/loki/SKILL.md': '' }, 30);
    assert.equal(await gateway.read(`${loki}/a.md`), 'a');
    assert.equal(await gateway.read(loki), skillText('loki'));
    pastFresh();
    await dav.write({ 'skills/loki/SKILL.md': Buffer.from([0xff, 0xfe, 0]) }, 20);
    dav.exchanges.length = 0;
    assert.equal(await gateway.read(loki), skillText('loki'));
    assert.equal((await gateway.health()).sources.notes.cooling, false);
    await gateway.read(loki);
    assert.deepEqual(asked(dav).length, 2, 'what is not taken over is not transferred again and again');
  });

  test('a skill that did not conform when it was harvested is told of once it is mended upstream', async () => {
    await dav.write({ 'skills/loki/SKILL.md': '# Loki\n' });
    await using gateway = await liveGateway(dav);
    const uri = `${loki}/SKILL.md`;
    assert.equal((await call(gateway.server.url, 'skills/get', { uri })).body.error.code, -32602);
    await dav.write({ 'skills/loki/SKILL.md': skillText('loki') }, 0);
    pastFresh();
    const { body } = await call(gateway.server.url, 'skills/get', { uri });
    assert.equal(body.result.skill.frontmatter.name, 'loki');
  });

  test('a text that becomes binary is served as what it is', async () => {
    await one();
    await using gateway = await liveGateway(dav);
    const bytes = Buffer.from([0x89, 0x50, 0xff]);
    await dav.write({ 'skills/loki/a.md': bytes }, 30);
    const { body } = await call(gateway.server.url, 'resources/read', { uri: `${loki}/a.md` });
    assert.equal(body.result.contents[0].blob, bytes.toString('base64'));
  });

  test('whoever has a Live source in scope is told to keep nothing; others may', async () => {
    await one();
    const others = { copy: { url: dav.sourceUrl(), library: 'copy', secretRef: { name: 'cloud' } } };
    await using gateway = await liveGateway(dav, { others });
    const ttl = async (query: string) =>
      (await call(gateway.server.url, 'resources/list', {}, { query })).body.result.ttlMs;
    assert.equal(await ttl(''), 0);
    assert.equal(await ttl('?library=notes'), 0);
    assert.equal(await ttl('?library=copy'), 60_000);
  });

  test('only the subdirectory is looked at, under the right path', async () => {
    await dav.write({ 'packs/x y/skills/loki/SKILL.md': skillText('loki') });
    await using gateway = await liveGateway(dav, { spec: { subdirectory: 'packs/x y' } });
    await dav.write({ 'packs/x y/skills/loki/SKILL.md': skillText('loki', 'Edited.') }, 0);
    assert.equal(await gateway.read(loki), skillText('loki', 'Edited.'));
    assert.equal(asked(dav)[0], 'PROPFIND /dav/packs/x%20y/skills/loki/SKILL.md');
  });

  test('a Skill.md is asked for as it is spelled upstream', async () => {
    await dav.write({ 'skills/loki/Skill.md': skillText('loki') });
    await using gateway = await liveGateway(dav);
    await dav.write({ 'skills/loki/Skill.md': skillText('loki', 'Edited.') }, 0);
    assert.equal(await gateway.read(loki), skillText('loki', 'Edited.'));
    assert.equal(await gateway.read(`${loki}/SKILL.md`), skillText('loki', 'Edited.'));
  });

  test('rules and profiles are re-read, in folders of their own and beside others', async () => {
    const paths = {
      'rules/style/RULE.md': 'r',
      'agents/critic.md': 'p',
      'profiles/judge/judge.md': 'j',
      'AGENTS.md': 'a',
    };
    const texts = (more: string) =>
      Object.fromEntries(
        Object.entries(paths).map(([path, text]) => [path, `---\nname: ${text}\ndescription: D.\n---\n${more}\n`]),
      );
    await dav.write(texts('old'));
    await using gateway = await liveGateway(dav);
    await dav.write(texts('edited'), 0);
    for (const address of ['_rules/style', '_profiles/critic', '_profiles/judge', '_rules/agents']) {
      assert.match((await gateway.read(`skill://notes/${address}`)) ?? '', /edited\n$/, address);
    }
  });
});

/** A Secret as a pod has it mounted, that is changed as Kubernetes does, below the server's feet. */
async function mountedSecret(password: string) {
  const folder = await mkdtemp(join(tmpdir(), 'lyceum-mounted-'));
  after(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'notes'));
  await writeFile(join(folder, 'notes', 'username'), secret.username!);
  const set = (to: string): Promise<void> => writeFile(join(folder, 'notes', 'password'), to);
  await set(password);
  return { secretOf: mountedSecrets(folder), set };
}

for (const kind of ['Apache with Basic', 'Apache with Digest'] as const) {
  test(`${kind}: a password that is rotated, on the server and in the mounted Secret, costs no read an older file`, async () => {
    const dav = await startWebDavServer(kind);
    try {
      const names = ['SKILL.md', 'a.md', 'b.md', 'c.md'];
      const write = (text: string, age?: number) =>
        dav.write(Object.fromEntries(names.map((name) => [`skills/loki/${name}`, skillText('loki', text)])), age);
      await write('Old.');
      const mounted = await mountedSecret(secret.password!);
      await using gateway = await liveGateway(dav, { secretOf: mounted.secretOf });
      assert.equal(await gateway.read(loki), skillText('loki', 'Old.'));
      await dav.setPassword('canary-rotated');
      await mounted.set('canary-rotated');
      await write('Edited.', 0);
      pastFresh();
      const { files } = JSON.parse((await gateway.read(`${loki}/_manifest`))!);
      const edited = sha256(skillText('loki', 'Edited.'));
      assert.deepEqual(
        files.map(({ hash }: { hash: string }) => hash),
        names.map(() => edited),
      );
      assert.equal((await gateway.health()).sources.notes.cooling, false);
      assert.deepEqual(
        gateway.log().filter(({ level }) => Number(level) >= 40),
        [],
      );
      assert.doesNotMatch(JSON.stringify(gateway.log()), /canary/);
    } finally {
      await dav.close();
    }
  });
}

test('a server that takes each nonce once: all files of a skill are asked for side by side, and edits are served', async () => {
  const dav = await startWebDavServer('Apache with Digest', { oneTimeNonces: true });
  try {
    const names = Array.from({ length: 12 }, (_, at) => `skills/loki/${at}.md`);
    await dav.write({
      'skills/loki/SKILL.md': skillText('loki'),
      ...Object.fromEntries(names.map((name) => [name, 'old'])),
    });
    await using gateway = await liveGateway(dav);
    for (const text of ['edited', 'edited again']) {
      await dav.write(Object.fromEntries(names.map((name) => [name, text])), 0);
      pastFresh();
      const { files } = JSON.parse((await gateway.read(`${loki}/_manifest`))!);
      assert.deepEqual(new Set(files.slice(0, -1).map(({ hash }: { hash: string }) => hash)), new Set([sha256(text)]));
    }
    assert.equal((await gateway.health()).sources.notes.cooling, false);
  } finally {
    await dav.close();
  }
});

test('three black holes: a first read under a second, later ones at once, one line each, others never wait', async () => {
  const dav = await startWebDavServer('Apache with Basic');
  const sockets = new Set<Socket>();
  try {
    await dav.write({
      'skills/loki/SKILL.md': skillText('loki'),
      'skills/loki/a.md': 'a',
      'skills/tempo/SKILL.md': skillText('tempo'),
    });
    const holes = ['hole-a', 'hole-b', 'hole-c'];
    const spec = { url: dav.sourceUrl(), cache: 'Live', secretRef: { name: 'cloud' } };
    await using gateway = await liveGateway(dav, { others: Object.fromEntries(holes.map((name) => [name, spec])) });
    // The servers go silent: connections are taken, and nothing is ever said.
    await dav.stop();
    const silent = createServer((socket) => sockets.add(socket.on('error', () => {})));
    silent.listen(dav.port, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    try {
      const listFor = async (until: Promise<unknown>): Promise<number[]> => {
        const took: number[] = [];
        let done = false;
        void until.finally(() => {
          done = true;
        });
        while (!done) {
          const began = clock();
          await listUris(gateway.server.url);
          took.push(clock() - began);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        return took.sort((a, b) => a - b);
      };
      const control = await listFor(new Promise((resolve) => setTimeout(resolve, 900)));
      const reading = Promise.all(holes.map((name) => gateway.timed(`skill://${name}/loki`)));
      const beside = await listFor(reading);
      const at = (took: number[], part: number): number => took[Math.floor(took.length * part)]!;
      for (const [took, text] of await reading) {
        assert.equal(text, skillText('loki'));
        assert(
          took < 1000 + at(control, 0.99),
          `the first read took ${took} ms, others ${at(control, 0.99)} ms before`,
        );
      }
      // Of the slowest one in a hundred a busy machine says more than a black hole, which would cost 750 ms.
      assert(beside.at(-1)! < 500 + control.at(-1)!, `a request beside them took ${beside.at(-1)} ms`);
      assert(
        at(beside, 0.95) < at(control, 0.95) + 50,
        `${at(beside, 0.95)} ms beside, ${at(control, 0.95)} ms without`,
      );
      for (const name of holes) {
        for (const path of ['loki', 'loki/a.md', 'tempo', 'loki/_manifest']) {
          const reads = [];
          for (let again = 0; again < 3; again++) reads.push((await gateway.timed(`skill://${name}/${path}`))[0]);
          const [fastest] = reads.sort((a, b) => a - b);
          assert(fastest! < 50, `${name}/${path} took ${reads} ms`);
        }
        assert.equal((await gateway.health()).sources[name].cooling, true);
      }
      const lines = gateway.log().filter(({ level }) => Number(level) >= 40);
      assert.deepEqual(lines.map(({ source }) => source).sort(), holes);
    } finally {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => silent.close(resolve));
    }
  } finally {
    await dav.close();
  }
});
