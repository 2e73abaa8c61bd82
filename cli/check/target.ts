// What `lyceum check` is pointed at: a repository, a bucket, an artifact, an index, a folder of skills, or manifests.
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export type Target =
  | { kind: 'repository'; url: string }
  | { kind: 'folder'; folder: string }
  | { kind: 'manifests'; folder: string; only?: string };

const manifestName = /\.(ya?ml|json)$/;
/** In bytes. */
const largestManifest = 4 * 1024 * 1024;
const ownResource = /^\s*"?apiVersion"?\s*:\s*"?lyceum\.dev\//m;

/** @throws Error when there is nothing of that name */
export async function targetOf(argument: string): Promise<Target> {
  if (
    /^(github|git\+https?|s3(\+https?)?|oci(\+http)?):\/\//.test(argument) ||
    /^https?:\/\/.*\/index\.json$/.test(argument)
  ) {
    return { kind: 'repository', url: argument };
  }
  if (argument.includes('://') || /^[^/]+@[^/]+:/.test(argument)) {
    throw new Error(
      'a repository is named as github://OWNER/REPOSITORY or git+https://HOST/PATH, a bucket as s3://BUCKET/PREFIX or ' +
        's3+https://HOST/BUCKET/PREFIX, an OCI artifact as oci://HOST/REPOSITORY:TAG, a discovery index as https://HOST/.well-known/agent-skills/index.json; what is on ' +
        'disk, by its folder; a WebDAV folder, git over SSH, and a bucket or an artifact that wants credentials, by the folder of the ' +
        'manifests of its SkillSource and Secret',
    );
  }
  const found = await stat(argument).catch(() => undefined);
  if (found?.isFile() && manifestName.test(argument)) {
    const path = await realpath(argument);
    return { kind: 'manifests', folder: dirname(path), only: basename(path) };
  }
  if (!found?.isDirectory())
    throw new Error(
      `${argument} is neither a folder, nor a YAML file, nor a URL with a scheme: write github://OWNER/REPOSITORY for a repository, and the folder for a SKILL.md`,
    );
  const folder = await realpath(argument);
  return (await holdsManifests(folder)) ? { kind: 'manifests', folder } : { kind: 'folder', folder };
}

/** A folder of skills may hold YAML files too; only Lyceum's own resources make a folder one of manifests. */
async function holdsManifests(folder: string): Promise<boolean> {
  for (const name of await readdir(folder)) {
    if (!manifestName.test(name)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (!found?.isFile() || found.size > largestManifest) continue;
    if (ownResource.test(await readFile(path, 'utf8').catch(() => ''))) return true;
  }
  return false;
}
