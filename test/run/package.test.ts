// The package that `npm pack` makes: whoever has it checks a folder without a checkout, and gets the same answers.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../..');

let folder: string;
let installed: string;
let program: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-package-'));
  // In a copy, so that two runs at once do not build into one folder.
  const checkout = join(folder, 'checkout');
  const tracked = [
    'package.json',
    'LICENSE',
    'README.md',
    'packaging',
    'catalogue',
    'upstream',
    'operator',
    'server',
    'sync',
    'cli',
  ];
  for (const name of tracked) await cp(join(repository, name), join(checkout, name), { recursive: true });
  // By the Node that runs the tests, whichever stands first in the PATH.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: checkout, env });
  const [archive] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  await run('tar', ['-xzf', join(folder, archive!), '-C', folder]);
  installed = join(folder, 'node_modules/lyceum');
  await mkdir(join(folder, 'node_modules'));
  await run('mv', [join(folder, 'package'), installed]);
  // What npm would install beside it, without asking a registry.
  const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies)) {
    const to = join(folder, 'node_modules', name);
    await mkdir(join(to, '..'), { recursive: true });
    await symlink(join(repository, 'node_modules', name), to);
  }
  program = join(installed, 'build/lyceum.js');
});
after(() => rm(folder, { recursive: true, force: true }));

const answer = async (args: string[], from?: string) => {
  await using process = new LyceumProcess(args, from === undefined ? {} : { program: from });
  return { code: await process.ended(), output: process.output, errors: process.errors };
};

test('a folder that is fine, and one that is not, are checked as a checkout checks them', async () => {
  const broken = join(folder, 'broken');
  await mkdir(join(broken, 'skills/nameless'), { recursive: true });
  await writeFile(join(broken, 'skills/nameless/SKILL.md'), '---\ndescription: [\n---\nText.\n');
  for (const checked of [join(repository, 'examples/quickstart'), broken]) {
    assert.deepEqual(await answer(['check', checked], program), await answer(['check', checked]), checked);
  }
});

test('it tells its version', async () => {
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
  assert.deepEqual((await answer(['--version'], program)).output, [version]);
});

test('it serves a folder of manifests, pages and their Markdown included', async () => {
  const volume = join(folder, 'volume');
  const quickstart = join(repository, 'examples/quickstart');
  await using process = new LyceumProcess(['run', quickstart, '--port', '0', '--volume', volume], { program });
  const url = await eventually('it serves', () => /http:\/\/\S+(?=\/mcp$)/m.exec(process.said)?.[0]);
  const page = await eventually('the page of a skill', async () => {
    const response = await fetch(`${url}/skills/house-style`);
    return response.ok ? await response.text() : undefined;
  });
  assert.match(page!, /<article class="markdown"[^>]*><h2/);
});

test('an older Node is told which one it takes, not that it cannot read the program', () => {
  const older = "Object.defineProperty(process, 'versions', { value: { node: '20.19.0' } })";
  const preloaded = join(folder, 'older.cjs');
  return writeFile(preloaded, older).then(() => {
    const { status, stderr } = spawnSync(process.execPath, ['--require', preloaded, program], { encoding: 'utf8' });
    assert.equal(status, 1);
    assert.match(stderr, /^lyceum needs Node 24\.12 or newer, and this is 20\.19\.0/);
  });
});

test('it holds programs alone, as JavaScript, and what they import it depends on', async () => {
  const files = (await readdir(installed, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(installed.length + 1));
  assert.deepEqual(
    paths.filter((path) => path.endsWith('.ts') || path.startsWith('test')),
    [],
  );
  const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  const known = new Set([...Object.keys(dependencies), ...builtinModules.map((name) => `node:${name}`)]);
  for (const path of paths.filter((name) => name.endsWith('.js'))) {
    const text = await readFile(join(installed, path), 'utf8');
    for (const [, imported] of text.matchAll(/^(?:import|export) [^'"]*from '([^.'][^']*)';$/gm)) {
      const name = imported!.startsWith('@') ? imported!.split('/', 2).join('/') : imported!.split('/', 1)[0]!;
      assert.ok(known.has(name) || known.has(imported!), `${path} imports ${imported}`);
    }
  }
});
