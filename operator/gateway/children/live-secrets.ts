// What a server with Live sources gets besides: options, environment, the Secrets and whom to trust. Pure.
import type { ExtraCa, LiveSecret, PodSettings } from './pod-settings.ts';

const livePath = '/var/run/secrets/lyceum.dev/live';
const extraCaPath = '/etc/lyceum/extra-ca';

export const liveOptions = (fetching: PodSettings['fetching']): string[] => [
  ...['--live-secrets', livePath],
  ...(fetching === undefined || fetching.deniedCidrs.length === 0
    ? []
    : ['--deny-cidr', fetching.deniedCidrs.join(',')]),
  ...(fetching?.extraCa === undefined ? [] : ['--extra-ca-file', `${extraCaPath}/${fetching.extraCa.key}`]),
];

/**
 * Of each Secret the keys that are needed, and optional, so that pods start while one is missing. The authorities are not,
 * since a server would trust too few of them until its next start.
 */
export function liveVolumes(live: readonly LiveSecret[], extraCa: ExtraCa | undefined): object[] {
  if (live.length === 0) return [];
  const keys = ['username', 'password', 'ca.crt'];
  const sources = live
    .toSorted((a, b) => (a.source < b.source ? -1 : 1))
    .map(({ source, secret }) => ({
      secret: { name: secret, items: keys.map((key) => ({ key, path: `${source}/${key}` })), optional: true },
    }));
  return [{ name: 'live', projected: { sources } }, ...(extraCa === undefined ? [] : [extraCaVolume(extraCa)])];
}

function extraCaVolume({ kind, name, key }: ExtraCa): object {
  const items = [{ key, path: key }];
  return kind === 'secret'
    ? { name: 'extra-ca', secret: { secretName: name, items } }
    : { name: 'extra-ca', configMap: { name, items } };
}

export const liveEnvironment = (fetching: PodSettings['fetching']): object[] =>
  Object.entries(fetching?.environment ?? {}).map(([name, value]) => ({ name, value }));

export const liveMounts = (fetching: PodSettings['fetching']): object[] => [
  { name: 'live', mountPath: livePath, readOnly: true },
  ...(fetching?.extraCa === undefined ? [] : [{ name: 'extra-ca', mountPath: extraCaPath, readOnly: true }]),
];
