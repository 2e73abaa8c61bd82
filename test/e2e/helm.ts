// Releases of the chart, by either line of Helm.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
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

/** `helm install lyceum`, until its pods are ready. */
export const install = (line: HelmLine, namespace: string, ...values: string[]): Promise<string> =>
  helm(line, 'install', 'lyceum', chart, '--namespace', namespace, '--wait', '--timeout', '2m', ...values);

/** The same for a release that is there, with these values on top of its own. */
export const upgrade = (line: HelmLine, namespace: string, ...values: string[]): Promise<string> =>
  helm(
    ...([line, 'upgrade', 'lyceum', chart, '--namespace', namespace, '--reset-then-reuse-values'] as const),
    ...['--wait', '--timeout', '2m', ...values],
  );

export const uninstall = (line: HelmLine, namespace: string): Promise<string> =>
  helm(line, 'uninstall', 'lyceum', '--namespace', namespace, '--wait', '--timeout', '2m');
