// One of several operators leads: its options, and the election that they make.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Command } from 'commander';
import type { Logger } from 'pino';
import type { Election } from '../../operator/leadership/election.ts';
import { option } from '../options.ts';
import type { Connected } from './connect.ts';

export interface LeadershipFlags {
  lease?: string;
  podAddress?: string;
  podUid?: string;
}

export function addLeadershipOptions(command: Command): Command {
  return command
    .addOption(
      option(
        '--lease <name>',
        "Lease in the operator's own namespace by which one of several operators leads, and the others wait; default: this one leads, and there must be no other",
      ),
    )
    .addOption(
      option(
        '--pod-address <address>',
        'IP address at which the other operators pass calls of servers on while this one leads; default: they cannot',
      ),
    )
    .addOption(
      option(
        '--pod-uid <uid>',
        'uid of the pod, by which a container that is started anew goes on as the leader that it was; default: it waits until the Lease has run out',
      ),
    );
}

/** @returns undefined where this operator leads without asking */
export async function electionOf(
  { lease, podAddress, podUid, callersPort }: LeadershipFlags & { callersPort: number },
  connected: Connected,
  log: Logger,
): Promise<Election | undefined> {
  if (!lease) return undefined;
  const [{ Election }, { leaseStore }, { systemClock }] = await Promise.all([
    import('../../operator/leadership/election.ts'),
    import('../../operator/leadership/lease.ts'),
    import('../../operator/clock.ts'),
  ]);
  return new Election({
    lease: leaseStore(connected.leaseConnection, connected.ownNamespace, lease),
    identity: `${hostname()}_${podUid || randomUUID()}`,
    address: podAddress ? `${podAddress.includes(':') ? `[${podAddress}]` : podAddress}:${callersPort}` : undefined,
    leads: (leads) => connected.metrics.leads(lease, leads),
    clock: systemClock,
    random: Math.random,
    log,
  });
}
