// Folders on disk as sources: contained in the file root, consistent, and never fooled by an edit.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, type TestContext, test } from 'node:test';
import { digestOf } from '../../catalogue/digest.ts';
import { readListed } from '../../operator/source/folder/read.ts';
import { stampOf } from '../../operator/source/folder/stamp.ts';
import { type FolderRoots, openFolderSource } from '../../operator/source/folder.ts';
import { resolveLinks } from '../../operator/source/links.ts';
import type { Memory, Tree, TreeEntry } from '../../operator/source/source.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'lyceum-folder-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

class TestMemory implements Memory {
  bytes: Buffer | undefined;
  saves = 0;
  async load() {
    return this.bytes;
  }
  async save(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes);
    this.saves++;
  }
}

let received = 0;
const open = (
  url: string,
  {
    memory = new TestMemory(),
    fileSize = 4096,
    signal = new AbortController().signal,
    roots = {} as Partial<FolderRoots>,
  } = {},
) => {
  received = 0;
  return openFolderSource(
    url,
    { fileRoot: root, closedFolders: [], ...roots },
    {
      limits: { files: 1000, fileSize, totalSize: 1024 * 1024 },
      signal,
      secret: new Map(),
      memory,
      scratch: root,
      received: (bytes) => {
        received += bytes;
      },
      gitReader: () => {},
    },
  );
};

async function write(path: string, content: string | Buffer = path): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), content);
}

/** Makes files look as if they had been written long ago. ctime cannot be set, so the clock is moved instead. */
const grownOld = <Result>(t: TestContext, work: () => Promise<Result>) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 });
  return work().finally(() => t.mock.timers.reset());
};

async function contentOf(tree: Tree): Promise<{ files: Record<string, string>; tooLarge: string[] }> {
  const { entries } = await resolveLinks(tree.entries);
  const files: Record<string, string> = {};
  const tooLarge: string[] = [];
  const real = tree.entries.filter(({ link }) => link === undefined);
  await tree.read(real, {
    take: (entry: TreeEntry, bytes) => {
      for (const { path, realPath } of entries) if ((realPath ?? path) === entry.path) files[path] = bytes.toString();
    },
    tooLarge: (entry) => void tooLarge.push(entry.path),
  });
  return { files, tooLarge };
}

test('a folder below the file root is listed and read, byte-exact, hidden files too', async () => {
  await write('packs/one/skills/a/SKILL.md', '\uFEFF---\r\n');
  await write('packs/one/.hidden/x', Buffer.from([0, 255]));
  await write('packs/two/other.md');
  const tree = await open('file:///packs/one').open();
  const { files } = await contentOf(tree);
  assert.deepEqual(Object.keys(files).sort(), ['.hidden/x', 'skills/a/SKILL.md']);
  assert.equal(files['skills/a/SKILL.md'], '\uFEFF---\r\n');
  assert.deepEqual(tree.problems, []);
  assert.equal(tree.entries.find(({ path }) => path === '.hidden/x')?.size, 2);
});

test('a percent-encoded URL names the folder that it spells', async () => {
  await write('my packs/100%/ü/a.md');
  const { files } = await contentOf(await open('file:///my%20packs/100%25/%C3%BC').open());
  assert.deepEqual(Object.keys(files), ['a.md']);
});

test('what is no file:/// URL is an invalid spec', () => {
  for (const url of ['file://host/a', 'file:///a%2fb', 'file:///a%00', 'file:///%zz', 'nonsense']) {
    assert.throws(() => open(url), { reason: 'InvalidSpec' }, url);
  }
});

test('no file root, a root outside it, behind a link, or closed: not allowed', async () => {
  await write('inside/a.md');
  await write('volume/b.md');
  await symlink(tmpdir(), join(root, 'out'));
  await symlink('inside', join(root, 'in'));
  const notAllowed = { reason: 'FileRootNotAllowed' };
  await assert.rejects(open('file:///inside', { roots: { fileRoot: undefined } }).probe(), {
    ...notAllowed,
    message: /--file-root.*fileRoot of the chart's values/,
  });
  await assert.rejects(open('file:///out').probe(), notAllowed);
  const closedFolders = [join(root, 'volume')];
  await assert.rejects(open('file:///volume', { roots: { closedFolders } }).probe(), notAllowed);
  assert.deepEqual((await contentOf(await open('file:///in').open())).files, { 'a.md': 'inside/a.md' });
});

