// Publishers' discovery indexes as sources: every shape that is in use, what is fetched when, and what is hostile.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { create } from 'tar';
import { zip } from '../../server/archive/zip.ts';
import { heldUp } from '../fixtures/held-up.ts';
import { fault } from '../fixtures/http.ts';
import { skillText } from '../fixtures/operator.ts';
import { folder, Looker, Publisher, sha256 } from '../fixtures/publisher.ts';
import { type TestTarEntry, tarOf } from '../fixtures/tar.ts';

const one = skillText('one');
const two = skillText('two');

async function zipped(files: Record<string, string | Buffer>): Promise<Buffer> {
  const entries = Object.entries(files).map(([path, content]) => ({ path, bytes: Buffer.from(content as string) }));
  const pieces: Buffer[] = [];
  for await (const piece of zip(
    entries.map(({ path, bytes }) => ({ path, size: bytes.length, bytes })),
    async ({ bytes }) => bytes,
  )) {
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** As `tar czf x.tgz .` makes it, `./` in front of every name. */
async function tarred(files: Record<string, string | Buffer | { link: string }>): Promise<Buffer> {
  const root = await mkdtemp(join(tmpdir(), 'lyceum-tar-'));
  try {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      if (typeof content === 'object' && 'link' in content) await symlink(content.link, join(root, path));
      else await writeFile(join(root, path), content);
    }
    const file = join(root, '..', `${root.slice(root.lastIndexOf('/') + 1)}.tgz`);
    await create({ gzip: true, cwd: root, file }, ['.']);
    const bytes = await readFile(file);
    await rm(file);
    return bytes;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** A packed tar of one file whose name and size are what the header says. */
const rawTar = (name: string, content: Buffer, size?: number): Buffer => packedTarOf([{ name, content, size }]);

const packedTarOf = (entries: readonly TestTarEntry[]): Buffer => gzipSync(tarOf(entries));

const text = (files: Map<string, Buffer>): Record<string, string> =>
  Object.fromEntries([...files].map(([path, bytes]) => [path, bytes.toString()]));

const told = (problems: { reason: string; path: string }[]): string[] =>
  problems.map(({ reason, path }) => `${reason} ${path}`).sort();

describe('an index of discovery 0.2.0', () => {
  test('gives single files, zip archives and tar archives, each held against its digest', async (t) => {
    const publisher = await Publisher.start(t);
    const inZip = await zipped({ 'SKILL.md': two, 'references/größe 1.md': 'ok', 'logo.bin': Buffer.from([0, 255]) });
    const inTar = await tarred({ 'SKILL.md': skillText('three'), 'deep/er/file.txt': 'deep', 'empty.txt': '' });
    publisher.answers.set(`${folder}/one/SKILL.md`, one);
    publisher.answers.set(`${folder}/two.zip`, inZip);
    publisher.answers.set('/elsewhere/three', inTar);
    publisher.index([
      { name: 'one', type: 'skill-md', description: 'One.', url: 'one/SKILL.md', digest: sha256(one), more: [{}] },
      { name: 'two', type: 'archive', description: 'Two.', url: `${folder}/two.zip`, digest: sha256(inZip) },
      {
        name: 'three',
        type: 'archive',
        description: 'Three.',
        url: `${publisher.origin}/elsewhere/three`,
        digest: sha256(inTar),
      },
    ]);
    const { files, problems } = await new Looker(publisher.url).look();
    assert.deepEqual(problems, []);
    assert.deepEqual(text(files), {
      'skills/one/SKILL.md': one,
      'skills/two/SKILL.md': two,
      'skills/two/references/größe 1.md': 'ok',
      'skills/two/logo.bin': Buffer.from([0, 255]).toString(),
      'skills/three/SKILL.md': skillText('three'),
      'skills/three/deep/er/file.txt': 'deep',
      'skills/three/empty.txt': '',
    });
    assert.deepEqual(files.get('skills/two/logo.bin'), Buffer.from([0, 255]));
  });

  test('costs one request while nothing moves, and only what moved when something does', async (t) => {
    const publisher = await Publisher.start(t);
    const archive = await zipped({ 'SKILL.md': two, 'a.md': 'a' });
    publisher.answers.set(`${folder}/one/SKILL.md`, one);
    publisher.answers.set(`${folder}/two.zip`, archive);
    const entries = (digest: string) => [
      { name: 'one', type: 'skill-md', description: '1', url: 'one/SKILL.md', digest: sha256(one) },
      { name: 'two', type: 'archive', description: '2', url: 'two.zip', digest },
    ];
    publisher.index(entries(sha256(archive)));
    const looker = new Looker(publisher.url);
    const first = await looker.look();
    assert.deepEqual(publisher.takeAsked(), [
      `GET ${folder}/index.json`,
      `GET ${folder}/one/SKILL.md`,
      `GET ${folder}/two.zip`,
    ]);
    const { saves } = looker;
    assert.equal(await looker.probe(), first.revision);
    assert.deepEqual(publisher.takeAsked(), [`GET ${folder}/index.json → 304`]);

    // Somebody asks for a look: nothing of what is known is fetched, since ids say what it is.
    const again = await looker.look(() => false);
    assert.deepEqual(again.entries, first.entries);
    assert.ok(again.entries.every(({ id }) => id !== undefined));
    assert.deepEqual(publisher.takeAsked(), [`GET ${folder}/index.json`]);
    assert.equal(looker.saves, saves, 'nothing is written');

    const next = await zipped({ 'SKILL.md': two, 'a.md': 'b' });
    publisher.answers.set(`${folder}/two.zip`, next);
    publisher.index(entries(sha256(next)));
    assert.notEqual(await looker.probe(), first.revision);
    publisher.takeAsked();
    const moved = await looker.look();
    assert.equal(moved.files.get('skills/two/a.md')!.toString(), 'b');
    assert.deepEqual(publisher.takeAsked(), [
      `GET ${folder}/index.json`,
      // Read again here, since everything was wanted; a harvest that knows its id does not.
      `GET ${folder}/one/SKILL.md`,
      `GET ${folder}/two.zip`,
    ]);
    assert.notEqual(moved.revision, first.revision);
  });

  test('that has no ETag is compared by its body', async (t) => {
    const publisher = await Publisher.start(t);
    publisher.tags = false;
    publisher.answers.set(`${folder}/one/SKILL.md`, one);
    publisher.index([{ name: 'one', type: 'skill-md', description: '1', url: 'one/SKILL.md', digest: sha256(one) }]);
    const looker = new Looker(publisher.url);
    const { revision } = await looker.look();
    publisher.takeAsked();
    assert.equal(await looker.probe(), revision);
    assert.deepEqual(publisher.takeAsked(), [`GET ${folder}/index.json`]);
  });

  test('without memory is the same revision', async (t) => {
    const publisher = await Publisher.start(t);
    publisher.answers.set(`${folder}/one/SKILL.md`, one);
    publisher.index([{ name: 'one', type: 'skill-md', description: '1', url: 'one/SKILL.md', digest: sha256(one) }]);
    const looker = new Looker(publisher.url);
    const { revision } = await looker.look();
    for (const memory of [undefined, Buffer.alloc(0), Buffer.from('x\ny\n'), looker.memory!.subarray(1)]) {
      looker.memory = memory;
      assert.equal(await looker.probe(), revision);
    }
    looker.memory = undefined;
    assert.equal((await looker.look()).revision, revision);
  });

  test('that is empty is an empty source; one that is no index fails it', async (t) => {
    const publisher = await Publisher.start(t);
    publisher.index([]);
    assert.deepEqual((await new Looker(publisher.url).look()).entries, []);
    const deep = `{"skills":[${'['.repeat(100_000)}`;
    for (const body of [
      '<html><body>canary: please log in</body></html>',
      '',
      '{"skills":[',
      '{"skills":{}}',
      '{"skills":"canary"}',
      '[]',
      '{}',
      'null',
      '{"skills":[]} canary',
      `{"$schema":"https://schemas.agentskills.io/discovery/9.0.0/schema.json","skills":[]}`,
      deep,
    ]) {
      publisher.answers.set(`${folder}/index.json`, body);
      await assert.rejects(
        new Looker(publisher.url).look(),
        fault('UpstreamInvalid', /127\.0\.0\.1/),
        body.slice(0, 60),
      );
    }
    publisher.answers.set(`${folder}/index.json`, { status: 304 });
    await assert.rejects(new Looker(publisher.url).look(), fault('UpstreamInvalid'));
    publisher.answers.set(`${folder}/index.json`, ' '.repeat(17 * 2 ** 20));
    await assert.rejects(new Looker(publisher.url).look(), fault('LimitExceeded'));
    for (const [status, reason] of [
      [401, 'AuthenticationFailed'],
      [403, 'AccessDenied'],
      [404, 'NotFound'],
      [500, 'UpstreamInvalid'],
      [429, 'RateLimited'],
    ] as const) {
      publisher.answers.set(`${folder}/index.json`, { status, body: 'canary' });
      await assert.rejects(new Looker(publisher.url).look(), fault(reason), String(status));
    }
  });

  test('with bad entries says so of each, and the good ones are served', async (t) => {
    const publisher = await Publisher.start(t);
    const other = await Publisher.start(t);
    other.answers.set('/canary', one);
    publisher.answers.set(`${folder}/one/SKILL.md`, one);
    const good = { name: 'one', type: 'skill-md', description: '1', url: 'one/SKILL.md', digest: sha256(one) };
    publisher.index([
      good,
      { ...good, url: 'canary' },
      { ...good, name: 'abroad', url: `${other.origin}/canary` },
      { ...good, name: 'abroad-too', url: '//canary.example/one' },
      { ...good, name: 'file', url: 'file:///etc/passwd' },
      { ...good, name: 'login', url: `http://ann:canary@${publisher.origin.slice(7)}/x` },
      { ...good, name: 'odd', type: 'mcp-resource-template' },
      { ...good, name: 'short', digest: 'sha256:canary' },
      { ...good, name: 'md5', digest: 7 },
      { ...good, name: 'number', url: 7 },
      { ...good, name: 'long', url: `x/${'y'.repeat(5000)}` },
      { ...good, name: '../canary' },
      { ...good, name: 'Canary' },
      { ...good, name: 'a--b' },
      { ...good, name: undefined },
      { name: 'nothing' },
      null,
      'canary',
      ['canary'],
    ]);
    const { files, problems } = await new Looker(publisher.url).look();
    assert.deepEqual([...files.keys()], ['skills/one/SKILL.md']);
    assert.deepEqual(told(problems), [
      ...Array.from({ length: 7 }, () => 'BadEntry index.json'),
      ...['abroad', 'abroad-too', 'file', 'login', 'long', 'md5', 'nothing', 'number', 'odd', 'one', 'short'].map(
        (name) => `BadEntry skills/${name}`,
      ),
    ]);
    assert.doesNotMatch(JSON.stringify(problems), /canary/i);
    assert.deepEqual(other.asked, []);
  });

  test('with thousands of bad entries says so of some, and how many more there are', async (t) => {
    const publisher = await Publisher.start(t);
    publisher.index(Array.from({ length: 5000 }, () => ({})));
    const { problems } = await new Looker(publisher.url).look();
    assert.equal(problems.length, 201);
    assert.match(problems.at(-1)!.message, /4800 more/);
  });

  test('whose files are not what it says, or not there, names them; they are tried again with every look', async (t) => {
    const publisher = await Publisher.start(t);
    const entry = (name: string, type: string, url: string, digest: string) => ({
      name,
      type,
      description: 'x',
      url,
      digest,
    });
    const noMain = await zipped({ 'README.md': 'no skill' });
    publisher.answers.set(`${folder}/one/SKILL.md`, one);
    publisher.answers.set(`${folder}/false/SKILL.md`, 'canary');
    publisher.answers.set(`${folder}/closed/SKILL.md`, { status: 403 });
    publisher.answers.set(`${folder}/page.zip`, { headers: { 'content-type': 'text/html' }, body: '<html>canary' });
    publisher.answers.set(`${folder}/bare.zip`, noMain);
    publisher.answers.set(`${folder}/text.zip`, 'canary');
    publisher.index([
      entry('one', 'skill-md', 'one/SKILL.md', sha256(one)),
      entry('false', 'skill-md', 'false/SKILL.md', sha256(two)),
      entry('gone', 'skill-md', 'gone/SKILL.md', sha256(two)),
      entry('closed', 'skill-md', 'closed/SKILL.md', sha256(two)),
      entry('page', 'archive', 'page.zip', sha256(two)),
      entry('bare', 'archive', 'bare.zip', sha256(noMain)),
      entry('text', 'archive', 'text.zip', sha256('canary')),
    ]);
    const looker = new Looker(publisher.url);
    const { files, problems, revision } = await looker.look();
    assert.deepEqual([...files.keys()], ['skills/one/SKILL.md']);
    assert.deepEqual(told(problems), [
      'NotFetched skills/bare',
      'NotFetched skills/closed/SKILL.md',
      'NotFetched skills/false/SKILL.md',
      'NotFetched skills/gone/SKILL.md',
      'NotFetched skills/page',
      'NotFetched skills/text',
    ]);
    assert.doesNotMatch(JSON.stringify(problems), /canary/i);
    assert.notEqual(await looker.probe(), revision);
    assert.equal((await looker.look()).revision, revision, 'while nothing changes nothing is new');

    publisher.answers.set(`${folder}/gone/SKILL.md`, two);
    assert.notEqual(await looker.probe(), revision);
    const mended = await looker.look();
    assert.equal(mended.files.get('skills/gone/SKILL.md')!.toString(), two);
    assert.equal(mended.problems.length, 5);
  });

  test('with a zip whose listing is whole and whose bytes are damaged names it, and the rest is served', async (t) => {
    const publisher = await Publisher.start(t);
    const damaged = await zipped({ 'SKILL.md': two });
    // The first header and the last one say of the bytes, which are as they were, that they are packed (APPNOTE.TXT 4.4.5).
    for (const [header, method] of [
      ['PK\x03\x04', 8],
      ['PK\x01\x02', 10],
    ] as const)
      damaged[damaged.indexOf(header, 'latin1') + method] = 8;
    publisher.answers.set(`${folder}/one/SKILL.md`, one);
    publisher.answers.set(`${folder}/two.zip`, damaged);
    publisher.index([
      { name: 'one', type: 'skill-md', description: '1', url: 'one/SKILL.md', digest: sha256(one) },
      { name: 'two', type: 'archive', description: '2', url: 'two.zip', digest: sha256(damaged) },
    ]);
    const { files, problems } = await new Looker(publisher.url).look();
    assert.deepEqual([...files.keys()], ['skills/one/SKILL.md']);
    assert.deepEqual(told(problems), ['NotFetched skills/two']);
  });

  test('that moves while it is read is read again, so that nothing is lost in between', async (t) => {
    const publisher = await Publisher.start(t);
    const entry = (content: string) => [
      { name: 'one', type: 'skill-md', description: '1', url: 'one/SKILL.md', digest: sha256(content) },
    ];
    const later = skillText('one', 'Later.');
    publisher.index(entry(one));
    publisher.answers.set(`${folder}/one/SKILL.md`, (_request, response) => {
      publisher.index(entry(later));
      publisher.answers.set(`${folder}/one/SKILL.md`, later);
      response.end(later);
    });
    const { files, problems } = await new Looker(publisher.url).look();
    assert.deepEqual(problems, []);
    assert.equal(files.get('skills/one/SKILL.md')!.toString(), later);
  });

  test('faults that pass fail the source, so that its last good stays', async (t) => {
    const publisher = await Publisher.start(t);
    publisher.index([{ name: 'one', type: 'skill-md', description: '1', url: 'one/SKILL.md', digest: sha256(one) }]);
    for (const [answer, reason] of [
      [{ status: 500 }, 'UpstreamInvalid'],
      [{ status: 503, headers: { 'retry-after': '7' } }, 'RateLimited'],
      [{ status: 401 }, 'AuthenticationFailed'],
      [(_request: unknown, response: { destroy(): void }) => response.destroy(), 'Unreachable'],
    ] as const) {
      publisher.answers.set(`${folder}/one/SKILL.md`, answer as never);
      await assert.rejects(new Looker(publisher.url).look(), fault(reason), reason);
    }
  });

  test('shows its token to its own server alone', async (t) => {
    const publisher = await Publisher.start(t);
    const other = await Publisher.start(t);
    other.answers.set('/moved', one);
    publisher.answers.set(`${folder}/one/SKILL.md`, { status: 302, headers: { location: `${other.origin}/moved` } });
    publisher.index([{ name: 'one', type: 'skill-md', description: '1', url: 'one/SKILL.md', digest: sha256(one) }]);
    const looker = new Looker(publisher.url);
    looker.secret = new Map([['bearerToken', Buffer.from('hunter2\n')]]);
    const { files } = await looker.look();
    assert.equal(files.size, 1);
    assert.deepEqual(
      publisher.headers.map(({ authorization }) => authorization),
      ['Bearer hunter2', 'Bearer hunter2'],
    );
    assert.equal(other.headers[0]!.authorization, undefined);
    looker.secret = new Map([['bearerToken', Buffer.from('two words')]]);
    await assert.rejects(looker.look(), /bearerToken \(in one line/);
    looker.secret = new Map([['password', Buffer.from('x')]]);
    await assert.rejects(looker.look(), /lacks bearerToken/);
  });

  test('goes by the address that spec.url names, also where that redirects', async (t) => {
    const publisher = await Publisher.start(t);
    const front = await Publisher.start(t);
    front.answers.set(`${folder}/index.json`, { status: 301, headers: { location: publisher.url } });
    publisher.answers.set(`${folder}/one/SKILL.md`, one);
    publisher.index([
      {
        name: 'one',
        type: 'skill-md',
        description: '1',
        url: `${publisher.origin}${folder}/one/SKILL.md`,
        digest: sha256(one),
      },
    ]);
    assert.equal((await new Looker(front.url).look()).files.size, 1);
  });
});

describe('bounds', () => {
  const archives = async (files: Record<string, string | Buffer>) =>
    [await zipped(files), await tarred(files)] as const;

  test('a file over fileSize is told by name, in an archive or alone, and the rest is served', async (t) => {
    const publisher = await Publisher.start(t);
    const large = Buffer.alloc(5000, 'x');
    const [inZip, inTar] = await archives({ 'SKILL.md': two, 'large.bin': large });
    const big = skillText('big', 'x'.repeat(5000));
    publisher.answers.set(`${folder}/in-zip.zip`, inZip);
    publisher.answers.set(`${folder}/in-tar.tgz`, inTar);
    publisher.answers.set(`${folder}/big/SKILL.md`, big);
    publisher.answers.set(`${folder}/endless/SKILL.md`, (_request, response) => {
      const more = (): void => {
        while (response.write('x'.repeat(1000)));
        response.once('drain', more);
      };
      more();
    });
    publisher.index([
      { name: 'in-zip', type: 'archive', description: 'z', url: 'in-zip.zip', digest: sha256(inZip) },
      { name: 'in-tar', type: 'archive', description: 't', url: 'in-tar.tgz', digest: sha256(inTar) },
      { name: 'big', type: 'skill-md', description: 'b', url: 'big/SKILL.md', digest: sha256(big) },
      { name: 'endless', type: 'skill-md', description: 'e', url: 'endless/SKILL.md' },
    ]);
    const looker = new Looker(publisher.url);
    looker.limits = { files: 100, fileSize: 4000, totalSize: 100_000 };
    const { files, tooLarge, problems } = await looker.look();
    assert.deepEqual([...files.keys()].sort(), ['skills/in-tar/SKILL.md', 'skills/in-zip/SKILL.md']);
    assert.deepEqual([...tooLarge].sort(), [
      ['skills/big/SKILL.md', Buffer.byteLength(big)],
      ['skills/endless/SKILL.md', 4001],
      ['skills/in-tar/large.bin', 5000],
      ['skills/in-zip/large.bin', 5000],
    ]);
    assert.deepEqual(problems, []);
  });

  test('an archive that unpacks to more than totalSize is left out, however small it is packed', async (t) => {
    const publisher = await Publisher.start(t);
    const bomb = rawTar('SKILL.md', Buffer.alloc(20_000_000));
    const liar = rawTar('SKILL.md', Buffer.from(one), 20_000_000);
    const large = await zipped({ 'SKILL.md': two, 'a.bin': Buffer.alloc(200_000) });
    publisher.answers.set(`${folder}/bomb.tgz`, bomb);
    publisher.answers.set(`${folder}/liar.tgz`, liar);
    publisher.answers.set(`${folder}/large.zip`, large);
    publisher.answers.set(`${folder}/one/SKILL.md`, one);
    publisher.index([
      { name: 'bomb', type: 'archive', description: 'b', url: 'bomb.tgz', digest: sha256(bomb) },
      { name: 'liar', type: 'archive', description: 'l', url: 'liar.tgz', digest: sha256(liar) },
      { name: 'large', type: 'archive', description: 'l', url: 'large.zip', digest: sha256(large) },
      { name: 'one', type: 'skill-md', description: '1', url: 'one/SKILL.md', digest: sha256(one) },
    ]);
    const looker = new Looker(publisher.url);
    looker.limits = { files: 100, fileSize: 100_000, totalSize: 150_000 };
    const { files, problems } = await looker.look();
    assert.deepEqual([...files.keys()], ['skills/one/SKILL.md']);
    assert.deepEqual(told(problems), ['NotFetched skills/bomb', 'NotFetched skills/liar', 'TooLarge skills/large']);
  });

  test('of files at one path in a tar the first is taken, and the second never comes into memory', async (t) => {
    const publisher = await Publisher.start(t);
    const begun = packedTarOf([
      { name: 'SKILL.md', content: Buffer.from(one) },
      { name: 'SKILL.md', content: Buffer.alloc(0), size: 150 * 2 ** 20 },
    ]);
    // A gzip of several goes on with the next one: nothing large is made here, so that what is measured is the look.
    const bytes = Buffer.concat([begun, ...new Array<Buffer>(151).fill(gzipSync(Buffer.alloc(2 ** 20)))]);
    publisher.answers.set(`${folder}/twice.tgz`, bytes);
    publisher.index([{ name: 'twice', type: 'archive', description: 't', url: 'twice.tgz', digest: sha256(bytes) }]);
    const looker = new Looker(publisher.url);
    looker.limits = { files: 100, fileSize: 100_000, totalSize: 200_000_000 };
    let most = 0;
    const before = process.memoryUsage().arrayBuffers;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }, 5);
    const { files, problems } = await looker.look().finally(() => clearInterval(watch));
    assert.deepEqual(text(files), { 'skills/twice/SKILL.md': one });
    assert.deepEqual(told(problems), ['SpecialFile skills/twice']);
    assert(most < 75_000_000, `${most} bytes`);
  });

  test('a link in a tar that has the name of a file after it hides nothing of it', async (t) => {
    const publisher = await Publisher.start(t);
    const bytes = packedTarOf([
      { name: 'SKILL.md', content: Buffer.alloc(0), type: '2', target: 'elsewhere' },
      { name: 'SKILL.md', content: Buffer.from(one) },
    ]);
    publisher.answers.set(`${folder}/linked.tgz`, bytes);
    publisher.index([{ name: 'linked', type: 'archive', description: 'l', url: 'linked.tgz', digest: sha256(bytes) }]);
    const { files } = await new Looker(publisher.url).look();
    assert.deepEqual(text(files), { 'skills/linked/SKILL.md': one });
  });

  test('what is too large leaves nothing on the disk', async (t) => {
    const publisher = await Publisher.start(t);
    const pieces = (_request: unknown, response: ServerResponse): void => {
      response.writeHead(200);
      for (let at = 0; at < 20; at++) response.write(Buffer.alloc(10_000));
      response.end();
    };
    const names = ['a', 'b', 'c'];
    for (const name of names) publisher.answers.set(`${folder}/${name}.zip`, pieces);
    publisher.index(
      names.map((name) => ({ name, type: 'archive', description: name, url: `${name}.zip`, digest: sha256(name) })),
    );
    const looker = new Looker(publisher.url);
    looker.limits = { files: 100, fileSize: 50_000, totalSize: 100_000 };
    const { problems, scratch } = await looker.look();
    assert.deepEqual(told(problems), ['TooLarge skills/a', 'TooLarge skills/b', 'TooLarge skills/c']);
    assert.deepEqual(scratch, []);
  });

  test('an archive of more files than anybody takes of a skill is left out', async (t) => {
    const publisher = await Publisher.start(t);
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`f/${at}`, '']));
    const bytes = await zipped({ 'SKILL.md': one, ...many });
    publisher.answers.set(`${folder}/many.zip`, bytes);
    publisher.index([{ name: 'many', type: 'archive', description: 'm', url: 'many.zip', digest: sha256(bytes) }]);
    const looker = new Looker(publisher.url);
    looker.limits = { files: 50_000, fileSize: 10_000, totalSize: 10_000_000 };
    const { entries, problems } = await looker.look();
    assert.deepEqual(entries, []);
    assert.match(problems[0]!.message, /more than 10000 files/);
  });

  test('more files than limits.files, and more bytes than limits.totalSize, fail the source', async (t) => {
    const publisher = await Publisher.start(t);
    const content = 'x'.repeat(600);
    publisher.answers.set(`${folder}/a/SKILL.md`, content);
    publisher.answers.set(`${folder}/b/SKILL.md`, `${content}y`);
    publisher.index([
      { name: 'a', type: 'skill-md', description: 'a', url: 'a/SKILL.md', digest: sha256(content) },
      { name: 'b', type: 'skill-md', description: 'b', url: 'b/SKILL.md', digest: sha256(`${content}y`) },
    ]);
    const looker = new Looker(publisher.url);
    looker.limits = { files: 1, fileSize: 1000, totalSize: 10_000 };
    await assert.rejects(looker.look(), fault('LimitExceeded', /spec\.limits\.files/));
    looker.limits = { files: 10, fileSize: 1000, totalSize: 1000 };
    await assert.rejects(looker.look(), fault('LimitExceeded', /spec\.limits\.totalSize/));
  });

  test('paths, links and lies in archives lead nowhere', async (t) => {
    const publisher = await Publisher.start(t);
    const entries: unknown[] = [];
    const add = (name: string, bytes: Buffer): void => {
      publisher.answers.set(`${folder}/${name}.x`, bytes);
      entries.push({ name, type: 'archive', description: name, url: `${name}.x`, digest: sha256(bytes) });
    };
    add('escape-zip', await zipped({ 'SKILL.md': one, '../../canary.md': 'x' }));
    add('absolute-zip', await zipped({ 'SKILL.md': one, '/etc/canary': 'x' }));
    add('linked', await tarred({ 'SKILL.md': one, passwd: { link: '/etc/passwd' }, 'up.md': { link: '../../x' } }));
    const cut = await tarred({ 'SKILL.md': one, 'b.bin': Buffer.alloc(40_000, 'b') });
    add('cut', cut.subarray(0, cut.length - 20));
    const damaged = Buffer.from(await zipped({ 'SKILL.md': one }));
    damaged.writeUInt32LE(0xffffff, damaged.length - 6);
    add('damaged', damaged);
    add('wrapped', await zipped({ 'wrapped/SKILL.md': one }));
    publisher.index(entries);
    const { files, entries: listed, problems } = await new Looker(publisher.url).look();
    assert.deepEqual([...files.keys()], ['skills/linked/SKILL.md']);
    assert.ok(listed.every(({ link }) => link === undefined));
    assert.deepEqual(told(problems), [
      'NotFetched skills/absolute-zip',
      'NotFetched skills/cut',
      'NotFetched skills/damaged',
      'NotFetched skills/escape-zip',
      'NotFetched skills/wrapped',
      'SpecialFile skills/linked',
    ]);
    assert.doesNotMatch(JSON.stringify(problems), /canary/);
  });

  test('a tar whose path leads out of the skill is no path of a tree', async (t) => {
    const publisher = await Publisher.start(t);
    const bytes = await tarred({ 'SKILL.md': one });
    const evil = rawTar('../../evil.md', Buffer.from('x'));
    publisher.answers.set(`${folder}/ok.tgz`, bytes);
    publisher.answers.set(`${folder}/evil.tgz`, evil);
    publisher.index([
      { name: 'ok', type: 'archive', description: 'o', url: 'ok.tgz', digest: sha256(bytes) },
      { name: 'evil', type: 'archive', description: 'e', url: 'evil.tgz', digest: sha256(evil) },
    ]);
    const { files, problems } = await new Looker(publisher.url).look();
    assert.deepEqual([...files.keys()], ['skills/ok/SKILL.md']);
    assert.deepEqual(told(problems), ['NotFetched skills/evil']);
  });
});

