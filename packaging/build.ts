// What `npm pack` packs: the programs as JavaScript, since Node strips no types below node_modules. Written to build/, anew each time.
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';

const repository = join(import.meta.dirname, '..');
const build = join(repository, 'build');
const rooms = ['catalogue', 'upstream', 'operator', 'server', 'sync', 'cli'];

/** A module's own files, by the name that they have here: `from './x.ts'`, `import('./x.ts')`, `new URL('./x.ts', …)`. */
const ownModule = /(['"]\.{1,2}\/[^'"\n]*)\.ts(['"])/g;

async function packFile(path: string): Promise<void> {
  const to = join(build, path);
  await mkdir(dirname(to), { recursive: true });
  if (!path.endsWith('.ts')) return cp(join(repository, path), to);
  const code = stripTypeScriptTypes(await readFile(join(repository, path), 'utf8'));
  await writeFile(to.replace(/\.ts$/, '.js'), code.replaceAll(ownModule, '$1.js$2'));
}

await rm(build, { recursive: true, force: true });
for (const room of rooms) {
  const entries = await readdir(join(repository, room), { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    if (entry.isFile()) await packFile(join(entry.parentPath, entry.name).slice(repository.length + 1));
  }
}
const { name, version, type } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
await writeFile(join(build, 'package.json'), JSON.stringify({ name, version, type }));
await cp(join(import.meta.dirname, 'lyceum.js'), join(build, 'lyceum.js'));
