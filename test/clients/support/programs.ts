// Client programs that are no package of the repository's: installed once into a folder outside the checkout, exactly as
// their lists in programs/ say, and found there from then on.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { access, cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

interface Program {
  /** The file of `programs/<name>/` that says what is installed; its digest is part of the folder's name. */
  list: string;
  /** Installs into `folder`, where a copy of `programs/<name>/` stands. */
  install(folder: string): Promise<void>;
  /** What must be there in the end. */
  entry: string;
  remedy: string;
}

const npm: Pick<Program, 'list' | 'install' | 'remedy'> = {
  list: 'package-lock.json',
  // Not `npm ci`: it refuses lists without the optional packages of other systems.
  install: (folder) => command('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'], folder),
  remedy: 'npm must reach its registry',
};

const programs = {
  inspector: { ...npm, entry: 'node_modules/.bin/mcp-inspector' },
  'claude-code': { ...npm, entry: 'node_modules/.bin/claude' },
  fastmcp: {
    list: 'requirements.txt',
    entry: 'venv/bin/python',
    remedy: 'Python 3.11 or newer with venv (Debian: python3-venv) must be there, and pip must reach its index',
    async install(folder: string): Promise<void> {
      await command('python3', ['-m', 'venv', 'venv'], folder);
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
      await command('venv/bin/python', [...pip, '--require-hashes', '-r', 'requirements.txt'], folder);
    },
  },
} satisfies Record<string, Program>;

export type ProgramName = keyof typeof programs;
export const programNames = Object.keys(programs) as ProgramName[];

/**
 * @returns the path of the program, which is installed first where it is not there
 * @throws Error when it cannot be installed, with what it needs
 */
export async function program(name: ProgramName): Promise<string> {
  const { list, entry, install, remedy }: Program = programs[name];
  const lists = join(import.meta.dirname, '../programs', name);
  const digest = createHash('sha256').update(await readFile(join(lists, list)));
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'lyceum/clients');
  const folder = join(cache, `${name}-${digest.digest('hex').slice(0, 16)}`);
  if (await isThere(join(folder, entry))) return join(folder, entry);
  console.error(`Installing ${name} into ${cache}: only this once.`);
  await mkdir(cache, { recursive: true });
  const building = await mkdtemp(join(cache, `${name}.`));
  try {
    await cp(lists, building, { recursive: true });
    await install(building);
    // Whoever was quicker is as good. What a venv's scripts name is the folder that they were made in: only its python is run.
    await rename(building, folder).catch(() => undefined);
    await access(join(folder, entry));
  } catch (fault) {
    throw new Error(`${name} cannot be installed: ${(fault as Error).message}. ${remedy}.`);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return join(folder, entry);
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** @throws Error with what it said, when it ends badly */
async function command(file: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(file, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${code}: ${said.slice(-1000)}`);
}

export interface Ended {
  code: number | null;
  output: string;
  errors: string;
}

/** Runs a program to its end, within two minutes. @param environment added to nothing but PATH */
export async function runProgram(
  file: string,
  args: readonly string[],
  { cwd, environment = {} }: { cwd?: string; environment?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
  const child = spawn(file, args, {
    ...(cwd === undefined ? {} : { cwd }),
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
  });
  const ended: Ended = { code: null, output: '', errors: '' };
  child.stdout.on('data', (chunk) => (ended.output += chunk));
  child.stderr.on('data', (chunk) => (ended.errors += chunk));
  const [code] = await once(child, 'close');
  return { ...ended, code };
}
