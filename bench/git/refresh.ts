// A refresh of a large repository: what it costs when nothing has changed, and when one file has.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GitFixture, git } from '../../test/fixtures/git-repository.ts';
import { Child } from '../child.ts';
import { atMost, type Figure, figure, median } from '../figures.ts';
import type { LookAnswer, LookQuestion } from './harvester-process.ts';
import type { MeasuredRepository } from './repository.ts';
import type { Traffic } from './server-process.ts';

const rounds = 5;
const changedFile = 'skills/skill-7/SKILL.md';

/** @param temporary a folder on the file system that is measured */
export async function refresh(repository: MeasuredRepository, temporary: string): Promise<Figure[]> {
  const root = join(temporary, 'served');
  const folder = join(root, repository.name);
  const fixture = await GitFixture.create(folder);
  await mkdir(join(folder, 'objects/info'), { recursive: true });
  await writeFile(join(folder, 'objects/info/alternates'), `${join(repository.root, repository.name, 'objects')}\n`);
  const tip = (await git(['rev-parse', 'HEAD'], join(repository.root, repository.name))).trim();
  await git(['update-ref', 'refs/heads/main', tip], folder);

  await using server = new Child('git/server-process.ts', { args: [root] });
  await using harvester = new Child('git/harvester-process.ts');
  const spec = { url: `git+${await server.ask<string>('origin')}/${repository.name}` };
  const look = async (again: boolean, found: LookAnswer['found']): Promise<Traffic & LookAnswer> => {
    const question: LookQuestion = { volume: join(temporary, 'volume'), spec, again };
    const answer = await harvester.ask<LookAnswer>(question);
    if (answer.found !== found) throw new Error(`the look found ${answer.found} where ${found} was expected`);
    return { ...answer, ...(await server.ask<Traffic>('traffic')) };
  };
  await look(false, 'published');
  const unchanged: (Traffic & LookAnswer)[] = [];
  const changed: (Traffic & LookAnswer)[] = [];
  for (let round = 0; round < rounds; round++) {
    unchanged.push(await look(true, 'unchanged'));
    await commitChange(fixture, round);
    changed.push(await look(true, 'published'));
  }
  await rm(join(temporary, 'volume'), { recursive: true, force: true });
  const worst = (looks: Traffic[], what: keyof Traffic) => Math.max(...looks.map((one) => one[what]));
  return [
    figure('git, refresh, nothing changed: bytes', worst(unchanged, 'bytes'), 'bytes', atMost(1024)),
    figure('git, refresh, nothing changed: requests', worst(unchanged, 'requests'), 'requests', atMost(2)),
    figure('git, refresh, one file changed: bytes', worst(changed, 'bytes'), 'bytes', atMost(16_384)),
    figure('git, refresh, one file changed: requests', worst(changed, 'requests'), 'requests'),
    figure('git, refresh, nothing changed: wall time', median(unchanged.map((one) => one.milliseconds)), 'ms'),
    figure('git, refresh, one file changed: wall time', median(changed.map((one) => one.milliseconds)), 'ms'),
  ];
}

/** A commit onto main that appends a line to one skill. */
async function commitChange(fixture: GitFixture, round: number): Promise<void> {
  const text = await git(['show', `main:${changedFile}`], fixture.folder);
  const content = `${text}Round ${round}.\n`;
  const stream = `commit refs/heads/main\ncommitter Ada <ada@example.com> ${1_800_000_000 + round} +0000\ndata 6\nChange\nfrom refs/heads/main^0\nM 100644 inline ${changedFile}\ndata ${Buffer.byteLength(content)}\n${content}\n`;
  await fixture.fastImport(stream);
}
