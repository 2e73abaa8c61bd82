// A container image from a folder, without a registry or a daemon.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

const architectures: Partial<Record<string, string>> = { x64: 'amd64' };

/**
 * Writes an archive that `ctr images import` takes.
 * @param name with its tag, as pods name it
 * @param root becomes the image's root; everything in it belongs to root there
 * @param config `Entrypoint`, `User` and so on, as the image specification has them
 */
export async function writeImage(name: string, root: string, config: object, archive: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'lyceum-image-'));
  try {
    const layer = join(work, 'layer.tar');
    await run('tar', ['-C', root, '--numeric-owner', '--owner=0', '--group=0', '-cf', layer, '.']);
    const hash = createHash('sha256');
    await pipeline(createReadStream(layer), hash);
    const image = {
      architecture: architectures[arch()] ?? arch(),
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: [`sha256:${hash.digest('hex')}`] },
    };
    await writeFile(join(work, 'config.json'), JSON.stringify(image));
    const manifest = [{ Config: 'config.json', RepoTags: [name], Layers: ['layer.tar'] }];
    await writeFile(join(work, 'manifest.json'), JSON.stringify(manifest));
    await run('tar', ['-C', work, '-cf', archive, 'config.json', 'manifest.json', 'layer.tar']);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
