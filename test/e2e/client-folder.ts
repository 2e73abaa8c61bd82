// What client pods mount: the client's program and the packages that it needs, which are not in the image.
import { copyFile, cp, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const repository = join(import.meta.dirname, '../..');

/** The packages that the client imports. */
const wanted = ['n8n-sdk', '@modelcontextprotocol/client', 'undici'];

type Lock = Record<string, { dependencies?: Record<string, string> }>;

/** The folder of a package as seen from another's, as Node looks for it. */
function resolve(lock: Lock, from: string, name: string): string | undefined {
  for (let folder = from; ; ) {
    const candidate = join(folder, 'node_modules', name);
    if (candidate in lock) return candidate;
    if (folder === '') return undefined;
    const outer = folder.lastIndexOf('/node_modules/');
    folder = outer < 0 ? '' : folder.slice(0, outer);
  }
}

/** The folders of the packages and of all that they depend on. */
function closure(lock: Lock): Set<string> {
  const found = new Set<string>();
  const add = (from: string, name: string): void => {
    const folder = resolve(lock, from, name);
    if (folder === undefined || found.has(folder)) return;
    found.add(folder);
    for (const dependency of Object.keys(lock[folder]!.dependencies ?? {})) add(folder, dependency);
  };
  for (const name of wanted) add('', name);
  return found;
}

/** Where the client's folder is, in the node's. */
export const clientFolder = (nodeFolder: string): string => join(nodeFolder, 'client');

export async function copyClient(nodeFolder: string): Promise<void> {
  const { packages } = JSON.parse(await readFile(join(repository, 'package-lock.json'), 'utf8')) as { packages: Lock };
  const target = clientFolder(nodeFolder);
  await mkdir(target);
  await copyFile(join(import.meta.dirname, 'client.ts'), join(target, 'client.ts'));
  for (const folder of [...closure(packages)].sort()) {
    await mkdir(join(target, dirname(folder)), { recursive: true });
    await cp(join(repository, folder), join(target, folder), { recursive: true });
  }
}
