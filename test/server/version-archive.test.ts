// The archive of a version: what it holds, that it is the same bytes each time, and that programs of others read it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type ContentReader, ContentUnavailable } from '../../catalogue/content.ts';
import { digestOf } from '../../catalogue/digest.ts';
import type { Index } from '../../catalogue/index-file.ts';
import { byCodePoint } from '../../catalogue/names.ts';
import type { ArtifactRow } from '../../catalogue/source-catalogue.ts';
import { VersionArchive } from '../../server/archive/version-archive.ts';
import { Budget } from '../../server/budget.ts';
import { buildSnapshot } from '../../server/snapshot/build.ts';
import { visible } from '../../server/view.ts';
import { heldUp } from '../fixtures/held-up.ts';
import { type Files, fileRow } from './support/gateway.ts';

const MiB = 2 ** 20;
const never = (): void => assert.fail('nobody is overdue');

class Contents implements ContentReader {
  readonly lost = new Set<string>();
  readonly #bytes = new Map<string, Buffer>();
  reads = 0;

  add(files: Files): void {
    for (const content of Object.values(files)) {
      const bytes = Buffer.from(content as string);
      this.#bytes.set(digestOf(bytes), bytes);
    }
  }

  async read(digest: string): Promise<Buffer> {
    this.reads += 1;
    const bytes = this.lost.has(digest) ? undefined : this.#bytes.get(digest);
    if (bytes === undefined) throw new ContentUnavailable(digest, 'it was lost');
    return bytes;
  }
}

/** A skill `zen` with one version of these files, in a view of everything. */
async function zenOf(files: Files, revision = 'main@sha1:01') {
  const rows = Object.entries(files).map(([path, content]) => fileRow(path, Buffer.from(content as string)));
  const version: ArtifactRow = {
    row: 'artifact',
    kind: 'skill',
    address: 'zen',
    name: 'zen',
    version: '1.2.3',
    folder: 'skills/zen/1.2.3',
    description: '',
    tags: [],
    advertised: true,
    main: 'SKILL.md',
    files: rows.sort((a, b) => byCodePoint(a.path, b.path)),
  };
  const content = new Contents();
  content.add(files);
  const archive = async (at: string): Promise<VersionArchive> => {
    const view = visible(await buildSnapshot(indexAt(at), catalogues(version), content), []);
    return await VersionArchive.of(view, view.skills[0]!, version);
  };
  return { content, archive, made: await archive(revision) };
}

const catalogues = (version: ArtifactRow) => new Map([['kata', { artifacts: [version], files: [] }]]) as never;

const indexAt = (revision: string): Index => ({
  format: 2,
  gateway: { namespace: 'n', name: 'g' },
  generation: 1,
  published: '2026-11-30T12:00:00Z',
  digest: `sha256:${'0'.repeat(64)}`,
  scope: {},
  libraries: [],
  sources: [
    {
      name: 'kata',
      library: 'kata',
      state: 'ok',
      tags: [],
      moves: [],
      revision,
      catalogue: { path: 'kata', digest: `sha256:${'1'.repeat(64)}`, size: 1 },
    },
  ],
});

async function bytesOf(archive: VersionArchive, budget = new Budget(MiB)): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of archive.pieces(budget, never)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

