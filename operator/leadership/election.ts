// Leads or follows: asks for the Lease until it has it, renews it, and says so when it is lost.
import type { Logger } from 'pino';
import { type Clock, sleep } from '../clock.ts';
import { isKind } from '../kubernetes/kubernetes-error.ts';
import {
  type Identity,
  mayTake,
  type Observed,
  observe,
  released,
  renewMilliseconds,
  retryMilliseconds,
  taken,
} from './decision.ts';
import type { LeaseStore, ReadLease } from './lease.ts';

export interface ElectionOptions {
  lease: LeaseStore;
  identity: Identity;
  /** Where this operator takes calls of servers, `host:port`; told to the others while it leads. */
  address: string | undefined;
  /** Told whether this operator leads, at the beginning and whenever it changes. */
  leads(leads: boolean): void;
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  log: Logger;
}

/** Another operator leads, or may soon: whatever this one still does must end. */
export class LeadershipLost extends Error {}

export class Election {
  readonly #options: ElectionOptions;
  readonly #end = new AbortController();
  #observed: Observed | undefined;
  #leading = false;
  /** Why the last attempt failed; told once. */
  #problem: string | undefined;
  #renewing: Promise<void> = Promise.resolve();

  constructor(options: ElectionOptions) {
    this.#options = options;
    options.leads(false);
  }

  /** What readiness says while the Lease has never been seen; nothing afterwards. */
  unready(): string | undefined {
    return this.#observed === undefined
      ? `the Lease has not been read yet: ${this.#problem ?? 'not asked'}`
      : undefined;
  }

  /** Where another operator that leads takes calls, `host:port`; undefined where none is known. @throws KubernetesError */
  async leaderAddress(): Promise<string | undefined> {
    const { lease: store, identity, address: own } = this.#options;
    const lease = await store.read();
    // The address of a leader that has died may be this one's now.
    return lease?.holder === identity || lease?.address === own ? undefined : lease?.address;
  }

  /**
   * Waits until this operator leads; from then on it renews.
   * @param lost called at most once, when it no longer leads though nobody asked it to end
   * @throws the signal's reason when it aborts first
   */
  async elected(signal: AbortSignal, lost: (why: LeadershipLost) => void): Promise<void> {
    const { identity, log } = this.#options;
    let shown: string | undefined;
    for (;;) {
      signal.throwIfAborted();
      if (await this.#tried(() => this.#take())) break;
      const holder = this.#observed?.lease.holder;
      if (holder !== shown && holder) log.info({ leader: holder }, 'another operator leads; this one follows');
      shown = holder;
      await this.#pause(signal);
    }
    this.#set(true);
    log.info({ identity }, 'this operator leads');
    this.#renewing = this.#renew(lost);
  }

  /** Leads no longer, and lets another one lead at once. Call it when all work has ended. Never rejects. */
  async release(): Promise<void> {
    this.#end.abort();
    await this.#renewing;
    const lease = this.#observed?.lease;
    if (!this.#leading || lease === undefined) return;
    this.#set(false);
    await this.#tried(() => this.#options.lease.replace(released(lease), lease.resourceVersion));
  }

  async #renew(lost: (why: LeadershipLost) => void): Promise<void> {
    const { clock, log } = this.#options;
    let renewedAt = clock.now();
    for (;;) {
      await this.#pause(this.#end.signal);
      if (this.#end.signal.aborted) return;
      const began = clock.now();
      if (await this.#inTime(renewedAt + renewMilliseconds - began)) {
        renewedAt = began;
        continue;
      }
      const holder = this.#observed?.lease.holder;
      const stolen = holder !== this.#options.identity;
      if (!stolen && clock.now() - renewedAt < renewMilliseconds) continue;
      this.#set(false);
      const why = stolen ? `${holder || 'nobody'} holds the Lease` : 'it could not be renewed in time';
      log.error({ why }, 'this operator leads no longer');
      return lost(new LeadershipLost(`The operator leads no longer: ${why}`));
    }
  }

  /** @returns whether this operator has renewed within so many milliseconds; an attempt that hangs is not waited for */
  async #inTime(milliseconds: number): Promise<boolean> {
    const over = new AbortController();
    const late = sleep(this.#options.clock, milliseconds, over.signal).then(() => false);
    try {
      return await Promise.race([this.#tried(() => this.#take()), late]);
    } finally {
      over.abort();
    }
  }

  /** @returns whether this operator is in the Lease now. @throws KubernetesError */
  async #take(): Promise<boolean> {
    const { lease: store, identity, address, clock } = this.#options;
    const now = new Date(clock.now()).toISOString();
    const lease = await store.read();
    if (lease === undefined) {
      this.#see(await store.create(taken(undefined, identity, address, now)));
      return true;
    }
    const observed = this.#see(lease);
    // A leader does not take back what another one has got hold of.
    if (this.#leading && lease.holder !== identity) return false;
    if (!mayTake(observed, identity, clock.now())) return false;
    this.#see(await store.replace(taken(lease, identity, address, now), lease.resourceVersion));
    return true;
  }

  #see(lease: ReadLease): Observed {
    this.#observed = observe(this.#observed, lease, this.#options.clock.now());
    return this.#observed;
  }

  /** @returns what the attempt gave; false where the API server did not do it */
  async #tried<T>(attempt: () => Promise<T>): Promise<T | false> {
    try {
      const result = await attempt();
      this.#problem = undefined;
      return result;
    } catch (error) {
      if (isKind(error, 'conflict')) return false;
      const { message } = error as Error;
      if (message !== this.#problem)
        this.#options.log.warn({ error: message }, 'the Lease could not be read or written');
      this.#problem = message;
      return false;
    }
  }

  /** Not in step with the other operators. */
  #pause(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    return sleep(clock, retryMilliseconds * (1 + random() * 0.2), signal);
  }

  #set(leads: boolean): void {
    this.#leading = leads;
    this.#options.leads(leads);
  }
}
