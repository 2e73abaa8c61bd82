// `lyceum operator`: watches SkillSources and SkillGateways in Kubernetes and publishes their catalogues to a volume.
import { resolve } from 'node:path';
import { Command } from 'commander';
import { systemClock } from '../../operator/clock.ts';
import { keyOf } from '../../operator/kubernetes/cluster.ts';
import { anyAddress } from '../any-address.ts';
import { count, list, logLevel, option, port } from '../options.ts';
import { addSourceOptions, allowLoopback, type SourceFlags, sourceOptions } from '../source-options.ts';
import { addCallersOptions, type CallersFlags } from './callers-options.ts';
import { addLeadershipOptions, electionOf, type LeadershipFlags } from './leadership.ts';
import { addPodOptions, type PodFlags, podSettings, sidecarUrl } from './pod-options.ts';
import { followAuthority, syncAuthority } from './sync-authority.ts';
import { addWebhooksOptions, listenToWebhooks, type WebhooksFlags } from './webhooks.ts';

interface OperatorFlags extends SourceFlags, PodFlags, CallersFlags, WebhooksFlags, LeadershipFlags {
  namespaces?: string[];
  allNamespaces?: boolean;
  kubeconfig?: string;
  volume: string;
  fileRoot?: string;
  concurrentFetches: number;
  probesPort: number;
  metricsPort: number;
  logLevel: string;
}

/** How long an operator that leads no longer may take to end what it does, in milliseconds. */
const longestFarewell = 10_000;

export function operatorCommand(): Command {
  const command = new Command('operator')
    .description(
      'watch SkillSources and SkillGateways in Kubernetes, publish their catalogues to a volume and start their servers',
    )
    .addOption(option('--volume <folder>', 'the folder to publish to; servers read it').makeOptionMandatory())
    .addOption(
      option('--namespaces <names>', "namespaces to watch, comma-separated; default: the operator's own").argParser(
        list,
      ),
    )
    .addOption(
      option(
        '--all-namespaces',
        'watch every namespace, those that are made later too; the operator needs a ClusterRole for it',
      ).conflicts('namespaces'),
    )
    .addOption(allowLoopback())
    .addOption(
      option(
        '--kubeconfig <file>',
        "kubeconfig; default: $KUBECONFIG, else the pod's ServiceAccount, else ~/.kube/config",
      ),
    )
    .addOption(option('--file-root <folder>', 'the folder that is / for file:/// sources; default: none are allowed'))
    .addOption(option('--concurrent-fetches <number>', 'sources fetched at once').argParser(count).default(4))
    .addOption(option('--probes-port <port>', 'port of /healthz and /readyz').argParser(port).default(8081))
    .addOption(option('--metrics-port <port>', 'port of /metrics').argParser(port).default(9090))
    .addOption(logLevel());
  const options = [addSourceOptions, addPodOptions, addCallersOptions, addWebhooksOptions, addLeadershipOptions];
  return options
    .reduce((all, add) => add(all), command)
    .action(async (flags: OperatorFlags) => {
      const [
        { startOperator },
        { metricsListener, probesListener },
        { listenToCallers },
        { connect },
        { makeLogger },
        { stopSignal, stopped },
        { version },
      ] = await Promise.all([
        import('../../operator/operator.ts'),
        import('../../operator/listeners.ts'),
        import('./callers.ts'),
        import('./connect.ts'),
        import('../logger.ts'),
        import('../stop.ts'),
        import('../version.ts'),
      ]);
      const log = makeLogger(flags.logLevel);
      const sync = await syncAuthority(flags);
      const lost = new AbortController();
      const stop = AbortSignal.any([stopSignal(), lost.signal]);
      const connected = connect({
        kubeconfig: flags.kubeconfig,
        namespaces: flags.namespaces,
        allNamespaces: flags.allNamespaces,
        pods: (ownNamespace) => podSettings(flags, ownNamespace, process.env, sync),
        log,
      });
      const lose = (why: Error): void => {
        lost.abort(why);
        setTimeout(() => process.exit(1), longestFarewell).unref();
      };
      const election = await electionOf(flags, connected, log);
      const operator = await startOperator({
        ...(await sourceOptions(flags, connected.apiServer)),
        cluster: connected.cluster,
        metrics: connected.metrics,
        volume: flags.volume,
        fileRoot: flags.fileRoot,
        concurrentFetches: flags.concurrentFetches,
        urlOf: sidecarUrl(flags),
        pods: connected.pods,
        elected: election && ((signal) => election.elected(signal, lose)),
        displaced: (why) => {
          log.error({ why: why.message }, 'this operator leads no longer');
          lose(why);
        },
        log,
      });
      const everywhere = anyAddress();
      const [probes, metrics, callers, webhooks] = await Promise.all([
        probesListener(everywhere, flags.probesPort, () => connected.unready() ?? election?.unready()),
        metricsListener(everywhere, flags.metricsPort, connected.registry),
        listenToCallers(flags, {
          host: everywhere,
          volume: resolve(flags.volume),
          connected,
          operator,
          election,
          stop,
          log,
        }),
        listenToWebhooks(flags, { host: everywhere, connected, operator, election, log }),
      ]);
      if (sync && flags.tlsFolder) {
        const renderAgain = (): void => {
          for (const gateway of connected.cluster.gateways.list()) operator.reconcileGateway(keyOf(gateway));
        };
        void followAuthority(sync, flags.tlsFolder, { clock: systemClock, log, signal: stop, changed: renderAgain });
      }
      const namespaces = flags.allNamespaces ? 'all' : connected.namespaces;
      const ports = {
        probesPort: probes.port,
        metricsPort: metrics.port,
        callersPort: callers?.port,
        webhooksPort: webhooks?.port,
      };
      log.info({ version, namespaces, ...ports }, 'operator started');
      await stopped(stop);
      await operator.close();
      await election?.release();
      await Promise.all([callers?.close(), webhooks?.close()]);
      await connected.close();
      await Promise.all([probes.close(), metrics.close()]);
      log.info('operator stopped');
      // Restarted, it follows.
      if (lost.signal.aborted) process.exitCode = 1;
    });
}
