// The port of `lyceum operator` that its servers call.
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { Callers } from '../../operator/callers/callers.ts';
import { callersListener } from '../../operator/callers/listener.ts';
import { routesOf } from '../../operator/callers/routes.ts';
import { systemClock } from '../../operator/clock.ts';
import type { Listener } from '../../operator/listeners.ts';
import type { RunningOperator } from '../../operator/operator.ts';
import type { CallersFlags } from './callers-options.ts';
import type { Connected } from './connect.ts';

/** @throws Error when the certificate cannot be used or the port not be listened on */
export async function listenToCallers(
  { tlsFolder, callersPort, sidecarGateway }: CallersFlags,
  { host, connected, operator, log }: { host: string; connected: Connected; operator: RunningOperator; log: Logger },
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
  return callersListener({
    host,
    port: callersPort,
    tlsFolder,
    identify: (authorization) => callers.identify(authorization),
    routes: routesOf(operator, log),
    clock: systemClock,
    log,
  });
}
