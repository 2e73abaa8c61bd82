// Damaged input at everything that reads what others send: whatever comes, nothing crashes, hangs or swells, and every fault is foreseen.
// FUZZ_SECONDS=10 makes it shorter, FUZZ_SEED repeats one, FUZZ_TARGETS=packs,globs feeds some of them.
import { fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { targets } from './fuzz/targets.ts';
import { type Outcome, type Proof, selection, size } from './proof.ts';

const mebibyte = 2 ** 20;
/** How long nothing may be heard, in milliseconds: one input that takes longer holds everything up. */
const longestSilence = 20_000;
/** What a target is prepared in, with the real programs that it takes its inputs of. */
const longestPreparation = 90_000;
const mostResident = 1024 * mebibyte;
/** What may be held more at the end than after a fifth of the time. */
const mostGrowth = 32 * mebibyte;

export const fuzz: Proof = {
  name: 'fuzz',
  says: 'damaged input, 10 minutes each: no crash, no hang, no growth, no fault that is not foreseen',
  async run(progress): Promise<Outcome> {
    const seconds = size('FUZZ_SECONDS', 600);
    const seed = size('FUZZ_SEED', randomInt(1, 2 ** 31));
    const names = targets.map(({ name }) => name);
    const wanted = selection('FUZZ_TARGETS', names);
    progress(`FUZZ_SEED=${seed}`);
    const broken: string[] = [];
    let inputs = 0;
    const left = names.filter((name) => wanted.includes(name));
    const fed = left.length;
    const feeding = async (): Promise<void> => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        const { inputs: many, resident, fault } = await feedOne(name, seconds, seed);
        inputs += many;
        if (fault !== undefined) broken.push(fault);
        const memory = `${Math.round(resident / mebibyte)} MiB at most`;
        progress(`${name}: ${many.toLocaleString('en')} inputs, ${memory}${fault === undefined ? '' : ', BROKEN'}`);
      }
    };
    await Promise.all(Array.from({ length: availableParallelism() }, feeding));
    return { figures: { targets: fed, inputs, faults: broken.length }, broken };
  },
};

interface Fed {
  inputs: number;
  /** The most memory that it had, in bytes. */
  resident: number;
  /** What did not hold, and where the input is kept. */
  fault: string | undefined;
}

async function feedOne(name: string, seconds: number, seed: number): Promise<Fed> {
  const folder = await mkdtemp(join(tmpdir(), `lyceum-fuzz-${name}-`));
  const child = fork(join(import.meta.dirname, 'fuzz/child.ts'), [name, folder, String(seconds), String(seed)], {
    execArgv: ['--expose-gc', '--max-old-space-size=512'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const began = performance.now();
  let said = '';
  let inputs = 0;
  let heard = began + longestPreparation - longestSilence;
  let resident = 0;
  let settled = 0;
  let held = 0;
  let why: string | undefined;
  child.stderr!.on('data', (piece) => {
    said = (said + String(piece)).slice(-4000);
  });
  child.on('message', (message) => {
    ({ inputs, held } = message as { inputs: number; held: number });
    heard = performance.now();
    if (heard - began < (seconds * 1000) / 5) settled = Math.max(settled, held);
  });
  const end = (words: string): void => {
    why ??= words;
    child.kill('SIGKILL');
  };
  const watch = setInterval(() => {
    if (performance.now() - heard > longestSilence) end(`one input took more than ${longestSilence / 1000} s`);
    void residentOf(child.pid!).then((bytes) => {
      resident = Math.max(resident, bytes);
      if (bytes > mostResident) end(`it took ${Math.round(bytes / mebibyte)} MiB`);
    });
  }, 250);
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  clearInterval(watch);
  if (why === undefined && code !== 0) why = `it ended with ${code}: ${said.trim()}`;
  if (why === undefined && settled > 0 && held - settled > mostGrowth) {
    why = `it held ${Math.round((held - settled) / mebibyte)} MiB more at the end`;
  }
  if (why === undefined) {
    await rm(folder, { recursive: true, force: true });
    return { inputs, resident, fault: undefined };
  }
  const kept = join(tmpdir(), `lyceum-fuzz-${name}-${seed}.input`);
  await copyFile(join(folder, 'input'), kept).catch(() => {});
  await rm(folder, { recursive: true, force: true });
  const again = `node test/chaos/fuzz/child.ts ${name} "$(mktemp -d)" ${kept}`;
  return { inputs, resident, fault: `${name}: ${why}; again: ${again}` };
}

async function residentOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
