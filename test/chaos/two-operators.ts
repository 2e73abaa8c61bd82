// Two operators on one volume, the Lease stolen from the leader while it publishes, or the leader stopped until another one leads
// and woken again: readers check every answer. STEALS=5 and FREEZES=1 make it shorter, SEED=7 repeats the moments of a run.
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../fixtures/eventually.ts';
import type { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { chances } from './chances.ts';
import { EditionWriter, listSkills } from './editions.ts';
import { type Outcome, type Proof, size } from './proof.ts';
import { Readers } from './readers.ts';
import { missing, Stage, started } from './stage.ts';

const lease = 'lyceum';
/** Milliseconds between a moment at which somebody leads for certain and the theft, at most: a few publications. */
const longestReign = 1500;

export const twoOperators: Proof = {
  name: 'two-operators',
  says: 'two operators, the Lease stolen mid-publication, leaders frozen until another leads: 0 bad reads',
  async run(progress): Promise<Outcome> {
    const steals = size('STEALS', 100);
    const freezes = size('FREEZES', 10);
    const seed = size('SEED', randomInt(1, 2 ** 31));
    const chance = chances(seed);
    progress(`SEED=${seed}`);
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-two-operators-'));
    const stage = await Stage.open(join(folder, 'volume'));
    const broken: string[] = [];
    const pair = new Pair(stage);
    try {
      await pair.fill();
      await pair.leader();
      await using server = await stage.server();
      const { url } = server;
      await eventually('the first edition', () => listSkills(url), Boolean, 60);
      const writer = new EditionWriter(stage, broken);
      const readers = new Readers(url, () => writer.begun, broken);
      try {
        for (let round = 1; round <= steals + freezes; round++) {
          const leader = await pair.leader();
          await pause(chance() * longestReign);
          if (round <= steals) await pair.steal();
          else {
            leader.kill('SIGSTOP');
            await pair.leader(leader);
            leader.kill('SIGCONT');
          }
          await Promise.race([leader.ended(), pause(30_000)]);
          if (leader.running) broken.push(`round ${round}: who leads no longer goes on`);
          await pair.fill();
          if (round % 10 === 0) progress(`${round} rounds, ${readers.reads} reads, ${broken.length} bad`);
        }
        await writer.stop();
        const fault = await missing(url, writer.begun, 60);
        if (fault !== undefined) broken.push(`the last edition is not served: ${fault}`);
      } finally {
        await writer.stop();
        await readers.stop();
      }
      return {
        figures: { steals, freezes, reads: readers.reads, editions: writer.begun, faults: broken.length },
        broken,
      };
    } finally {
      await pair.end();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** Two operators that want the same Lease. */
class Pair {
  readonly #stage: Stage;
  readonly #running = new Map<string, LyceumProcess>();
  #number = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Starts operators in the place of those that have ended. */
  async fill(): Promise<void> {
    for (const [uid, operator] of this.#running) {
      if (operator.running) continue;
      await operator[Symbol.asyncDispose]();
      this.#running.delete(uid);
    }
    while (this.#running.size < 2) {
      const uid = `operator-${++this.#number}`;
      const operator = this.#stage.operator({}, ['--lease', lease, '--pod-uid', uid]);
      this.#running.set(uid, operator);
      await started(operator);
    }
  }

  /** Resolves to who leads, once somebody does who is not this one. */
  async leader(other?: LyceumProcess): Promise<LyceumProcess> {
    const find = async (): Promise<LyceumProcess | undefined> => {
      const { status, body } = await this.#stage.api.request('GET', this.#path());
      const holder = status === 200 ? (body as { spec: { holderIdentity?: string } }).spec.holderIdentity : undefined;
      return this.#running.get(holder?.replace(/^.*_/, '') ?? '');
    };
    const leads = (found: LyceumProcess | undefined) => found !== undefined && found !== other && found.running;
    return (await eventually('an operator leads', find, leads, 60))!;
  }

  /** Somebody else has the Lease for a moment, and lets it go. */
  async steal(): Promise<void> {
    for (const holder of ['a-thief', '']) {
      const patch = JSON.stringify({ spec: { holderIdentity: holder } });
      await this.#stage.api.kubectl([
        'patch',
        'lease',
        lease,
        '-n',
        this.#stage.namespace,
        '--type',
        'merge',
        '-p',
        patch,
      ]);
    }
  }

  async end(): Promise<void> {
    for (const operator of this.#running.values()) await operator[Symbol.asyncDispose]();
  }

  #path(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${this.#stage.namespace}/leases/${lease}`;
  }
}
