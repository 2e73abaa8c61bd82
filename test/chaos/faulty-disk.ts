// A disk of its own that really is full, read-only or gone, from one file operation to the next, and well again at once. For root.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

export const faults = ['full', 'almost full', 'out of inodes', 'read-only', 'gone'] as const;
export type Fault = (typeof faults)[number];

const whole = 'size=64m,nr_inodes=50000';
/** What a disk that is almost full still takes. */
const lastBytes = 8192;

/** Everything is done before a call returns, so that a program can do it to its own disk between two operations. */
export class FaultyDisk implements Disposable {
  readonly path: string;
  readonly #readOnly: string;
  readonly #nothing: string;

  /** One that is mounted already. @param folder what `mount` was given */
  constructor(folder: string) {
    this.path = join(folder, 'volume');
    this.#readOnly = join(folder, 'read-only');
    this.#nothing = join(folder, 'nothing');
  }

  /** @param folder a new one, which is removed with the disk */
  static mount(folder: string): FaultyDisk {
    const disk = new FaultyDisk(folder);
    for (const path of [disk.path, disk.#readOnly, disk.#nothing]) mkdirSync(path, { recursive: true });
    mount(['-t', 'tmpfs', '-o', whole, 'tmpfs', disk.path]);
    mount(['--make-private', disk.path]);
    // A mount that is laid over another takes no file that is open into account, as `remount,ro` would.
    mount(['--bind', disk.path, disk.#readOnly]);
    mount(['-o', 'remount,bind,ro', disk.#readOnly]);
    mount(['-t', 'tmpfs', '-o', 'ro', 'tmpfs', disk.#nothing]);
    return disk;
  }

  strike(fault: Fault): void {
    if (fault === 'read-only') mount(['--bind', this.#readOnly, this.path]);
    else if (fault === 'gone') mount(['--bind', this.#nothing, this.path]);
    else this.#shrink(fault);
  }

  /** Another thread may be writing, and no disk may be made smaller than what is on it: hence more than one turn. */
  #shrink(fault: Exclude<Fault, 'read-only' | 'gone'>): void {
    for (let turn = 0; turn < 100; turn++) {
      const { blocks, bfree, bsize, files, ffree } = statfsSync(this.path);
      const used = (blocks - bfree) * bsize;
      const option = {
        full: `size=${used}`,
        'almost full': `size=${used + lastBytes}`,
        'out of inodes': `nr_inodes=${files - ffree}`,
      }[fault];
      if (spawnSync('mount', ['-o', `remount,${option}`, this.path]).status === 0) return;
    }
    throw new Error(`the disk cannot be made ${fault}`);
  }

  lift(fault: Fault): void {
    if (fault === 'read-only' || fault === 'gone') run('umount', ['--lazy', this.path]);
    else mount(['-o', `remount,${whole}`, this.path]);
  }

  [Symbol.dispose](): void {
    for (const path of [this.path, this.#readOnly, this.#nothing]) {
      while (spawnSync('umount', ['--lazy', path]).status === 0);
      rmSync(path, { recursive: true, force: true });
    }
  }
}

const mount = (args: readonly string[]): void => run('mount', args);

function run(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
}
