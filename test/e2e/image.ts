// Images of Lyceum, each built from its own Dockerfile and brought onto the node.
import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import type { NodeCoordinates } from '../cluster/coordinates.ts';
import type { Tools } from '../cluster/tools.ts';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../..');

export const imageTools: Tools = { buildah: 'buildah', npm: 'npm', xz: 'xz-utils' };

const base = 'localhost/lyceum-base:test';

/** Where version 0.1.0 stands, the first that was installed by a chart: its programs, its Dockerfile and its chart. */
export const firstRelease = ({ folder }: Pick<NodeCoordinates, 'folder'>): string => join(folder, 'lyceum-0.1.0');

/** The image that a checkout's chart names by default, as the node names it. */
export async function imageOf(checkout = repository): Promise<string> {
  const { appVersion } = parse(await readFile(join(checkout, 'charts/lyceum/Chart.yaml'), 'utf8'));
  return `docker.io/library/lyceum:${appVersion}`;
}

/** This version and the first one, in a storage in the node's folder, from a base made of this machine's own programs: no registry is asked. */
export async function importImages(node: NodeCoordinates): Promise<void> {
  await run(join(repository, 'test/cluster/base-image.sh'), [storageIn(node), base]);
  const before = firstRelease(node);
  await mkdir(before);
  await run('tar', ['-xJf', join(import.meta.dirname, 'lyceum-0.1.0.tar.xz'), '-C', before]);
  for (const checkout of [repository, before]) await importImage(node, checkout);
}

const storageIn = ({ folder }: NodeCoordinates): string => join(folder, 'images');

async function importImage(node: NodeCoordinates, checkout: string): Promise<void> {
  const { folder, programs, containerd } = node;
  const storage = storageIn(node);
  const name = await imageOf(checkout);
  const buildah = (...args: string[]) =>
    run(
      'buildah',
      ['--root', join(storage, 'root'), '--runroot', join(storage, 'run'), '--storage-driver', 'vfs', ...args],
      { maxBuffer: 2 ** 24 },
    );
  const cache = (await run('npm', ['config', 'get', 'cache'], { cwd: repository })).stdout.trim();
  await buildah(
    ...['bud', '--isolation', 'chroot', '--build-arg', `BASE=${base}`, '--volume', `${cache}:/root/.npm`],
    ...['--tag', name, checkout],
  );
  const archive = join(folder, `${name.replace(/^.*:/, '')}.image.tar`);
  await buildah('push', '--quiet', name, `docker-archive:${archive}:${name}`);
  const ctr = join(programs.containerd, 'ctr');
  await run(ctr, ['--address', containerd, '--namespace', 'k8s.io', 'images', 'import', archive]);
}
