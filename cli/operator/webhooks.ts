// The port of `lyceum operator` for webhooks.
import type { Command } from 'commander';
import type { Logger } from 'pino';
import type { Election } from '../../operator/leadership/election.ts';
import type { Listener } from '../../operator/listeners.ts';
import type { RunningOperator } from '../../operator/operator.ts';
import { option, port } from '../options.ts';
import type { Connected } from './connect.ts';

export interface WebhooksFlags {
  webhooksPort?: number;
}

export const addWebhooksOptions = (command: Command): Command =>
  command.addOption(
    option(
      '--webhooks-port <port>',
      'port that takes webhooks for sources with spec.webhook, over HTTP: put something that speaks TLS in front of it; default: there is no such port',
    ).argParser(port),
  );

export interface WebhooksParts {
  host: string;
  connected: Connected;
  operator: RunningOperator;
  /** Absent where this operator is the only one. */
  election: Election | undefined;
  log: Logger;
}

/** @throws Error when the port cannot be listened on */
export async function listenToWebhooks(
  { webhooksPort }: WebhooksFlags,
  { host, connected, operator, election, log }: WebhooksParts,
): Promise<Listener | undefined> {
  if (webhooksPort === undefined) return undefined;
  const [{ Receiver }, { webhooksListener }, { systemClock }] = await Promise.all([
    import('../../operator/webhooks/receiver.ts'),
    import('../../operator/webhooks/listener.ts'),
    import('../../operator/clock.ts'),
  ]);
  const { cluster, metrics } = connected;
  return webhooksListener({
    host,
    port: webhooksPort,
    receiver: new Receiver({
      cluster,
      look: (source) => operator.lookAgain(source),
      metrics: metrics.webhooks,
      clock: systemClock,
      log,
    }),
    working: () => operator.working(),
    async leader() {
      const address = await election?.leaderAddress();
      if (address === undefined) return undefined;
      const origin = new URL(`http://${address}`);
      origin.port = String(webhooksPort);
      return origin.href;
    },
    log,
  });
}
