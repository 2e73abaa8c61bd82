// Git sources against the real `git http-backend`: what is asked, what comes, what a refresh costs.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { SourceFault } from '../../operator/reasons.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import { testCertificates } from '../fixtures/certificates.ts';
import { type LookOptions, look, newMemory } from '../fixtures/git-look.ts';
import { type FileContent, GitFixture, git } from '../fixtures/git-repository.ts';
import { type GitServer, redirectsBelow, startGitServer } from '../fixtures/git-server.ts';

let root: string;
let server: GitServer;
let count = 0;

before(async () => {
  root = await mkdtemp(join(tmpdir(), 'lyceum-git-'));
  server = await startGitServer({ root });
});
after(async () => {
  await server.close();
  await rm(root, { recursive: true, force: true });
});
beforeEach(() => {
  server.exchanges.length = 0;
});

/** A repository of its own for one test. */
async function repository(options?: Parameters<typeof GitFixture.create>[1]) {
  const name = `r${++count}.git`;
  return { name, url: server.sourceUrl(name), repo: await GitFixture.create(join(root, name), options) };
}

const fault =
  (reason: string, message = /./) =>
  (error: unknown) => {
    assert(error instanceof UpstreamFault, String(error));
    assert.equal(error.reason, reason, error.message);
    assert.match(error.message, message);
    return true;
  };

const bytesOnTheWire = () => server.exchanges.reduce((sum, { bytesIn, bytesOut }) => sum + bytesIn + bytesOut, 0);

const pack: Record<string, FileContent> = {
  'README.md': '# Pack\r\n',
  'skills/a/SKILL.md': '\ufeff---\nname: a\n---\n',
  'skills/a/data.bin': randomBytes(10_000),
  'skills/a/empty': '',
  'skills/b/SKILL.md': '---\nname: b\n---\n',
  'skills/b/same.md': '# Pack\r\n',
};

test('every file comes byte by byte as git has it', async () => {
  const { repo, url } = await repository();
  const commit = await repo.commitFiles(pack);
  await repo.repack();
  const found = await look(url);
  assert.equal(found.revision, `main@sha1:${commit}`);
  assert.deepEqual(found.problems, []);
  assert.deepEqual([...found.files.keys()].sort(), Object.keys(pack).sort());
  for (const [path, content] of Object.entries(pack)) {
    assert(found.files.get(path)?.equals(Buffer.from(content as string)), path);
  }
  const readme = await git(['rev-parse', 'main:README.md'], repo.folder);
  assert.equal(found.entries.find(({ path }) => path === 'README.md')?.id, `sha1:${readme.trim()}`);
});

test('only what is wanted is transferred', async () => {
  const { repo, url } = await repository();
  await repo.commitFiles({ 'skills/a/SKILL.md': 'small', 'video.bin': randomBytes(2_000_000) });
  const found = await look(url, { want: ({ path }) => path.endsWith('SKILL.md') });
  assert.deepEqual([...found.files.keys()], ['skills/a/SKILL.md']);
  assert.equal(found.entries.length, 2);
  assert(bytesOnTheWire() < 2000, `${bytesOnTheWire()} bytes`);
  assert.equal(server.exchanges.length, 4);
});

