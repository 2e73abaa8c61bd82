// The repository that is measured: a monorepo of more than 5,000 files and 100 MB with history and 20 skills, made once.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { GitFixture, git, gitEnvironment } from '../../test/fixtures/git-repository.ts';
import { Random } from '../random.ts';
import { skillText } from '../skill-text.ts';

export interface MeasuredRepository {
  /** The folder in which it lies, for a server's root. */
  root: string;
  /** Its own name in that folder. */
  name: string;
  /** What the last commit holds. */
  files: number;
  bytes: number;
}

const name = 'monorepo.git';
const skills = 20;
const commits = 9;
/** Text files that each commit after the first changes. */
const changes = 300;

/** The repository below the user's cache folder; the first call takes about half a minute. */
export async function measuredRepository(): Promise<MeasuredRepository> {
  const root = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'lyceum', 'bench', await version());
  const folder = join(root, name);
  if (!(await isThere(folder))) {
    const unfinished = `${root}.${process.pid}`;
    try {
      await generate(join(unfinished, name));
      await rename(unfinished, root);
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
  }
  const rows = (await git(['ls-tree', '-r', '-l', 'HEAD'], folder)).trim().split('\n');
  const bytes = rows.reduce((sum, row) => sum + Number(/^\S+ \S+ \S+ +(\d+)/.exec(row)![1]), 0);
  return { root, name, files: rows.length, bytes };
}

/** Another content needs another folder, so the folder is named after what makes it. */
async function version(): Promise<string> {
  const hash = createHash('sha256');
  for (const source of ['repository.ts', '../random.ts', '../skill-text.ts']) {
    hash.update(await readFile(join(import.meta.dirname, source)));
  }
  return hash.digest('hex').slice(0, 12);
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

async function generate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await GitFixture.create(folder);
  const importing = spawn('git', ['fast-import', '--quiet'], {
    cwd: folder,
    env: gitEnvironment,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = once(importing, 'close');
  for (const piece of importStream()) {
    if (!importing.stdin.write(piece)) await once(importing.stdin, 'drain');
  }
  importing.stdin.end();
  const [status] = await ended;
  if (status !== 0) throw new Error(`git fast-import ended with ${status}`);
  await git(['gc', '--quiet'], folder);
}

/** What `git fast-import` reads: all files, then commits that change some of them. */
function* importStream(): Generator<Buffer | string> {
  const random = new Random(20);
  const texts: { path: string; text: string }[] = [];
  yield commitHead(0);
  for (const { path, content } of firstFiles(random)) {
    yield* file(path, Buffer.from(content as string));
    if (typeof content === 'string') texts.push({ path, text: content });
  }
  for (let commit = 1; commit < commits; commit++) {
    yield commitHead(commit);
    for (let change = 0; change < changes; change++) {
      const { path, text } = texts[random.below(texts.length)]!;
      yield* file(path, Buffer.from(`${text}Changed in ${commit}: ${random.text(120)}\n`));
    }
  }
}

function* firstFiles(random: Random): Generator<{ path: string; content: string | Buffer }> {
  for (let skill = 0; skill < skills; skill++) {
    const folder = `skills/skill-${skill}`;
    yield { path: `${folder}/SKILL.md`, content: skillText(`skill-${skill}`, random) };
    for (let page = 0; page < 3; page++) {
      yield { path: `${folder}/references/page-${page}.md`, content: random.text(random.size(3000, 30_000)) };
    }
    yield { path: `${folder}/scripts/run.sh`, content: `#!/bin/sh\n${random.text(400)}` };
  }
  for (let number = 0; number < 5000; number++) {
    const path = `packages/package-${number % 40}/src/module-${number % 7}/file-${number}.ts`;
    yield { path, content: random.text(random.size(5000, 200_000)) };
  }
  for (let number = 0; number < 600; number++) {
    yield { path: `docs/chapter-${number % 30}/page-${number}.md`, content: random.text(random.size(4000, 100_000)) };
  }
  for (let number = 0; number < 350; number++) {
    yield {
      path: `assets/set-${number % 12}/picture-${number}.png`,
      content: random.bytes(random.size(120_000, 2 ** 21)),
    };
  }
}

const commitHead = (number: number): string => {
  const message = `Commit ${number}`;
  return `commit refs/heads/main\ncommitter Ada <ada@example.com> ${1_700_000_000 + number} +0000\ndata ${message.length}\n${message}\n`;
};

function* file(path: string, content: Buffer): Generator<Buffer | string> {
  yield `M 100644 inline ${path}\ndata ${content.length}\n`;
  yield content;
  yield '\n';
}
