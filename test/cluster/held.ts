// Starts a cluster's program and holds it: it ends when disposed, or when this process ends in whatever way.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A cluster that was started here, and how to end it. */
export interface Held<Where> extends AsyncDisposable {
  coordinates: Where;
  /** Says a line to the program; resolves when it has answered with the same. @throws when it ends instead */
  command(line: string): Promise<void>;
}

/**
 * @param program `control-plane.ts` or `node.ts`; it prints where the cluster is as a line of JSON and ends with its stdin
 * @throws when it ends without that line; it has told then what is missing
 */
export async function startHeld<Where>(program: string, ...args: string[]): Promise<Held<Where>> {
  const child = spawn(process.execPath, [join(import.meta.dirname, program), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([once(lines, 'line'), once(lines, 'close')])) as [string?];
  if (line === undefined) throw new Error('the Kubernetes for the tests did not start; what is missing is told above');
  // A process that only waits for the cluster may end: it takes the cluster with it.
  child.unref();
  for (const stream of [child.stdin, child.stdout] as unknown as Socket[]) stream.unref();
  return {
    coordinates: JSON.parse(line),
    command: async (said) => {
      const answered = Promise.race([once(lines, 'line'), once(lines, 'close')]);
      child.stdin.write(`${said}\n`);
      const [answer] = (await answered) as [string?];
      if (answer !== said) throw new Error(`the Kubernetes for the tests did not do it: ${said}`);
    },
    [Symbol.asyncDispose]: async () => {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}