describe('a ref', () => {
  test('left out is the branch that HEAD points at; a detached HEAD works; an empty repository is NotFound', async () => {
    const { repo, url } = await repository();
    await assert.rejects(look(url), fault('NotFound', /empty/));
    const trunk = await repo.commitFiles({ a: 'trunk' }, { reference: 'refs/heads/trunk' });
    await assert.rejects(look(url), fault('NotFound', /default branch/));
    await repo.head('refs/heads/trunk');
    assert.equal((await look(url)).revision, `trunk@sha1:${trunk}`);
    const other = await repo.commitFiles({ a: 'other' }, { reference: 'refs/heads/other' });
    await repo.head(other);
    const detached = await look(url);
    assert.equal(detached.revision, `HEAD@sha1:${other}`);
    assert.equal(detached.files.get('a')?.toString(), 'other');
  });

  test('that is a branch and a tag is the branch; a full name picks the tag; tags of tags are peeled', async () => {
    const { repo, url } = await repository();
    const branch = await repo.commitFiles({ a: 'branch' });
    const tagged = await repo.commitFiles({ a: 'tag' }, { reference: 'refs/heads/tmp' });
    await repo.reference('refs/tags/main', tagged);
    await repo.reference('refs/tags/v1', await repo.tag(await repo.tag(tagged, 'inner'), 'v1', 'tag'));
    assert.equal((await look(url, { ref: 'main' })).revision, `main@sha1:${branch}`);
    assert.equal((await look(url, { ref: 'refs/tags/main' })).files.get('a')?.toString(), 'tag');
    const v1 = await look(url, { ref: 'v1' });
    assert.equal(v1.revision, `v1@sha1:${tagged}`);
    assert.equal(v1.files.get('a')?.toString(), 'tag');
  });

  test('may have any name git allows, and is not taken for a longer one', async () => {
    const { repo, url } = await repository();
    const odd = await repo.commitFiles({ a: '1' }, { reference: 'refs/heads/feat/ünï#1%20x' });
    await repo.reference('refs/heads/feat-long', odd);
    assert.equal((await look(url, { ref: 'feat/ünï#1%20x' })).revision, `feat/ünï#1%20x@sha1:${odd}`);
    await assert.rejects(look(url, { ref: 'feat' }), fault('NotFound', /spec\.ref/));
  });

  test('of forty hex digits is that commit, also one that no branch ends in', async () => {
    const { repo, url } = await repository();
    const first = await repo.commitFiles({ a: 'first' });
    await repo.commitFiles({ a: 'second' }, { parent: first });
    const pinned = await look(url, { ref: first });
    assert.equal(pinned.revision, `sha1:${first}`);
    assert.equal(pinned.files.get('a')?.toString(), 'first');
  });

  test('that is a commit which is not there is NotFound, not an empty pack', async () => {
    const { repo, url } = await repository();
    await repo.commitFiles({ a: '1' });
    await assert.rejects(look(url, { ref: '1'.repeat(40) }), fault('NotFound', /no such commit/));
  });

  test('that names a tree or a file is NotFound', async () => {
    const { repo, url } = await repository();
    await repo.commitFiles({ a: '1' });
    const tree = (await git(['rev-parse', 'main^{tree}'], repo.folder)).trim();
    await assert.rejects(look(url, { ref: tree }), fault('NotFound', /no such commit/));
    await repo.reference('refs/tags/file', await repo.blob('1'));
    await assert.rejects(look(url, { ref: 'file' }), fault('NotFound', /no such commit/));
  });
});

