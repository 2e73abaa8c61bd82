// `lyceum server`: serves one gateway's catalogue from a volume, over MCP and HTTP. Needs no Kubernetes.
import { resolve } from 'node:path';
import { Command } from 'commander';
import type { ServerOptions } from '../../server/server.ts';
import { anyAddress } from '../any-address.ts';
import { host, logLevel, option, port } from '../options.ts';
import { allowLoopback, denyCidr, extraCaFile, guardOptions } from '../source-options.ts';

interface ServerFlags {
  volume: string;
  namespace: string;
  gateway: string;
  host: string;
  port: number;
  metricsPort: number;
  operatorUrl?: string;
  operatorCa?: string;
  operatorToken?: string;
  liveSecrets?: string;
  denyCidr?: string[];
  allowLoopback?: boolean;
  extraCaFile?: string;
  logLevel: string;
}

/** Until then whoever sends clients here has seen that the server is not ready. */
const lingerMs = 2000;

export function serverCommand(): Command {
  return new Command('server')
    .description('serve the catalogue of one SkillGateway from a volume, over MCP and HTTP')
    .addOption(option('--volume <folder>', 'the folder that the operator publishes to').makeOptionMandatory())
    .addOption(option('--namespace <name>', 'namespace of the SkillGateway').default('default'))
    .addOption(option('--gateway <name>', 'name of the SkillGateway').makeOptionMandatory())
    .addOption(host().default(anyAddress(), 'any'))
    .addOption(option('--port <port>', 'port of MCP and health').argParser(port).default(8000))
    .addOption(option('--metrics-port <port>', 'port of /metrics').argParser(port).default(9091))
    .addOption(
      option(
        '--operator-url <url>',
        "the operator's port for servers, https://: it is asked for looks, and told of downloads",
      ),
    )
    .addOption(option('--operator-ca <file>', 'PEM certificates that the operator is known by'))
    .addOption(option('--operator-token <file>', "token of this pod's ServiceAccount, for the audience lyceum"))
    .addOption(
      option(
        '--live-secrets <folder>',
        'a folder for each Live source, with its username, password and ca.crt as files; default: Live sources are served as they were harvested',
      ),
    )
    .addOption(denyCidr())
    .addOption(allowLoopback())
    .addOption(extraCaFile())
    .addOption(logLevel())
    .action(async (flags: ServerFlags) => {
      const [{ startServer }, { makeLogger }, { stopSignal, stopped }, { version }] = await Promise.all([
        import('../../server/server.ts'),
        import('../logger.ts'),
        import('../stop.ts'),
        import('../version.ts'),
      ]);
      const log = makeLogger(flags.logLevel);
      const operator = await operatorOf(flags);
      const { volume, namespace, gateway, port: mcpPort, metricsPort } = flags;
      const stop = stopSignal();
      const server = await startServer({
        volume,
        namespace,
        gateway,
        host: flags.host,
        port: mcpPort,
        metricsPort,
        lingerMs,
        ...operator,
        ...(await liveOf(flags)),
        logger: log,
        version,
      });
      log.info({ url: server.url }, 'server started');
      await stopped(stop);
      await server.close();
      log.info('server stopped');
    });
}

/** What a server asks of its operator. @throws Error when only a part of what it needs is given */
async function operatorOf({
  operatorUrl,
  operatorCa,
  operatorToken,
}: ServerFlags): Promise<Pick<ServerOptions, 'reindex' | 'sendDownloads'>> {
  if (!operatorUrl && !operatorCa && !operatorToken) return {};
  if (!operatorUrl || !operatorCa || !operatorToken) {
    throw new Error('--operator-url, --operator-ca and --operator-token belong together: give all three, or none');
  }
  if (URL.parse(operatorUrl)?.protocol !== 'https:') throw new Error('--operator-url begins with https://');
  const [{ operatorClient }, { reindexByOperator }, { downloadsToOperator }] = await Promise.all([
    import('../../server/operator/client.ts'),
    import('../../server/reindex/ask-operator.ts'),
    import('../../server/downloads/send-to-operator.ts'),
  ]);
  const ask = operatorClient({ url: operatorUrl, ca: operatorCa, token: operatorToken });
  return { reindex: reindexByOperator(ask), sendDownloads: downloadsToOperator(ask) };
}

async function liveOf(flags: ServerFlags): Promise<Pick<ServerOptions, 'live'>> {
  if (!flags.liveSecrets) return {};
  const { mountedSecrets } = await import('../../server/live/mounted-secrets.ts');
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  const apiServer = host && port ? { addresses: [host], port: Number(port) } : undefined;
  return {
    live: { guard: await guardOptions(flags, apiServer), secretOf: mountedSecrets(resolve(flags.liveSecrets)) },
  };
}
