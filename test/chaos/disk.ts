// The disk full, out of inodes, read-only or gone before each single write of a publication, and before an operator starts:
// reads go on, a status says so, and when the disk is well again all is served without a hand. Needs root, for the mounts.
// STEPS=3 tries fewer writes, HOLD=5 leaves the disk bad for a shorter time.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../fixtures/eventually.ts';
import { listSkills, writeEdition } from './editions.ts';
import { type Fault, FaultyDisk, faults } from './faulty-disk.ts';
import { type Outcome, type Proof, size } from './proof.ts';
import { Readers } from './readers.ts';
import { missing, Stage, started } from './stage.ts';
import { Strikes } from './strikes.ts';

/** How soon what was written meanwhile must be served once the disk is well again, in seconds. */
const recoverySeconds = 30;
/** So long after an edition is served its publication has no more writes, in milliseconds. */
const settledMilliseconds = 1_000;

export const disk: Proof = {
  name: 'disk',
  says: 'a disk full, out of inodes, read-only or gone at every write: 0 bad reads, 0 faults untold, recovery without a hand',
  async run(progress): Promise<Outcome> {
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-disk-'));
    try {
      using faulty = FaultyDisk.mount(folder);
      const proof = new DiskProof(faulty, new Strikes(folder), await Stage.open(faulty.path));
      await proof.run(progress);
      return proof.outcome();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

class DiskProof {
  readonly #disk: FaultyDisk;
  readonly #strikes: Strikes;
  readonly #stage: Stage;
  readonly #broken: string[] = [];
  #edition = 1;
  #struck = 0;
  #told = 0;
  #reads = 0;
  #slowest = 0;
  #left = 0;

  constructor(faulty: FaultyDisk, strikes: Strikes, stage: Stage) {
    this.#disk = faulty;
    this.#strikes = strikes;
    this.#stage = stage;
  }

  outcome(): Outcome {
    const figures = {
      'faults of the disk': this.#struck,
      'of them told in a status': this.#told,
      reads: this.#reads,
      'faults found': this.#broken.length,
      'milliseconds of the slowest recovery': this.#slowest,
      'files left in tmp/': this.#left,
    };
    return { figures, broken: this.#broken };
  }

  async run(progress: (line: string) => void): Promise<void> {
    const first = this.#stage.operator(this.#strikes.env);
    await using server = await this.#stage.server();
    const { url } = server;
    await eventually('the first edition', () => listSkills(url));
    const readers = new Readers(url, () => this.#edition, this.#broken);
    try {
      {
        await using operator = first;
        for (const fault of faults) {
          const tried = await this.#everyWrite(fault, url, readers);
          if (tried === 0) this.#broken.push(`${fault}: nothing was struck`);
          if (!operator.running) throw new Error(`the operator has ended: ${operator.said.slice(-2000)}`);
          progress(`${fault}: ${tried} writes, ${readers.reads} reads, ${this.#broken.length} bad`);
        }
      }
      for (const fault of faults) {
        await this.#start(fault, url, readers);
        progress(`${fault} before the start: ${readers.reads} reads, ${this.#broken.length} bad`);
      }
    } finally {
      await readers.stop();
      this.#reads = readers.reads;
      await first[Symbol.asyncDispose]();
    }
    this.#left = (await readdir(join(this.#disk.path, 'tmp'))).length;
  }

  /** @returns how many writes a publication has */
  async #everyWrite(fault: Fault, url: string, readers: Readers): Promise<number> {
    const most = size('STEPS', 1000);
    for (let at = 1; at <= most; at++) {
      this.#strikes.order(fault, at);
      await this.#write();
      if (!(await this.#isStruck(url))) return at - 1;
      const what = `${fault} at write ${at}`;
      await this.#bear(what, url, readers);
      this.#disk.lift(fault);
      await this.#recovers(what, [url]);
    }
    return most;
  }

  /** An operator and a server that start while the disk is bad, which it stays for a while. */
  async #start(fault: Fault, url: string, readers: Readers): Promise<void> {
    const what = `${fault} before the start`;
    this.#disk.strike(fault);
    await this.#write();
    await using operator = this.#stage.operator();
    await started(operator);
    await using server = await this.#stage.server();
    if (fault !== 'gone') {
      const fresh = await missing(server.url, this.#edition - 1, recoverySeconds);
      if (fresh !== undefined) this.#broken.push(`${what}: a server that starts serves nothing: ${fresh}`);
    }
    await this.#bear(what, url, readers);
    await pause(size('HOLD', 40) * 1000);
    this.#disk.lift(fault);
    await this.#recovers(what, [url, server.url]);
  }

  async #write(): Promise<void> {
    this.#edition += 1;
    await writeEdition(this.#stage.api, this.#stage.namespace, this.#edition);
  }

  async #isStruck(url: string): Promise<boolean> {
    const served = async (): Promise<boolean> => this.#strikes.struck || (await listSkills(url)) === this.#edition;
    await eventually('the disk is struck, or all is published', served, Boolean, 60);
    if (!this.#strikes.struck) await pause(settledMilliseconds);
    return !this.#strikes.withdraw();
  }

  /** Readers read on, and either a status says what is wrong or the edition was published before it was. */
  async #bear(what: string, url: string, readers: Readers): Promise<void> {
    this.#struck += 1;
    const before = readers.reads;
    await eventually('readers read on', () => readers.reads > before + 20).catch(() =>
      this.#broken.push(`${what}: nobody can read`),
    );
    const told = async (): Promise<'told' | 'served' | false> => {
      const states = await this.#states();
      if (states.includes('False/StorageFailed')) return 'told';
      return (await listSkills(url)) === this.#edition && 'served';
    };
    const is = await eventually('it is told', told).catch(() => false);
    if (is === 'told') this.#told += 1;
    if (is === false) this.#broken.push(`${what}: neither source nor gateway tell it: ${await this.#states()}`);
  }

  async #recovers(what: string, urls: readonly string[]): Promise<void> {
    const began = performance.now();
    for (const url of urls) {
      const fault = await missing(url, this.#edition, recoverySeconds);
      if (fault !== undefined) this.#broken.push(`${what}: no recovery: ${fault}`);
    }
    this.#slowest = Math.max(this.#slowest, Math.round(performance.now() - began));
    const well = (states: string[]): boolean => states.every((state) => state === 'True/Succeeded');
    await eventually('all is Ready', () => this.#states(), well, recoverySeconds).catch((error: Error) =>
      this.#broken.push(`${what}: ${error.message}`),
    );
  }

  /** `Ready` of source and gateway: `False/StorageFailed`. */
  async #states(): Promise<string[]> {
    const { api, namespace } = this.#stage;
    const paths = ['skillsources/editions', 'skillgateways/agents'];
    const answers = await Promise.all(
      paths.map((path) => api.request('GET', `/apis/lyceum.dev/v1alpha1/namespaces/${namespace}/${path}`)),
    );
    return answers.map(({ body }) => {
      const { status } = body as { status?: { conditions?: { type: string; status: string; reason: string }[] } };
      const ready = status?.conditions?.find(({ type }) => type === 'Ready');
      return `${ready?.status}/${ready?.reason}`;
    });
  }
}