describe('a refresh', () => {
  const nothing = { want: () => false };

  test('of what has not changed costs two requests and at most 1 KB', async () => {
    const { repo, url } = await repository();
    await repo.commitFiles(pack);
    const memory = newMemory();
    await look(url, { memory });
    server.exchanges.length = 0;
    await look(url, { memory, ...nothing });
    assert.equal(server.exchanges.length, 2);
    assert(bytesOnTheWire() <= 1024, `${bytesOnTheWire()} bytes`);
  });

  test('of one changed file among hundreds transfers that file and what leads to it', async () => {
    const { repo, url } = await repository();
    const files: Record<string, FileContent> = {};
    for (let index = 0; index < 400; index++) files[`skills/s${index % 40}/f${index}.md`] = randomBytes(2000);
    const first = await repo.commitFiles(files);
    await repo.repack();
    const memory = newMemory();
    const known = new Set((await look(url, { memory, ...nothing })).entries.map(({ id }) => id));
    const second = await repo.commitFiles({ ...files, 'skills/s7/f7.md': 'changed' }, { parent: first });
    server.exchanges.length = 0;
    const found = await look(url, { memory, want: ({ id }) => !known.has(id) });
    assert.equal(found.revision, `main@sha1:${second}`);
    assert.equal(found.entries.length, 400);
    assert.deepEqual([...found.files], [['skills/s7/f7.md', Buffer.from('changed')]]);
    assert(bytesOnTheWire() <= 3000, `${bytesOnTheWire()} bytes`);
  });

  test('after the history was written anew is right', async () => {
    const { repo, url } = await repository();
    const memory = newMemory();
    await repo.commitFiles({ 'a/x': '1', 'b/y': '2' });
    await look(url, { memory });
    const anew = await repo.commitFiles({ 'a/x': '1', 'c/z': '3' });
    await git(['reflog', 'expire', '--expire=now', '--all'], repo.folder);
    await git(['gc', '-q', '--prune=now'], repo.folder);
    const found = await look(url, { memory });
    assert.equal(found.revision, `main@sha1:${anew}`);
    assert.deepEqual([...found.files.keys()], ['a/x', 'c/z']);
  });

  test('back to an earlier commit, and to one with the same tree, is right', async () => {
    const { repo, url } = await repository();
    const memory = newMemory();
    const first = await repo.commitFiles({ 'a/x': '1', 'b/y': '2' });
    const second = await repo.commitFiles({ 'a/x': '1', 'b/y': 'new' }, { parent: first });
    await look(url, { memory });
    await repo.reference('refs/heads/main', first);
    assert.equal((await look(url, { memory })).files.get('b/y')?.toString(), '2');
    await repo.reference('refs/heads/main', second);
    await look(url, { memory });
    const tree = (await git(['rev-parse', 'main^{tree}'], repo.folder)).trim();
    const empty = await repo.commit(tree, { parent: second });
    await repo.reference('refs/heads/main', empty);
    const found = await look(url, { memory });
    assert.equal(found.revision, `main@sha1:${empty}`);
    assert.equal(found.files.get('b/y')?.toString(), 'new');
  });

  test('with a memory that is lost, damaged or of another repository costs time only', async () => {
    const { repo, url } = await repository();
    const commit = await repo.commitFiles(pack);
    const memory = newMemory();
    await look(url, { memory, ...nothing });
    const other = await repository();
    await other.repo.commitFiles({ other: 'pack' });
    const strange = newMemory();
    await look(other.url, { memory: strange, ...nothing });
    const flipped = Buffer.from(memory.bytes!);
    flipped[100]! ^= 1;
    for (const bytes of [undefined, Buffer.alloc(0), flipped, memory.bytes!.subarray(50), strange.bytes]) {
      const found = await look(url, { memory: newMemory(bytes), ...nothing });
      assert.equal(found.revision, `main@sha1:${commit}`);
      assert.equal(found.entries.length, 6);
    }
  });

  test('writes no memory when nothing changed', async () => {
    const { repo, url } = await repository();
    await repo.commitFiles({ a: '1', b: { link: 'a' } });
    const memory = newMemory();
    await look(url, { memory });
    memory.save = () => assert.fail('saved');
    await look(url, { memory });
  });
});

describe('links', () => {
  test('come with their target text, escaping ones and loops too, and are asked for once', async () => {
    const { repo, url } = await repository();
    const files = {
      'CLAUDE.md': 'rules',
      'AGENTS.md': { link: 'CLAUDE.md' },
      'skills/a/SKILL.md': { link: '../real/SKILL.md' },
      out: { link: '../../outside' },
      loop: { link: 'loop' },
    };
    const first = await repo.commitFiles(files);
    const memory = newMemory();
    const links = (found: Awaited<ReturnType<typeof look>>) =>
      Object.fromEntries(found.entries.flatMap(({ path, link }) => (link === undefined ? [] : [[path, link]])));
    const expected = {
      'AGENTS.md': 'CLAUDE.md',
      'skills/a/SKILL.md': '../real/SKILL.md',
      out: '../../outside',
      loop: 'loop',
    };
    assert.deepEqual(links(await look(url, { memory })), expected);
    await repo.commitFiles({ ...files, new: '1' }, { parent: first });
    server.exchanges.length = 0;
    assert.deepEqual(links(await look(url, { memory, want: () => false })), expected);
    assert.equal(server.exchanges.length, 3);
  });

  test('whose target is no path are reported and left out', async () => {
    const { repo, url } = await repository();
    await repo.commitFiles({
      ok: '1',
      long: { link: 'x'.repeat(5000) },
      nul: { link: 'a\0b' },
      latin: { mode: '120000', oid: await repo.blob(Buffer.from([0x61, 0xff])) },
    });
    const found = await look(url);
    assert.deepEqual([...found.files.keys()], ['ok']);
    assert.equal(found.entries.length, 1);
    assert.deepEqual(found.problems.map(({ reason, path }) => [reason, path]).sort(), [
      ['LinkBroken', 'latin'],
      ['LinkBroken', 'long'],
      ['LinkBroken', 'nul'],
    ]);
  });
});

