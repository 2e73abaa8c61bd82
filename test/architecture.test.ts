// The house: which room may use which, and the habits that every module keeps.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';

const repository = join(import.meta.dirname, '..');

/** Each room, and the others that it may import. */
const rooms: Record<string, readonly string[]> = {
  catalogue: [],
  upstream: [],
  operator: ['catalogue', 'upstream'],
  server: ['catalogue', 'upstream'],
  sync: ['catalogue'],
  cli: ['catalogue', 'upstream', 'operator', 'server', 'sync'],
};

const longestModule = 400;

interface Module {
  /** From the repository's root. */
  path: string;
  room: string;
  text: string;
  /** As written; whether it is types only; the file from the repository's root, where it is one of ours. */
  imports: { name: string; erased: boolean; target: string | undefined }[];
}

/** `import … from '…'`, `export … from '…'`, `import '…'` at the start of a line; `import('…')` anywhere. */
const importing =
  /^(?:import|export)\s+(type\s)?[^;'"`=]*?\sfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

function modulesOf(room: string): Module[] {
  const folder = join(repository, room);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8');
      const found = [...text.matchAll(importing)].map(([, type, from, bare, dynamic]) => ({
        name: (from ?? bare ?? dynamic)!,
        erased: type !== undefined,
      }));
      const target = (written: string) => relative(repository, join(folder, dirname(name), written));
      const imports = found.map((one) => ({ ...one, target: one.name.startsWith('.') ? target(one.name) : undefined }));
      return { path: `${room}/${name}`, room, text, imports };
    });
}

const modules = Object.keys(rooms).flatMap(modulesOf);

test('a room imports only the rooms that it may', () => {
  const crossed = modules.flatMap(({ path, room, imports }) =>
    imports
      .map(({ target }) => target)
      .filter((target) => target !== undefined && target !== 'package.json')
      .filter((target) => ![room, ...rooms[room]!].includes(target!.split('/')[0]!))
      .map((target) => `${path} imports ${target}`),
  );
  assert.deepEqual(crossed, []);
});

test('every import names a file that is there, a package of the product, or a part of Node', () => {
  const { dependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  const stands = ({ name, target }: Module['imports'][number]): boolean => {
    if (target !== undefined) return existsSync(join(repository, target));
    if (name.startsWith('node:')) return isBuiltin(name);
    const words = name.split('/');
    return words.slice(0, name.startsWith('@') ? 2 : 1).join('/') in dependencies;
  };
  const wrong = modules.flatMap(({ path, imports }) =>
    imports.filter((one) => !stands(one)).map(({ name }) => `${path} imports ${name}`),
  );
  assert.deepEqual(wrong, []);
});

test('no circle of imports', () => {
  const targets = new Map(
    modules.map(({ path, imports }) => [
      path,
      imports.filter(({ erased }) => !erased).flatMap(({ target }) => target ?? []),
    ]),
  );
  const [open, done] = [new Set<string>(), new Set<string>()];
  const circles: string[] = [];
  const visit = (path: string): void => {
    if (open.has(path)) circles.push([...open, path].slice([...open].indexOf(path)).join(' → '));
    if (open.has(path) || done.has(path)) return;
    open.add(path);
    for (const target of targets.get(path) ?? []) visit(target);
    open.delete(path);
    done.add(path);
  };
  for (const path of targets.keys()) visit(path);
  assert.deepEqual(circles, []);
});

test('every module says its one job in its first line', () => {
  const silent = modules.filter(({ text }) => {
    const [first, second] = text.split('\n');
    return !/^\/\/ \S.{10,}/.test(first!.startsWith('#!') ? second! : first!);
  });
  assert.deepEqual(
    silent.map(({ path }) => path),
    [],
  );
});

test(`no module is longer than ${longestModule} lines`, () => {
  const long = modules.filter(({ text }) => text.split('\n').length > longestModule + 1);
  assert.deepEqual(
    long.map(({ path, text }) => `${path}: ${text.split('\n').length - 1}`),
    [],
  );
});

test('every package has an exact version', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    assert.match(String(version), /^(npm:@?[a-z/-]+@)?\d+\.\d+\.\d+(-[0-9a-z.]+)?$/, name);
  }
});

test('the lock file names no registry, and a digest for every package', () => {
  const { packages } = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8'));
  for (const [name, entry] of Object.entries<{ resolved?: string; integrity?: string }>(packages)) {
    if (name === '') continue;
    assert.equal(entry.resolved, undefined, name);
    assert.match(entry.integrity ?? '', /^sha512-/, name);
  }
});

test('make help has a line for every target', () => {
  const makefile = readFileSync(join(repository, 'Makefile'), 'utf8');
  const targets = /^\.PHONY: (.*)$/m.exec(makefile)![1]!.split(' ');
  const { status, stdout } = spawnSync('make', ['--no-print-directory'], { cwd: repository, encoding: 'utf8' });
  assert.equal(status, 0);
  const lines = stdout.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => /^ {2}make (\S+) +\S/.exec(line)?.[1]),
    targets,
  );
});
