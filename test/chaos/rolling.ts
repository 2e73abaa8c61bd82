// Three servers of a gateway on a real node, replaced again and again under calls of every sort: none of them fails. As root.
// CALLS=500 makes it shorter.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Outcome, type Proof, size } from './proof.ts';

/** What the story on the node tells, as JSON in the file that ROLLING_RESULT names. */
export interface Rolled {
  calls: number;
  failures: string[];
  /** Pods that were replaced. */
  pods: number;
  restarts: number;
  slowestMilliseconds: number;
}

const repository = join(import.meta.dirname, '../..');

export const rolling: Proof = {
  name: 'rolling',
  says: '3 server replicas on a real node, restarted, reshaped and deleted under 10,000 mixed calls, 0 failed',
  async run(progress): Promise<Outcome> {
    const calls = size('CALLS', 10_000);
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-rolling-'));
    const result = join(folder, 'result.json');
    try {
      const story = spawn(
        process.execPath,
        [join(repository, 'test/e2e/run.ts'), join(import.meta.dirname, 'rolling.story.ts')],
        {
          cwd: repository,
          env: { ...process.env, CALLS: String(calls), ROLLING_RESULT: result },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      );
      const said: string[] = [];
      for (const stream of [story.stdout, story.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          said.push(line);
          if (/^ *\d+ s {2}/.test(line)) progress(line.trim());
        });
      }
      const [code] = await once(story, 'close');
      const rolled = await readFile(result, 'utf8').then(
        (text) => JSON.parse(text) as Rolled,
        () => undefined,
      );
      if (rolled === undefined)
        return { figures: {}, broken: [`the story ended with ${code}: ${said.slice(-40).join('\n')}`] };
      const { failures, slowestMilliseconds, ...figures } = rolled;
      const broken = [...failures];
      if (code !== 0) broken.push(`the story ended with ${code}: ${said.slice(-40).join('\n')}`);
      if (rolled.calls < calls) broken.push(`${rolled.calls} calls of ${calls}`);
      return { figures: { ...figures, failed: failures.length, 'ms for the slowest': slowestMilliseconds }, broken };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