async function folderOf(test: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lyceum-archive-'));
  test.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const files: Files = {
  'SKILL.md': '---\nname: zen\ndescription: Sit.\n---\r\nSit.\r\n',
  'assets/logo.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]),
  'assets/block.bin': Buffer.alloc(1024, 7),
  'assets/large.bin': Buffer.alloc(200_000, 'abcdefg'),
  'empty.txt': '',
  '-first.txt': 'sorts before the manifest',
  'references/größe/日本語.txt': 'ok\n',
  [`${'d'.repeat(90)}/${'f'.repeat(90)}.txt`]: 'fits into two fields',
  [`${'d'.repeat(200)}/${'é'.repeat(120)}.txt`]: 'fits into none',
  'a b, 100% #1?.md': 'Awkward.\n',
};

const forAuthors: Files = {
  'CHANGELOG.md': 'x',
  'RATIONALE.md': 'x',
  'tile.json': 'x',
  '.tesslignore': 'x',
  'references/ACKNOWLEDGMENTS.md': 'x',
  'evals/one/task.md': 'x',
  '.tessl-plugin/plugin.json': 'x',
  '.manifest.json': 'of another time',
};

describe('the archive of a version', () => {
  it('is unpacked by GNU tar to the files, byte for byte, and their manifest beside them', async (test) => {
    const { made } = await zenOf({ ...files, ...forAuthors });
    const folder = await folderOf(test);
    await writeFile(join(folder, 'zen.tar.gz'), await bytesOf(made));
    const target = join(folder, 'zen');
    execFileSync('mkdir', [target]);
    execFileSync('tar', ['-xzf', join(folder, 'zen.tar.gz'), '-C', target]);
    const unpacked = await readdir(target, { recursive: true, withFileTypes: true });
    const paths = unpacked
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(target.length + 1));
    assert.deepEqual(paths.sort(), [...Object.keys(files), '.manifest.json'].sort());
    for (const [path, content] of Object.entries(files)) {
      assert.ok((await readFile(join(target, path))).equals(Buffer.from(content as string)), path);
    }
    assert.deepEqual(JSON.parse(await readFile(join(target, '.manifest.json'), 'utf8')), {
      name: 'zen',
      version: '1.2.3',
      source: 'kata@main@sha1:01',
      installedAt: '',
      checksums: Object.fromEntries(
        Object.entries(files).map(([path, content]) => [path, digestOf(Buffer.from(content as string))]),
      ),
    });
    const { mtimeMs, mode } = await stat(join(target, 'SKILL.md'));
    assert.equal(mtimeMs, 0);
    assert.equal(mode & 0o777, 0o644);
  });

  it('is sorted, of nobody and of no time, and so are its names', async (test) => {
    const { made } = await zenOf(files);
    const folder = await folderOf(test);
    await writeFile(join(folder, 'zen.tar.gz'), await bytesOf(made));
    const listed = execFileSync(
      'tar',
      ['--numeric-owner', '--utc', '--full-time', '-tvzf', join(folder, 'zen.tar.gz')],
      {
        encoding: 'utf8',
        env: { ...process.env, LC_ALL: 'C.UTF-8' },
      },
    );
    const lines = listed.trimEnd().split('\n');
    for (const line of lines) assert.match(line, /^-rw-r--r-- 0\/0 +\d+ 1970-01-01 00:00:00 /);
    const names = lines.map((line) => line.split(' 00:00:00 ')[1]!);
    assert.deepEqual(names, [...Object.keys(files), '.manifest.json'].sort(byCodePoint));
  });

  it('has the size and the digest that are told before it is made, each time the same bytes', async () => {
    const { made, archive } = await zenOf(files);
    const bytes = await bytesOf(made);
    assert.equal(bytes.length, made.size);
    assert.equal(await made.digest(new Budget(MiB)), digestOf(bytes));
    assert.ok((await bytesOf(await archive('main@sha1:01'))).equals(bytes));
    assert.equal(gunzipSync(bytes).length % 512, 0);
  });

  it('is the same bytes whatever version of Lyceum makes it', async () => {
    const { made } = await zenOf(files);
    const digest = createHash('sha256')
      .update(await bytesOf(made))
      .digest('hex');
    assert.equal(digest, '53fcc3845b6c888f0c6819d0e9e6b75b03bd9cc051ada204024d3c1926230a22');
  });

  it('is read for its digest once, and again where its manifest says something else', async () => {
    const { content, archive, made } = await zenOf(files);
    const budget = new Budget(MiB);
    const before = await made.digest(budget);
    const { reads } = content;
    assert.equal(await (await archive('main@sha1:01')).digest(budget), before);
    assert.equal(content.reads, reads);
    assert.notEqual(await (await archive('main@sha1:02')).digest(budget), before);
    assert.ok(content.reads > reads);
  });

  it('of very many files holds nothing up, and is weighed once for all who ask', async () => {
    const files = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`data/ü${at}.txt`, 'x']));
    const { archive } = await zenOf({ 'SKILL.md': 'x', ...files });
    const first = await heldUp(() => archive('main@sha1:02'));
    assert.ok(first < 100, `${first} ms`);
    const before = process.threadCpuUsage();
    const all = await Promise.all(Array.from({ length: 20 }, () => archive('main@sha1:02')));
    const spent = process.threadCpuUsage(before).user / 1000;
    assert.equal(new Set(all.map(({ size }) => size)).size, 1);
    assert.ok(spent < 1000, `${spent} ms`);
  });

  it('fails where a file cannot be read, and is tried again', async () => {
    const { content, made } = await zenOf(files);
    const budget = new Budget(MiB);
    const lost = digestOf(Buffer.from('Awkward.\n'));
    content.lost.add(lost);
    await assert.rejects(bytesOf(made), ContentUnavailable);
    await assert.rejects(made.digest(budget), ContentUnavailable);
    content.lost.clear();
    assert.equal(await made.digest(budget), digestOf(await bytesOf(made)));
  });

  it('takes of the budget what one file takes, and gives it back when it ends or is left', async () => {
    const { made } = await zenOf({ 'SKILL.md': 'x', 'a.bin': Buffer.alloc(MiB), 'b.bin': Buffer.alloc(MiB) });
    const budget = new Budget(MiB, 60_000);
    await bytesOf(made, budget);
    for await (const piece of made.pieces(budget, never)) if (piece.length > 60_000) break;
    const giveBack = await budget.take(MiB, never);
    giveBack();
  });

  it('of no file but its main one is an archive too', async () => {
    const { made } = await zenOf({ 'SKILL.md': '' });
    const names = gunzipSync(await bytesOf(made)).toString('latin1');
    assert.match(names, /^\.manifest\.json\0/);
    assert.match(names, /SKILL\.md\0/);
  });
});
