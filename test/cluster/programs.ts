// The programs that a cluster for tests is made of: started with a log each, waited for, and ended together.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

const startSeconds = 60;

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

export class Programs {
  /** Holds the logs, `<name>.log`; the programs' working directory. */
  readonly folder: string;
  /** What was started, and whether it leads a process group that must end with it. */
  readonly #running: { name: string; process: ChildProcess; group: boolean }[] = [];
  /** How each program of `start` is started again. */
  readonly #commands = new Map<string, { program: string; args: readonly string[] }>();
  #ending: Promise<void> | undefined;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Starts a program, unless all is ending. */
  launch(name: string, program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
    if (this.#ending) throw new Error('ending');
    const child = spawn(program, args, options);
    this.#running.push({ name, process: child, group: options.detached ?? false });
    return child;
  }

  /** Starts a program whose output goes to its log. */
  async start(name: string, program: string, args: readonly string[]): Promise<void> {
    this.#commands.set(name, { program, args });
    const log = await open(join(this.folder, `${name}.log`), 'w');
    try {
      this.launch(name, program, args, { cwd: this.folder, stdio: ['ignore', log.fd, log.fd] });
    } finally {
      await log.close();
    }
  }

  /** Ends one program with SIGKILL; resolves when it is gone. */
  async kill(name: string): Promise<void> {
    const found = this.#running.find((one) => one.name === name);
    if (found === undefined) throw new Error(`no ${name} is running`);
    this.#running.splice(this.#running.indexOf(found), 1);
    const { process: child } = found;
    if (hasEnded(child)) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  /** Starts a program that was killed, as it was started before. */
  async restart(name: string): Promise<void> {
    const command = this.#commands.get(name);
    if (command === undefined) throw new Error(`no ${name} has been started`);
    await this.start(name, command.program, command.args);
  }

  /** Waits until the check passes. @throws when a program ends meanwhile, or after `startSeconds`, with the end of its log */
  async ready(name: string, check: () => Promise<unknown>): Promise<void> {
    const deadline = Date.now() + startSeconds * 1000;
    for (;;) {
      try {
        await check();
        return;
      } catch {}
      const dead = this.#running.find(({ process: child }) => hasEnded(child));
      if (dead || Date.now() > deadline) {
        const log = await readFile(join(this.folder, `${dead?.name ?? name}.log`), 'utf8');
        const what = dead ? `${dead.name} has ended` : `${name} is not ready after ${startSeconds} s`;
        throw new Error(`${what}; the end of its log:\n${log.slice(-2000)}`);
      }
      await pause(50);
    }
  }

  /** Runs build.sh, which may take minutes where programs are missing. @returns what it printed, trimmed */
  async build(...part: string[]): Promise<string> {
    const program = join(import.meta.dirname, 'build.sh');
    const build = this.launch('build.sh', program, part, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
    const printed = text(build.stdout!);
    const [code] = await once(build, 'close');
    this.#running.pop();
    if (code !== 0) throw new Error('The Kubernetes for the tests cannot be started: its programs are not there.');
    return (await printed).trim();
  }

  /** Ends the programs, the last started first; resolves when they are gone. */
  end(): Promise<void> {
    this.#ending ??= (async () => {
      const ended = this.#running.reverse().map(({ process: child, group }) => {
        if (child.pid === undefined || hasEnded(child)) return undefined;
        const exit = once(child, 'exit');
        // Nothing here outlives the tests, so nothing is worth a slow farewell.
        process.kill(group ? -child.pid : child.pid, 'SIGKILL');
        return exit;
      });
      await Promise.all(ended);
    })();
    return this.#ending;
  }
}

/**
 * Ends this program with its standard input, or at a signal: whoever starts it holds that open, so that it ends when the
 * holder ends, however that ends.
 */
export function endWithStandardInput(end: (code: number) => void): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end(1));
  process.stdin.on('end', () => end(0)).on('error', () => end(0));
  process.stdin.resume();
}