describe('an index of the form before, with lists of files', () => {
  const v1 = (publisher: Publisher, skills: unknown[]): void => publisher.index(skills, {});
  const entry = { name: 'one', description: 'One.', files: ['SKILL.md', 'references/a b#1?.md', 'logo.bin'] };
  const files = {
    [`${folder}/one/SKILL.md`]: one,
    [`${folder}/one/references/a%20b%231%3F.md`]: 'awkward',
    [`${folder}/one/logo.bin`]: Buffer.from([0, 255]),
  };

  test('gives the files beside it; every look asks for each of them, and nothing is sent that has not moved', async (t) => {
    const publisher = await Publisher.start(t);
    for (const [path, content] of Object.entries(files)) publisher.answers.set(path, content);
    v1(publisher, [entry]);
    const looker = new Looker(publisher.url);
    const first = await looker.look();
    assert.deepEqual(first.problems, []);
    assert.deepEqual([...first.files.keys()].sort(), [
      'skills/one/SKILL.md',
      'skills/one/logo.bin',
      'skills/one/references/a b#1?.md',
    ]);
    publisher.takeAsked();
    assert.equal(await looker.probe(), first.revision);
    assert.deepEqual(
      publisher.takeAsked(),
      [`${folder}/index.json`, ...Object.keys(files)].map((path) => `GET ${path} → 304`).sort(),
    );

    publisher.answers.set(`${folder}/one/logo.bin`, Buffer.from([1]));
    assert.notEqual(await looker.probe(), first.revision);
    publisher.takeAsked();
    const moved = await looker.look(({ path }) => path.endsWith('.bin'));
    assert.deepEqual(moved.files.get('skills/one/logo.bin'), Buffer.from([1]));
    assert.equal(publisher.takeAsked().filter((line) => line.endsWith('304')).length, 2);
    assert.equal(await looker.probe(), moved.revision);
  });

  test('on a server without ETags is compared by content', async (t) => {
    const publisher = await Publisher.start(t);
    publisher.tags = false;
    for (const [path, content] of Object.entries(files)) publisher.answers.set(path, content);
    v1(publisher, [entry]);
    const looker = new Looker(publisher.url);
    const { revision } = await looker.look();
    assert.equal(await looker.probe(), revision);
    publisher.answers.set(`${folder}/one/SKILL.md`, skillText('one', 'Moved.'));
    assert.notEqual(await looker.probe(), revision);
    assert.notEqual((await looker.look()).revision, revision);
  });

  test('stands at /.well-known/skills/ as well, and a list may write skill.md', async (t) => {
    const publisher = await Publisher.start(t);
    publisher.answers.set(
      '/.well-known/skills/index.json',
      JSON.stringify({ skills: [{ ...entry, files: ['skill.md'] }] }),
    );
    publisher.answers.set('/.well-known/skills/one/SKILL.md', one);
    const { files: found } = await new Looker(`${publisher.origin}/.well-known/skills/index.json`).look();
    assert.deepEqual(text(found), { 'skills/one/SKILL.md': one });
  });

  test('leaves out what is no path below a skill, lists without SKILL.md, and web pages in a file’s place', async (t) => {
    const publisher = await Publisher.start(t);
    publisher.answers.set(`${folder}/one/SKILL.md`, one);
    publisher.answers.set(`${folder}/login/SKILL.md`, {
      headers: { 'content-type': 'text/html' },
      body: '<html>canary',
    });
    v1(publisher, [
      {
        ...entry,
        files: ['SKILL.md', '../canary', '/etc/canary', 'a//b', 'a/./b', 'a\\b', 'a\nb', '', 7, 'a/../../b'],
      },
      { ...entry, name: 'bare', files: ['README.md'] },
      { ...entry, name: 'none', files: [] },
      { ...entry, name: 'text', files: 'SKILL.md' },
      { ...entry, name: 'login', files: ['SKILL.md'] },
    ]);
    const { files: found, problems } = await new Looker(publisher.url).look();
    assert.deepEqual(text(found), { 'skills/one/SKILL.md': one });
    assert.deepEqual(
      told(problems),
      [
        ...Array.from({ length: 9 }, () => 'BadFileName skills/one'),
        'BadEntry skills/bare',
        'BadEntry skills/none',
        'BadEntry skills/text',
        'NotFetched skills/login/SKILL.md',
      ].sort(),
    );
    assert.doesNotMatch(JSON.stringify(problems), /canary/);
  });

  test('entries with a url and no digest are asked for likewise, archives among them', async (t) => {
    const publisher = await Publisher.start(t);
    const archive = await tarred({ 'SKILL.md': two, 'a.md': 'a' });
    publisher.answers.set(`${folder}/two.tar.gz`, archive);
    publisher.answers.set(`${folder}/one/SKILL.md`, one);
    publisher.index([
      { name: 'two', description: '2', url: 'two.tar.gz' },
      { name: 'one', description: '1', url: 'one/SKILL.md' },
    ]);
    const looker = new Looker(publisher.url);
    const first = await looker.look();
    assert.deepEqual([...first.files.keys()].sort(), ['skills/one/SKILL.md', 'skills/two/SKILL.md', 'skills/two/a.md']);
    assert.equal(await looker.probe(), first.revision);
    publisher.takeAsked();
    await looker.look(() => false);
    assert.deepEqual(publisher.takeAsked(), [
      `GET ${folder}/index.json`,
      `GET ${folder}/one/SKILL.md → 304`,
      `GET ${folder}/two.tar.gz → 304`,
    ]);
    publisher.answers.set(`${folder}/two.tar.gz`, await tarred({ 'SKILL.md': two, 'a.md': 'b' }));
    assert.notEqual(await looker.probe(), first.revision);
    assert.equal((await looker.look()).files.get('skills/two/a.md')!.toString(), 'b');
  });
});

test('an index of ten thousand skills holds nobody up', async (t) => {
  const publisher = await Publisher.start(t);
  const skills = Array.from({ length: 10_000 }, (_, at) => ({
    name: `skill-${at}`,
    type: 'skill-md',
    description: 'A description of the usual length, which says what the skill is for and when it is of use.',
    url: `skill-${at}/SKILL.md`,
    digest: sha256(one),
  }));
  publisher.index(skills);
  for (const { url } of skills) publisher.answers.set(`${folder}/${url}`, one);
  const looker = new Looker(publisher.url);
  looker.limits = { files: 50_000, fileSize: 100_000, totalSize: 10_000_000 };
  const { entries } = await looker.look(() => false);
  assert.equal(entries.length, 10_000);
  const longest = await heldUp(() => looker.look(() => false));
  assert.ok(longest < 60, `the event loop was held for ${Math.round(longest)} ms`);
});