test('submodules and odd names are problems, and everything else comes', async () => {
  const { repo, url } = await repository();
  const oid = await repo.blob('fine');
  const tree = await repo.rawTree([
    { mode: '100644', name: '..', oid },
    { mode: '100644', name: '...', oid },
    { mode: '100644', name: 'a\\b.md', oid },
    { mode: '100664', name: 'ok.md', oid },
    { mode: '160000', name: 'sub', oid: '1'.repeat(40) },
    { mode: '100644', name: Buffer.from([0xe9]), oid },
  ]);
  await repo.reference('refs/heads/main', await repo.commit(tree));
  const found = await look(url);
  assert.deepEqual([...found.files.keys()], ['...', 'ok.md']);
  assert.deepEqual(
    found.problems.map(({ reason, severity, path }) => [reason, severity, path]),
    [
      ['BadFileName', 'error', '..'],
      ['BadFileName', 'error', 'a\\b.md'],
      ['Submodule', 'warning', 'sub'],
      ['BadFileName', 'error', '\\xe9'],
    ],
  );
});

describe('limits', () => {
  test('a file over fileSize is named with its size, at every path it has, and the rest goes on', async () => {
    const { repo, url } = await repository();
    await repo.commitFiles({
      'a/SKILL.md': 'x',
      'a/big': 'b'.repeat(1001),
      'c/big': 'b'.repeat(1001),
      fits: 'f'.repeat(1000),
    });
    const found = await look(url, { limits: { fileSize: 1000 } });
    assert.deepEqual([...found.files.keys()].sort(), ['a/SKILL.md', 'fits']);
    assert.deepEqual(
      [...found.tooLarge],
      [
        ['a/big', 1001],
        ['c/big', 1001],
      ],
    );
  });

  test('more than totalSize fails the look and says which field raises it', async () => {
    const { repo, url } = await repository();
    await repo.commitFiles({ a: 'x'.repeat(600), b: 'y'.repeat(400) });
    assert.equal((await look(url, { limits: { totalSize: 1000 } })).files.size, 2);
    await assert.rejects(
      look(url, { limits: { totalSize: 999 } }),
      fault('LimitExceeded', /999 bytes.*spec\.limits\.totalSize/),
    );
  });

  test('two large files that git stores as one and a difference are both named', async () => {
    const { repo, url } = await repository();
    const bytes = randomBytes(17 * 2 ** 20);
    await repo.commitFiles({ 'a/SKILL.md': 'x', one: bytes, two: Buffer.concat([bytes, Buffer.from('end')]) });
    await repo.repack();
    const found = await look(url);
    assert.deepEqual([...found.files.keys()], ['a/SKILL.md']);
    assert.deepEqual([...found.tooLarge].sort(), [
      ['one', bytes.length],
      ['two', bytes.length + 3],
    ]);
  });

  test('a small file that git stores as a difference from a huge one is read', async () => {
    const { repo, url } = await repository();
    const bytes = randomBytes(17 * 2 ** 20);
    await repo.commitFiles({ huge: bytes, part: bytes.subarray(0, 3 * 2 ** 20) });
    await repo.repack();
    const found = await look(url);
    assert(found.files.get('part')?.equals(bytes.subarray(0, 3 * 2 ** 20)));
    assert.deepEqual([...found.tooLarge], [['huge', bytes.length]]);
  });
});

