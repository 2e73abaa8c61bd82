// Releases of the chart, by either line of Helm.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { firstRelease } from './image.ts';
import { node } from './pods.ts';

const run = promisify(execFile);
const chart = join(import.meta.dirname, '../../charts/lyceum');

export type HelmLine = 'helm4' | 'helm3';

/** @returns what Helm printed @throws with what it said */
export async function helm(line: HelmLine, ...args: string[]): Promise<string> {
  const home = join(node.folder, line);
  const env = {
    ...process.env,
    KUBECONFIG: node.kubeconfig,
    HELM_CACHE_HOME: join(home, 'cache'),
    HELM_CONFIG_HOME: join(home, 'config'),
    HELM_DATA_HOME: join(home, 'data'),
  };
  return (await run(node.programs[line], args, { env })).stdout;
}

const untilReady = ['--wait', '--timeout', '2m'];

/** `helm install lyceum`, until its pods are ready. */
export const install = (line: HelmLine, namespace: string, ...values: string[]): Promise<string> =>
  helm(line, 'install', 'lyceum', chart, '--namespace', namespace, ...untilReady, ...values);

/** The same with the chart of the first version. */
export const installFirst = (line: HelmLine, namespace: string): Promise<string> =>
  helm(
    line,
    ...['install', 'lyceum', join(firstRelease(node), 'charts/lyceum'), '--namespace', namespace, ...untilReady],
  );

/** The same for a release that is there, with these values on top of its own. */
export const upgrade = (line: HelmLine, namespace: string, ...values: string[]): Promise<string> =>
  helm(
    ...([line, 'upgrade', 'lyceum', chart, '--namespace', namespace, '--reset-then-reuse-values'] as const),
    ...[...untilReady, ...values],
  );

/** Back to a revision of the release, as `helm history` numbers them. */
export const rollback = (line: HelmLine, namespace: string, revision: number): Promise<string> =>
  helm(line, 'rollback', 'lyceum', String(revision), '--namespace', namespace, ...untilReady);

export const uninstall = (line: HelmLine, namespace: string): Promise<string> =>
  helm(line, 'uninstall', 'lyceum', '--namespace', namespace, ...untilReady);
