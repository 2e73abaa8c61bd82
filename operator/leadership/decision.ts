// Whether an operator may lead, from the Lease as it saw it. Pure; after client-go's rules.
import type { LeaseRecord, ReadLease } from './lease.ts';

/** How long others wait for a leader that they hear nothing of, in milliseconds. */
export const leaseMilliseconds = 15_000;
/** A leader that could not renew for so long leads no longer: well before others may, in milliseconds. */
export const renewMilliseconds = 10_000;
/** How often the Lease is asked for or renewed, in milliseconds. */
export const retryMilliseconds = 2_000;

/** `<pod>_<uid of the pod>`: a container that is started anew in its pod goes on as the one before, which has ended. */
export type Identity = string;

/** What was last seen of the Lease, and when that differed from what was seen before: clocks of others are not believed. */
export interface Observed {
  lease: ReadLease;
  /** In milliseconds of the own clock. */
  changedAt: number;
}

export function observe(before: Observed | undefined, lease: ReadLease, now: number): Observed {
  return before?.lease.resourceVersion === lease.resourceVersion ? before : { lease, changedAt: now };
}

/** Whether an operator may write itself into the Lease. */
export function mayTake({ lease, changedAt }: Observed, self: Identity, now: number): boolean {
  if (lease.holder === '' || lease.holder === self) return true;
  return now - changedAt >= Math.max(lease.durationMilliseconds, leaseMilliseconds);
}

/** The Lease with an operator as its leader. @param now RFC 3339 */
export function taken(
  before: LeaseRecord | undefined,
  self: Identity,
  address: string | undefined,
  now: string,
): LeaseRecord {
  const stays = before?.holder === self;
  return {
    holder: self,
    durationMilliseconds: leaseMilliseconds,
    address,
    transitions: (before?.transitions ?? 0) + (before === undefined || stays ? 0 : 1),
    acquired: stays ? before.acquired : now,
  };
}

/** The Lease that a leader leaves behind: the next one need not wait. */
export const released = (lease: LeaseRecord): LeaseRecord => ({
  ...lease,
  holder: '',
  address: undefined,
  durationMilliseconds: 1_000,
});
