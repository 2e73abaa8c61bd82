// Wires `lyceum run`: the manifest folder, the operator, and one server a gateway, in one process.
import { hash } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { Registry } from 'prom-client';
import { type KubernetesObject, keyOf, type ObjectKey, type Store } from '../../operator/kubernetes/cluster.ts';
import { operatorMetrics } from '../../operator/metrics.ts';
import { type RunningOperator, startOperator } from '../../operator/operator.ts';
import { parseSkillGateway, parseSkillSource } from '../../operator/resources/parse.ts';
import { ReindexFault } from '../../server/reindex/reindex.ts';
import { makeLogger } from '../logger.ts';
import { sourceOptions } from '../source-options.ts';
import { stopped, stopSignal } from '../stop.ts';
import { version } from '../version.ts';
import type { RunFlags } from './flags.ts';
import { GatewayServers } from './gateway-servers.ts';
import { ManifestCluster } from './manifest-cluster.ts';
import { clientSnippets, complaintsOf, statusTables, visibleState } from './screen.ts';
import type { AgedObject } from './table.ts';
import { checkVolume, markVolume } from './volume.ts';

/** Milliseconds of quiet before the tables are printed, so that one change prints one table. */
const quiet = 250;

/** @throws Error when the folder is none, the volume cannot be used or the first server cannot listen */
export async function run(folder: string, flags: RunFlags): Promise<void> {
  const root = await folderAt(folder);
  const volume = flags.volume === undefined ? defaultVolume(root) : resolve(flags.volume);
  await checkVolume(volume, root);
  await markVolume(volume, root);
  const log = makeLogger(flags.logLevel);
  const stop = stopSignal();
  const say = (text: string): void => console.log(text);

  const cluster = new ManifestCluster({
    folder: root,
    environment: process.env,
    complain: (message) => say(`! ${message}`),
    event: ({ kind, metadata }, { type, reason, note }) =>
      say(`${type === 'Warning' ? '!' : '*'} ${kind} ${metadata.name}: ${reason}: ${note}`),
  });
  const fetching = await sourceOptions({ ...flags, allowLoopback: true }, undefined);
  let operator: RunningOperator | undefined;
  const { promise: unable, reject: giveUp } = Promise.withResolvers<never>();
  let served = false;
  const servers = new GatewayServers({
    gateways: cluster.gateways,
    volume,
    host: flags.host,
    firstPort: flags.port,
    version,
    log,
    reindex: (key) => async () => {
      const answer = (await operator?.reindex(key)) ?? 'NotFound';
      if (typeof answer === 'object') return answer;
      throw new ReindexFault(503, `The manifest of gateway ${key.split('/')[1]} is not valid, or gone`);
    },
    sendDownloads: (key) => async (batch) => {
      if (operator === undefined) throw new Error('the operator has not started yet');
      return (await operator.countDownloads(key, batch)) === 'refused' ? 'refused' : 'kept';
    },
    live: (namespace) => ({ guard: fetching.guard, secretOf: (source) => secretOfSource(cluster, namespace, source) }),
    started: (key, url) => {
      served = true;
      operator?.reconcileGateway(key);
      const gateway = cluster.gateways.get(key);
      say(['', ...clientSnippets(key.split('/')[1]!, url, gateway && tokensOf(gateway)), ''].join('\n'));
    },
    failed: (key, message) => {
      const complaint = `SkillGateway ${key.split('/')[1]}: ${message}`;
      if (served) say(`! ${complaint}`);
      else giveUp(new Error(complaint));
    },
  });
  printTables(cluster, say, stop);
  say(`Lyceum ${version}: manifests and file:/// sources of ${folder}, catalogue in ${volume}. Ctrl-C stops.`);
  operator = await startOperator({
    ...fetching,
    cluster,
    metrics: operatorMetrics(new Registry()),
    volume,
    fileRoot: root,
    concurrentFetches: 4,
    urlOf: (gateway) => servers.urlOf(gateway),
    log,
  });
  try {
    await Promise.race([stopped(stop), unable]);
  } finally {
    // What the servers have counted last is kept by the operator.
    await servers.close();
    await operator.close();
  }
}

/** The Secret of a gateway's tokens; undefined where it is open. */
function tokensOf(gateway: KubernetesObject): string | undefined {
  const parsed = parseSkillGateway(gateway);
  return parsed.ok ? parsed.spec.auth?.tokens.secretRef.name : undefined;
}

/** The Secret of a source's manifest; empty where it names none, or one that is not there. */
async function secretOfSource(
  cluster: ManifestCluster,
  namespace: string,
  name: string,
): Promise<ReadonlyMap<string, Buffer>> {
  const source = cluster.sources.get(`${namespace}/${name}`);
  const parsed = source && parseSkillSource(source);
  const secret = parsed?.ok ? parsed.spec.secretRef?.name : undefined;
  return (secret && (await cluster.readSecret(namespace, secret))?.data) || new Map();
}

async function folderAt(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => undefined);
  if (!found?.isDirectory()) throw new Error(`${folder} is not a folder: name a folder of YAML manifests`);
  return realpath(folder);
}

/** A volume of its own for each manifest folder, so that a second run starts from what the first one harvested. */
function defaultVolume(root: string): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(cache, 'lyceum', 'run', hash('sha256', root).slice(0, 16));
}

function printTables(cluster: ManifestCluster, say: (text: string) => void, stop: AbortSignal): void {
  const seen = new Map<string, number>();
  let printed = '';
  let told: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  const print = (): void => {
    const [sources, gateways] = [aged(cluster.sources, seen), aged(cluster.gateways, seen)];
    const state = visibleState([...sources, ...gateways].map(({ object }) => object));
    if (state === printed) return;
    printed = state;
    say(['', ...statusTables(sources, gateways), ''].join('\n'));
    const complaints = complaintsOf(
      sources.map(({ object }) => object),
      gateways.map(({ object }) => object),
    );
    for (const complaint of complaints) if (!told.includes(complaint)) say(`! ${complaint}`);
    told = complaints;
  };
  const later = (): void => {
    clearTimeout(timer);
    timer = setTimeout(print, quiet);
    timer.unref();
  };
  cluster.sources.onChange(later);
  cluster.gateways.onChange(later);
  // Also where there is nothing to hear of.
  cluster.synced(stop).then(later, () => undefined);
}

function aged(store: Store, seen: Map<string, number>): AgedObject[] {
  const now = Date.now();
  return store.list().map((object) => {
    const identity = `${object.kind} ${keyOf(object)}` satisfies ObjectKey;
    if (!seen.has(identity)) seen.set(identity, now);
    return { object, age: now - seen.get(identity)! };
  });
}
