// Whose volume a folder is: `lyceum run` uses none that somebody else publishes to, since it would collect what is there.
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Volume } from '../../operator/publish/volume.ts';

const marker = 'lyceum-run';

/**
 * @param root the manifest folder's real path
 * @throws Error when the folder holds another catalogue than that of these manifests
 */
export async function checkVolume(volume: string, root: string): Promise<void> {
  const owner = await readFile(join(volume, marker), 'utf8').catch(() => undefined);
  if (owner === root || (owner === undefined && !(await holdsCatalogue(volume)))) return;
  const whose = owner === undefined ? 'of an operator' : `of ${owner}`;
  throw new Error(`${volume} holds the catalogue ${whose}: choose another folder with --volume, or remove this one`);
}

/** Says whose catalogue it is from now on. @throws SourceFault StorageFailed where the folder cannot be used as a volume */
export const markVolume = (volume: string, root: string): Promise<void> =>
  Volume.at(volume).write(marker, Buffer.from(root));

const holdsCatalogue = async (volume: string): Promise<boolean> =>
  (await isThere(join(volume, 'gateways'))) || (await isThere(join(volume, 'sources')));

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
