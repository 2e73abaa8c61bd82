// `lyceum sync`: copies the catalogue of a gateway from the operator to a folder, for a server beside it.
import { resolve } from 'node:path';
import { Command } from 'commander';
import { anyAddress } from '../any-address.ts';
import { bytes, host, logLevel, option, port } from '../options.ts';

interface SyncFlags {
  volume: string;
  namespace: string;
  gateway: string;
  operatorUrl: string;
  operatorCa: string;
  operatorToken: string;
  sizeLimit: number;
  host: string;
  syncPort: number;
  logLevel: string;
}

const identity = '/var/run/secrets/lyceum.dev/operator';

export function syncCommand(): Command {
  return new Command('sync')
    .description('copy the catalogue of one SkillGateway from the operator to a folder, for a server beside it')
    .addOption(option('--volume <folder>', 'the folder to copy to; the server reads it').makeOptionMandatory())
    .addOption(
      option('--namespace <name>', "namespace of the SkillGateway, which is this pod's own").makeOptionMandatory(),
    )
    .addOption(option('--gateway <name>', 'name of the SkillGateway').makeOptionMandatory())
    .addOption(option('--operator-url <url>', "the operator's port for callers, https://").makeOptionMandatory())
    .addOption(
      option('--operator-ca <file>', 'PEM certificates that the operator is known by').default(`${identity}/ca.crt`),
    )
    .addOption(
      option('--operator-token <file>', "token of this pod's ServiceAccount, for the audience lyceum").default(
        `${identity}/token`,
      ),
    )
    .addOption(
      option('--size-limit <size>', 'the most that the folder may hold')
        .argParser(bytes)
        .default(2 ** 30, '1Gi'),
    )
    .addOption(host().default(anyAddress(), 'any'))
    .addOption(
      option('--sync-port <port>', 'port of /startz, /readyz, /healthz and /metrics').argParser(port).default(9092),
    )
    .addOption(logLevel())
    .action(async (flags: SyncFlags) => {
      if (URL.parse(flags.operatorUrl)?.protocol !== 'https:') throw new Error('--operator-url begins with https://');
      const [{ startSync }, { createSyncMetrics }, { listen }, { makeLogger }, { stopSignal, stopped }, { version }] =
        await Promise.all([
          import('../../sync/sync.ts'),
          import('../../sync/metrics.ts'),
          import('../../sync/listener.ts'),
          import('../logger.ts'),
          import('../stop.ts'),
          import('../version.ts'),
        ]);
      const log = makeLogger(flags.logLevel);
      const metrics = createSyncMetrics();
      const { namespace, gateway, operatorUrl, operatorCa, operatorToken, sizeLimit } = flags;
      const stop = stopSignal();
      const sync = startSync({
        folder: resolve(flags.volume),
        namespace,
        operator: { url: operatorUrl, ca: operatorCa, token: operatorToken, gateway },
        sizeLimit,
        metrics,
        log,
      });
      const listener = await listen(flags.host, flags.syncPort, sync, metrics.registry);
      log.info({ version, namespace, gateway, syncPort: listener.port }, 'sync started');
      await stopped(stop);
      await sync.close();
      await listener.close();
      log.info('sync stopped');
    });
}