test('`..` in the URL stays at the file root', async () => {
  await write('a.md');
  assert.deepEqual((await contentOf(await open('file:///../../x/..').open())).files, { 'a.md': 'a.md' });
});

test('a closed folder inside a source is passed over', async () => {
  await write('a.md');
  await write('volume/segment');
  const tree = await open('file:///', { roots: { closedFolders: [join(root, 'volume')] } }).open();
  assert.deepEqual((await contentOf(tree)).files, { 'a.md': 'a.md' });
});

test('.git, node_modules and lost+found are not looked into', async () => {
  await write('a.md');
  await write('.git/HEAD');
  await write('lost+found/x');
  await write('x/node_modules/y/SKILL.md');
  const { entries } = await open('file:///').open();
  assert.deepEqual(
    entries.map(({ path }) => path),
    ['a.md'],
  );
});

test('a folder that is not there, or is a file, is NotFound', async () => {
  await write('file.md');
  await assert.rejects(open('file:///gone').probe(), { reason: 'NotFound', message: /\/gone/ });
  await assert.rejects(open('file:///file.md').probe(), { reason: 'NotFound' });
  await assert.rejects(open('file:///file.md/x').probe(), { reason: 'NotFound' });
});

test('pipes and sockets are named and never opened; links out are not read', { timeout: 5000 }, async () => {
  await write('a.md');
  execFileSync('mkfifo', [join(root, 'pipe')]);
  const server = createServer().listen(join(root, 'socket'));
  try {
    await symlink('/etc/passwd', join(root, 'passwd'));
    await symlink('pipe', join(root, 'to-pipe'));
    const tree = await open('file:///').open();
    const resolved = await resolveLinks(tree.entries);
    assert.deepEqual([...tree.problems, ...resolved.problems].map(({ reason, path }) => `${reason} ${path}`).sort(), [
      'LinkBroken .',
      'LinkEscapes passwd',
      'SpecialFile pipe',
      'SpecialFile socket',
    ]);
    assert.deepEqual((await contentOf(tree)).files, { 'a.md': 'a.md' });
  } finally {
    server.close();
  }
});

test('an absolute link to something inside the source is followed', async () => {
  await write('packs/shared/a.md', 'a');
  await mkdir(join(root, 'packs/skills'));
  await symlink(join(root, 'packs/shared'), join(root, 'packs/skills/x'));
  await symlink(join(root, 'packs/shared/a.md'), join(root, 'packs/top.md'));
  const { files } = await contentOf(await open('file:///packs').open());
  assert.deepEqual(files, { 'shared/a.md': 'a', 'skills/x/a.md': 'a', 'top.md': 'a' });
});

test('unfit names are problems, not failures', async () => {
  await write('ok.md');
  await write('back\\slash.md');
  await write('new\nline.md');
  await writeFile(Buffer.concat([Buffer.from(`${root}/bad-`), Buffer.from([0xff]), Buffer.from('.md')]), 'x');
  const tree = await open('file:///').open();
  assert.deepEqual(
    tree.entries.map(({ path }) => path),
    ['ok.md'],
  );
  assert.deepEqual(
    tree.problems.map(({ reason }) => reason),
    ['BadFileName', 'BadFileName', 'BadFileName'],
  );
});

test('a file over the limit is told by name and size, without being read', async () => {
  await write('big.md', 'x'.repeat(5000));
  await write('small.md', 'x');
  const { files, tooLarge } = await contentOf(await open('file:///').open());
  assert.deepEqual(tooLarge, ['big.md']);
  assert.deepEqual(Object.keys(files), ['small.md']);
});

