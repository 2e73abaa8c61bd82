// The image of Lyceum, built from its Dockerfile and brought onto the node.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import type { NodeCoordinates } from '../cluster/coordinates.ts';
import type { Tools } from '../cluster/tools.ts';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../..');

export const imageTools: Tools = { buildah: 'buildah', npm: 'npm' };

const base = 'localhost/lyceum-base:test';

/** The image that the chart names by default, as the node names it. */
async function imageName(): Promise<string> {
  const { appVersion } = parse(await readFile(join(repository, 'charts/lyceum/Chart.yaml'), 'utf8'));
  return `docker.io/library/lyceum:${appVersion}`;
}

/** Builds in a storage in the node's folder, from a base made of this machine's own programs: no registry is asked. */
export async function importImage({ folder, programs, containerd }: NodeCoordinates): Promise<void> {
  const storage = join(folder, 'images');
  const name = await imageName();
  const buildah = (...args: string[]) =>
    run(
      'buildah',
      ['--root', join(storage, 'root'), '--runroot', join(storage, 'run'), '--storage-driver', 'vfs', ...args],
      { maxBuffer: 2 ** 24 },
    );
  await run(join(repository, 'test/cluster/base-image.sh'), [storage, base]);
  const cache = (await run('npm', ['config', 'get', 'cache'], { cwd: repository })).stdout.trim();
  await buildah(
    ...['bud', '--isolation', 'chroot', '--build-arg', `BASE=${base}`, '--volume', `${cache}:/root/.npm`],
    ...['--tag', name, repository],
  );
  const archive = join(folder, 'image.tar');
  await buildah('push', '--quiet', name, `docker-archive:${archive}:${name}`);
  const ctr = join(programs.containerd, 'ctr');
  await run(ctr, ['--address', containerd, '--namespace', 'k8s.io', 'images', 'import', archive]);
}
