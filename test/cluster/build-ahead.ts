// Builds programs before the tests that need them: that takes longer than a test may, and needs a network.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** @param parts of build.sh; what cannot be built is told by the tests that need it */
export async function buildAhead(...parts: string[]): Promise<void> {
  for (const part of parts) {
    const build = spawn(join(import.meta.dirname, 'build.sh'), [part], { stdio: ['ignore', 'ignore', 'inherit'] });
    await once(build, 'exit');
  }
}