test('the revision stays while nothing changes, though files grow old', async (t) => {
  await write('a.md');
  await write('b.md');
  const memory = new TestMemory();
  const first = await open('file:///', { memory }).probe();
  assert.match(first, /^sha256:[0-9a-f]{64}$/);
  assert.equal(await open('file:///', { memory }).probe(), first);
  await grownOld(t, async () => {
    assert.equal(await open('file:///', { memory }).probe(), first);
    const saves = memory.saves;
    const settled = open('file:///', { memory });
    assert.equal(await settled.probe(), first);
    assert.equal(received, 0, 'a settled folder is not read');
    assert.equal(memory.saves, saves, 'a settled folder writes nothing');
    assert.equal((await settled.open()).revision, first);
  });
});

test('an edit that leaves size and times as they were is noticed', async (t) => {
  await write('a.md', 'one');
  const { atime, mtime } = await stat(join(root, 'a.md'));
  const memory = new TestMemory();
  const first = await open('file:///', { memory }).probe();
  await writeFile(join(root, 'a.md'), 'two');
  await utimes(join(root, 'a.md'), atime, mtime);
  const second = await open('file:///', { memory }).probe();
  assert.notEqual(second, first);
  await grownOld(t, async () => assert.equal(await open('file:///', { memory }).probe(), second));
});

test('a young file whose stamp does not move is compared by its bytes', async () => {
  await write('a.md', 'one');
  const memory = new TestMemory();
  const first = await open('file:///', { memory }).probe();
  const remembered = JSON.parse(memory.bytes!.toString());
  assert.equal(remembered.files[0][1].settled, false);
  remembered.files[0][1].token = digestOf('what was there at the same tick');
  memory.bytes = Buffer.from(JSON.stringify(remembered));
  assert.equal(
    await open('file:///', { memory }).probe(),
    first,
    'the bytes are read again, the memory is not believed',
  );
});

test('additions, deletions, renames and re-pointed links move the revision', async () => {
  await write('a.md', 'same');
  await symlink('a.md', join(root, 'l'));
  const memory = new TestMemory();
  const revisions = [await open('file:///', { memory }).probe()];
  const next = async () => void revisions.push(await open('file:///', { memory }).probe());
  await write('b.md', 'same');
  await next();
  await rename(join(root, 'b.md'), join(root, 'c.md'));
  await next();
  await rm(join(root, 'c.md'));
  await next();
  await rm(join(root, 'l'));
  await symlink('gone.md', join(root, 'l'));
  await next();
  assert.equal(revisions[0], revisions[3], 'the same content is the same revision');
  assert.equal(new Set(revisions).size, 4);
});

test('a lost or damaged memory costs a reading, nothing else', async (t) => {
  await write('a.md');
  const memory = new TestMemory();
  await open('file:///', { memory }).probe();
  memory.bytes = Buffer.from('{"format":2}');
  await grownOld(t, async () => {
    const revision = await open('file:///', { memory }).probe();
    memory.bytes = Buffer.from('nonsense');
    assert.equal(await open('file:///', { memory }).probe(), revision);
  });
});

test('a file that changes between listing and reading fails the look, which is tried again soon', async () => {
  await write('a.md', 'one');
  const tree = await open('file:///').open();
  await writeFile(join(root, 'a.md'), 'two');
  await assert.rejects(contentOf(tree), { reason: 'UpstreamInvalid', retryAfterSeconds: 1 });
  const replaced = await open('file:///').open();
  await rm(join(root, 'a.md'));
  await symlink('/etc/passwd', join(root, 'a.md'));
  await assert.rejects(contentOf(replaced), { reason: 'UpstreamInvalid' });
  const gone = await open('file:///').open();
  assert.deepEqual(gone.entries, [{ path: 'a.md', link: '/etc/passwd' }]);
});

