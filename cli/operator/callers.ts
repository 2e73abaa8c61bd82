// The port of `lyceum operator` that its servers call.
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { Callers } from '../../operator/callers/callers.ts';
import { Copiers } from '../../operator/callers/copiers.ts';
import { ledRoutes } from '../../operator/callers/led.ts';
import { callersListener } from '../../operator/callers/listener.ts';
import { mostBodyBytes, routesOf } from '../../operator/callers/routes.ts';
import { systemClock } from '../../operator/clock.ts';
import { copyRoutes } from '../../operator/copies/routes.ts';
import type { Election } from '../../operator/leadership/election.ts';
import type { Listener } from '../../operator/listeners.ts';
import type { RunningOperator } from '../../operator/operator.ts';
import type { CallersFlags } from './callers-options.ts';
import type { Connected } from './connect.ts';
import type { PodFlags } from './pod-options.ts';

export interface CallersParts {
  host: string;
  /** Absolute path of the volume, whose catalogues are copied. */
  volume: string;
  connected: Connected;
  operator: RunningOperator;
  /** Absent where this operator is the only one. */
  election: Election | undefined;
  /** Aborts when the operator is asked to stop. */
  stop: AbortSignal;
  log: Logger;
}

/** @throws Error when the certificate cannot be used or the port not be listened on */
export async function listenToCallers(
  { tlsFolder, callersPort, sidecarGateway, callersUrl }: CallersFlags & Pick<PodFlags, 'callersUrl'>,
  { host, volume, connected, operator, election, stop, log }: CallersParts,
): Promise<Listener | undefined> {
  if (!tlsFolder) return undefined;
  const { connection, cluster, ownNamespace } = connected;
  const callers = new Callers({
    connection,
    cluster,
    sidecar: sidecarGateway ? { gateway: sidecarGateway, namespace: ownNamespace, hostname: hostname() } : undefined,
    clock: systemClock,
    now: Date.now,
  });
  const copiers = new Copiers({ callers, cluster, clock: systemClock, log });
  const routes = routesOf(operator, log);
  return callersListener({
    host,
    port: callersPort,
    tlsFolder,
    identify: (authorization) => callers.identify(authorization),
    routes:
      election === undefined || !callersUrl
        ? routes
        : ledRoutes(routes, mostBodyBytes, {
            working: () => operator.working(),
            leaderAddress: () => election.leaderAddress(),
            certificateName: new URL(callersUrl).hostname,
            tlsFolder,
            stop,
            clock: systemClock,
          }),
    copies: {
      identify: (authorization, gateway) => copiers.identify(authorization, gateway),
      routes: copyRoutes({ volume, synced: () => operator.synced() }),
    },
    clock: systemClock,
    log,
  });
}