describe('credentials', () => {
  const secret = { username: 'ada', password: 'canary' };
  const authorization = `Basic ${Buffer.from('ada:canary').toString('base64')}`;
  let locked: GitServer;
  before(async () => {
    locked = await startGitServer({ root, authorization });
  });
  after(() => locked.close());

  test('open what is locked; without or with wrong ones it is AuthenticationFailed, and none is repeated', async () => {
    const { repo, name } = await repository();
    await repo.commitFiles(pack);
    const url = locked.sourceUrl(name);
    assert.equal((await look(url, { secret })).files.size, 6);
    const wrongs: Record<string, string>[] = [{}, { password: 'canary' }, { bearerToken: 'canary' }];
    for (const wrong of wrongs) {
      await assert.rejects(look(url, { secret: wrong }), (error) => {
        fault('AuthenticationFailed', /spec\.secretRef/)(error);
        assert.doesNotMatch((error as Error).message, /canary/);
        return true;
      });
    }
  });

  test('that a Secret lacks are SecretNotFound, and a URL that cannot be is InvalidSpec', async () => {
    const rejected = (url: string, options: LookOptions, reason: string, message: RegExp) =>
      assert.rejects(look(url, options), (error) => {
        assert(error instanceof SourceFault);
        assert.equal(error.reason, reason);
        assert.match(error.message, message);
        return true;
      });
    await rejected(server.sourceUrl('x.git'), { secret: { username: 'ada' } }, 'SecretNotFound', /lacks password/);
    await rejected('git+https://ada:pw@git.example.org/x', {}, 'InvalidSpec', /spec\.secretRef/);
  });

  test('are not sent to where a repository moved on another origin', async () => {
    const { repo, name } = await repository();
    await repo.commitFiles(pack);
    const moved = await startGitServer({ root, behaviour: redirectsBelow(() => `${server.origin}/${name}`) });
    try {
      await look(moved.sourceUrl('old.git'), { secret });
    } finally {
      await moved.close();
    }
    assert.deepEqual(
      moved.exchanges.map(({ headers }) => headers.authorization),
      [authorization],
    );
    assert.deepEqual(new Set(server.exchanges.map(({ headers }) => headers.authorization)), new Set([undefined]));
  });
});

for (const status of [301, 302, 307, 308]) {
  test(`a repository that was renamed (${status}) is read from its new place`, async () => {
    const { repo, name, url } = await repository();
    await repo.commitFiles(pack);
    server.behaviour = (request, response) =>
      request.url!.startsWith('/old.git') &&
      redirectsBelow(() => `${server.origin}/${name}`, status)(request, response);
    try {
      assert.equal((await look(url.replace(name, 'old.git'))).files.size, 6);
    } finally {
      server.behaviour = undefined;
    }
    assert.deepEqual(
      server.exchanges.map(({ method, path }) => `${method} ${path}`),
      [
        'GET /old.git/info/refs?service=git-upload-pack',
        `GET /${name}/info/refs?service=git-upload-pack`,
        ...Array(3).fill(`POST /${name}/git-upload-pack`),
      ],
    );
  });
}

test('a server whose certificate a private authority signed is read with ca.crt, and TLSFailed without', async () => {
  const { repo, name } = await repository();
  await repo.commitFiles(pack);
  const { ca, key, cert } = await testCertificates();
  const tls = await startGitServer({ root, tls: { key, cert } });
  try {
    assert.equal((await look(tls.sourceUrl(name), { secret: { 'ca.crt': ca } })).files.size, 6);
    await assert.rejects(look(tls.sourceUrl(name)), fault('TLSFailed', /ca\.crt/));
  } finally {
    await tls.close();
  }
});

test('more blobs than one request carries come in several', async () => {
  const { repo, url } = await repository();
  const stream: string[] = [];
  for (let index = 0; index < 5100; index++) {
    stream.push(`blob\nmark :${index + 1}\ndata ${`${index}`.length}\n${index}\n`);
  }
  const files = Array.from({ length: 5100 }, (_, index) => `M 100644 :${index + 1} d${index % 10}/f${index}\n`);
  stream.push('commit refs/heads/main\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nx\n', ...files);
  await repo.fastImport(stream.join(''));
  const found = await look(url);
  assert.equal(found.files.size, 5100);
  for (const [path, bytes] of found.files) assert.equal(bytes.toString(), path.replace(/.*f/, ''));
  assert.equal(server.exchanges.length, 5);
});
