// What this server counted and the operator has not kept yet, in batches; and what it has, until the volume shows it.
import { randomUUID } from 'node:crypto';
import {
  type DownloadsBatch,
  longestBatch,
  mostInBatch,
  mostTimes,
  type Taken,
} from '../../catalogue/downloads-file.ts';

interface Batch {
  sequence: number;
  counts: Map<string, Times>;
}

type Times = Record<Taken, number>;

const mostWaiting = 20_000;
/** Of batches that the volume does not show for long, only these are still told. */
const mostDelivered = 64;
/** In bytes: what a batch has besides the keys of its artifacts, in all and for each of them. */
const frame = 256;
const rowFrame = 64;

export class Outbox {
  /** This run of this server. */
  readonly #replica = randomUUID();
  readonly #most: number;
  #waiting = new Map<string, Times>();
  #sequence = 0;
  #sent: Batch | undefined;
  #delivered: Batch[] = [];
  #shown = 0;

  /** @param most artifacts that wait for a batch */
  constructor(most = mostWaiting) {
    this.#most = most;
  }

  /** @returns false when so much waits that this is not counted */
  add(key: string, what: Taken): boolean {
    const times = this.#waiting.get(key);
    if (times === undefined && this.#waiting.size >= this.#most) return false;
    this.#waiting.set(key, { ...(times ?? none), [what]: (times?.[what] ?? 0) + 1 });
    return true;
  }

  /** The batch to send: the same one until it is delivered or refused; undefined while there is nothing. */
  next(): DownloadsBatch | undefined {
    this.#sent ??= this.#fill();
    if (this.#sent === undefined) return undefined;
    const { sequence, counts } = this.#sent;
    const rows = [...counts].map(([artifact, { install, archive }]) => ({ artifact, install, archive }));
    return { replica: this.#replica, sequence, counts: rows };
  }

  delivered(): void {
    if (this.#sent === undefined) return;
    this.#delivered = [...this.#delivered.slice(1 - mostDelivered), this.#sent];
    this.#sent = undefined;
  }

  /** Nobody will ever take it. @returns how many downloads were in it */
  refused(): number {
    const lost = this.#sent === undefined ? 0 : sumOf(this.#sent.counts);
    this.#sent = undefined;
    return lost;
  }

  /** @param replicas as the file on the volume has them, whose counts have these batches in them */
  shown(replicas: Readonly<Record<string, { sequence: number }>>): void {
    this.#shown = Math.max(this.#shown, replicas[this.#replica]?.sequence ?? 0);
    this.#delivered = this.#delivered.filter(({ sequence }) => sequence > this.#shown);
  }

  /** How often an artifact was taken here that the volume does not show. */
  of(key: string): number {
    let times = sum(this.#waiting.get(key));
    for (const { sequence, counts } of this.#delivered) if (sequence > this.#shown) times += sum(counts.get(key));
    if (this.#sent !== undefined && this.#sent.sequence > this.#shown) times += sum(this.#sent.counts.get(key));
    return times;
  }

  /** Downloads that the operator has not confirmed. */
  get unconfirmed(): number {
    return sumOf(this.#waiting) + (this.#sent === undefined ? 0 : sumOf(this.#sent.counts));
  }

  #fill(): Batch | undefined {
    const counts = new Map<string, Times>();
    let bytes = frame;
    for (const [key, { install, archive }] of this.#waiting) {
      bytes += Buffer.byteLength(JSON.stringify(key)) + rowFrame;
      if (counts.size === mostInBatch || bytes > longestBatch) break;
      const now = { install: Math.min(install, mostTimes), archive: Math.min(archive, mostTimes) };
      counts.set(key, now);
      const left = { install: install - now.install, archive: archive - now.archive };
      if (sum(left) === 0) this.#waiting.delete(key);
      else this.#waiting.set(key, left);
    }
    return counts.size === 0 ? undefined : { sequence: ++this.#sequence, counts };
  }
}

const none: Times = { install: 0, archive: 0 };
const sum = (times: Times | undefined): number => (times === undefined ? 0 : times.install + times.archive);

function sumOf(counts: ReadonlyMap<string, Times>): number {
  let all = 0;
  for (const times of counts.values()) all += sum(times);
  return all;
}