test('a folder that became a link out of the source while it was listed is not read', async () => {
  await write('outside/secret.md');
  await mkdir(join(root, 'source'));
  await symlink('../outside', join(root, 'source/inside'));
  const seen = join(root, 'source/inside/secret.md');
  const listed = { path: 'inside/secret.md', file: seen, link: undefined, mounted: false };
  const stamp = stampOf(await stat(seen, { bigint: true }));
  await assert.rejects(readListed({ ...listed, stamp }, '/inside/secret.md'), { reason: 'UpstreamInvalid' });
  const there = await realpath(seen);
  assert.equal((await readListed({ ...listed, stamp, file: there }, '/x')).toString(), 'outside/secret.md');
});

test('a file that may not be read fails the source with its name', async () => {
  await write('a.md');
  await chmod(root, 0o755);
  await chmod(join(root, 'a.md'), 0o000);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid!(65534);
  try {
    await assert.rejects(open('file:///').open(), { reason: 'AccessDenied', message: /a\.md/ });
  } finally {
    if (isRoot) process.seteuid!(0);
  }
});

test('an aborted look ends with the reason of the abort', async () => {
  await write('a.md');
  await assert.rejects(open('file:///', { signal: AbortSignal.abort(new Error('time is up')) }).open(), /time is up/);
});

/** A volume as kubelet writes it. */
async function mount(at: string, version: string, files: Record<string, string>): Promise<void> {
  const folder = join(root, at, `..${version}`);
  for (const [path, content] of Object.entries(files)) await write(`${at}/..${version}/${path}`, content);
  await symlink(`..${version}`, join(root, at, '..data_tmp'));
  await rename(join(root, at, '..data_tmp'), join(root, at, '..data'));
  for (const path of Object.keys(files)) {
    const name = path.split('/')[0]!;
    if (!existsSync(join(root, at, name))) await symlink(`..data/${name}`, join(root, at, name));
  }
  assert.ok((await stat(folder)).isDirectory());
}

test('a mounted ConfigMap shows each file once, under its name, and one version only', async () => {
  await mount('pack', '2026_01', { 'SKILL.md': 'v1', 'nested/b.md': 'v1' });
  const source = open('file:///pack');
  const tree = await source.open();
  assert.deepEqual(tree.entries.map(({ path }) => path).sort(), ['SKILL.md', 'nested/b.md']);
  await mount('pack', '2026_02', { 'SKILL.md': 'v2', 'nested/b.md': 'v2' });
  assert.deepEqual((await contentOf(tree)).files, { 'SKILL.md': 'v1', 'nested/b.md': 'v1' });
  assert.deepEqual((await contentOf(await open('file:///pack').open())).files, {
    'SKILL.md': 'v2',
    'nested/b.md': 'v2',
  });
  await rm(join(root, 'pack/..2026_01'), { recursive: true });
  await assert.rejects(contentOf(tree), { reason: 'UpstreamInvalid' });
});

test('a mount below the root of a source is read the same way', async () => {
  await mount('packs/cm', '2026_01', { 'SKILL.md': 'v1' });
  await write('packs/other.md', 'o');
  assert.deepEqual((await contentOf(await open('file:///packs').open())).files, {
    'cm/SKILL.md': 'v1',
    'other.md': 'o',
  });
});

test('a re-pointed mount moves the revision; the same content mounted anew does not', async (t) => {
  await mount('pack', '1', { 'a.md': 'one' });
  await grownOld(t, async () => {
    const first = await open('file:///pack').probe();
    await mount('pack', '2', { 'a.md': 'one' });
    assert.equal(await open('file:///pack').probe(), first);
    await mount('pack', '3', { 'a.md': 'two' });
    assert.notEqual(await open('file:///pack').probe(), first);
  });
  assert.equal(await readFile(join(root, 'pack/a.md'), 'utf8'), 'two');
});

test('a dot folder above the source hides nothing', async () => {
  await write('.cache/.packs/one/skills/a/SKILL.md', 'a');
  const { files } = await contentOf(await open('file:///.cache/.packs/one').open());
  assert.deepEqual(files, { 'skills/a/SKILL.md': 'a' });
});
