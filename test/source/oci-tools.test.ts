// Artifacts as people make them: images built by buildah, archives and folders pushed by skopeo, into a real registry.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';
import { lookOci } from '../fixtures/oci-look.ts';
import { type RegistryFixture, registryLogin, startRegistry } from '../fixtures/registry-server.ts';

const execute = promisify(execFile);

/** @throws with what to install, where the program is missing */
async function run(program: string, args: readonly string[]): Promise<void> {
  await execute(program, args, { maxBuffer: 2 ** 24 }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT'
      ? new Error(`${program} is missing: apt-get install ${program}`, { cause: error })
      : error;
  });
}

let registry: RegistryFixture;
let folder: string;
const storage = () => ['--root', join(folder, 'root'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs'];
const buildah = (...args: string[]) => run('buildah', [...storage(), ...args]);

/** A command in the file system of a container; who is not root sees it in a namespace of his own alone. */
function changed(container: string, command: string): Promise<void> {
  const script = ['-c', `cd "$(buildah "$@" mount ${container})" && ${command}`, 'sh', ...storage()];
  return process.getuid?.() === 0 ? run('sh', script) : run('buildah', [...storage(), 'unshare', 'sh', ...script]);
}

const login = `${registryLogin.username}:${registryLogin.password}`;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-oci-tools-'));
  registry = await startRegistry({ access: 'password' });
});
beforeEach(() => registry.reset());
after(async () => {
  await registry?.close();
  await rm(folder, { recursive: true, force: true });
});

async function write(files: Record<string, string>): Promise<string> {
  const at = await mkdtemp(join(folder, 'context-'));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(at, path)), { recursive: true });
    await writeFile(join(at, path), content);
  }
  return at;
}

const texts = (files: ReadonlyMap<string, Buffer>): Record<string, string> =>
  Object.fromEntries([...files].map(([path, bytes]) => [path, bytes.toString()] as const).sort());
const look = (reference: string) => lookOci(registry.sourceUrl(reference), { secret: registryLogin });

for (const [format, compression] of [
  ['oci', 'gzip'],
  ['oci', 'zstd'],
  ['v2s2', 'gzip'],
] as const) {
  test(`an image that buildah has built, of format ${format} and packed with ${compression}, is read as its file system`, async () => {
    // Other bytes for each: of layers that it has pushed before, this buildah writes a size of 0 into Docker's manifests.
    const own = `${format} ${compression}`;
    const context = await write({
      Containerfile: ['FROM scratch', 'COPY one /', 'COPY two /skills/', 'COPY three /'].join('\n'),
      'one/SKILL.md': `before ${own}`,
      'one/skills/a/SKILL.md': 'a',
      'two/b/SKILL.md': `b ${own}`,
      'three/SKILL.md': `after that ${own}`,
      'three/größe 漢字/notes.md': 'odd',
    });
    await symlink('skills/a/SKILL.md', join(context, 'one/link.md'));
    await buildah('bud', '--quiet', '--isolation', 'chroot', '--layers', '--tag', 'skills', context);
    const options = ['--tls-verify=false', '--creds', login, '--compression-format', compression, '--format', format];
    await buildah(
      'push',
      '--quiet',
      ...options,
      'skills',
      `docker://${registry.host}/team/${format}-${compression}:v1`,
    );
    const { files, problems, revision } = await look(`team/${format}-${compression}:v1`);
    assert.deepEqual(texts(files), {
      'SKILL.md': `after that ${own}`,
      'größe 漢字/notes.md': 'odd',
      'link.md': 'a',
      'skills/a/SKILL.md': 'a',
      'skills/b/SKILL.md': `b ${own}`,
    });
    assert.deepEqual(problems, []);
    assert.match(revision, /^v1@sha256:[0-9a-f]{64}$/);
  });
}

test('what a later layer of an image deletes is gone', async () => {
  const name = 'deleted';
  await buildah('from', '--name', name, 'scratch');
  await buildah(
    'copy',
    '--quiet',
    name,
    await write({ 'kept.md': 'kept', 'gone.md': 'gone', 'folder/gone.md': 'gone' }),
    '/',
  );
  await buildah('commit', '--quiet', '--rm', name, 'deleted:1');
  await buildah('from', '--name', name, 'localhost/deleted:1');
  await changed(name, 'rm -r gone.md folder');
  await buildah('commit', '--quiet', '--rm', name, 'deleted:2');
  await buildah(
    'push',
    '--quiet',
    '--tls-verify=false',
    '--creds',
    login,
    'deleted:2',
    `docker://${registry.host}/deleted:x`,
  );
  assert.deepEqual(texts((await look('deleted:x')).files), { 'kept.md': 'kept' });
});

test('what skopeo copies, with an index for several platforms, is read by its tag and by its digest', async () => {
  const list = 'several';
  await buildah('manifest', 'create', list);
  for (const architecture of ['arm64', 'amd64']) {
    const name = `of-${architecture}`;
    await buildah('from', '--name', name, 'scratch');
    await buildah('copy', '--quiet', name, await write({ 'SKILL.md': architecture }), '/');
    await buildah('config', '--arch', architecture, '--os', 'linux', name);
    await buildah('commit', '--quiet', '--rm', name, name);
    await buildah('manifest', 'add', '--arch', architecture, '--os', 'linux', list, `localhost/${name}`);
  }
  await buildah('manifest', 'push', '--all', list, `oci:${join(folder, 'layout')}:x`);
  const to = `docker://${registry.host}/several:x`;
  const open = ['--insecure-policy', 'copy', '--all', '--dest-tls-verify=false', '--dest-creds', login];
  await run('skopeo', [...open, `oci:${join(folder, 'layout')}:x`, to]);
  const found = await look('several:x');
  assert.deepEqual(texts(found.files), { 'SKILL.md': 'amd64' });
  const pinned = await look(`several@${found.revision.slice('x@'.length)}`);
  assert.deepEqual(texts(pinned.files), { 'SKILL.md': 'amd64' });
});
