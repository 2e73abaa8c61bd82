// The totals of a gateway after batches of counts: what is added, what was there already, what is forgotten. Pure.
import {
  type ArtifactDownloads,
  type DownloadsBatch,
  type DownloadsFile,
  downloadsFormat,
} from '../../catalogue/downloads-file.ts';

/** `repeated`: it, or a later one of its server, counts already. */
export type Outcome = 'kept' | 'repeated';

export interface Tally {
  file: DownloadsFile;
  /** For each batch. */
  results: Outcome[];
  /** Downloads of what the gateway has not, which are not counted. */
  unknown: number;
}

/** How long counts are kept of an artifact that is gone, in milliseconds: one that comes back has them again. */
export const goneMilliseconds = 30 * 24 * 3_600_000;
/** So many of those at most: the ones that went first are forgotten first. */
export const mostGone = 10_000;
/** A server that has sent nothing for so long is forgotten, in milliseconds. */
export const silentMilliseconds = 24 * 3_600_000;
/** So many servers at most: those that were heard last stay. */
export const mostReplicas = 1_000;

/**
 * @param before undefined: nothing was counted yet
 * @param artifacts what the gateway has, each by its artifactKey
 * @param now milliseconds since 1970
 */
export function tally(
  before: DownloadsFile | undefined,
  batches: readonly DownloadsBatch[],
  artifacts: ReadonlySet<string>,
  now: number,
): Tally {
  const totals = new Map(Object.entries(before?.artifacts ?? {}));
  const replicas = new Map(Object.entries(before?.replicas ?? {}));
  let unknown = 0;
  const results = batches.map(({ replica, sequence, counts }): Outcome => {
    if (sequence <= (replicas.get(replica)?.sequence ?? 0)) return 'repeated';
    replicas.set(replica, { sequence, at: now });
    for (const { artifact, install, archive } of counts) {
      const total = totals.get(artifact);
      if (total === undefined && !artifacts.has(artifact)) unknown += install + archive;
      else totals.set(artifact, added(total, install, archive));
    }
    return 'kept';
  });
  return {
    file: {
      format: downloadsFormat,
      artifacts: Object.fromEntries(remembered(totals, artifacts, now).sort(([a], [b]) => (a < b ? -1 : 1))),
      replicas: Object.fromEntries(heardLately([...replicas], now)),
    },
    results,
    unknown,
  };
}

const added = (total: ArtifactDownloads | undefined, install: number, archive: number): ArtifactDownloads => ({
  ...total,
  install: Math.min((total?.install ?? 0) + install, Number.MAX_SAFE_INTEGER),
  archive: Math.min((total?.archive ?? 0) + archive, Number.MAX_SAFE_INTEGER),
});

/** What is there, and what is gone, with the time since when, while its time is not over. */
function remembered(
  totals: ReadonlyMap<string, ArtifactDownloads>,
  artifacts: ReadonlySet<string>,
  now: number,
): [string, ArtifactDownloads][] {
  const there: [string, ArtifactDownloads][] = [];
  const gone: [string, ArtifactDownloads & { gone: number }][] = [];
  for (const [key, { install, archive, gone: since = now }] of totals) {
    if (artifacts.has(key)) there.push([key, { install, archive }]);
    else if (since > now - goneMilliseconds) gone.push([key, { install, archive, gone: since }]);
  }
  gone.sort(([, a], [, b]) => b.gone - a.gone);
  return [...there, ...gone.slice(0, mostGone)];
}

const heardLately = (replicas: [string, DownloadsFile['replicas'][string]][], now: number): typeof replicas =>
  replicas
    .filter(([, { at }]) => at > now - silentMilliseconds)
    .sort(([, a], [, b]) => b.at - a.at)
    .slice(0, mostReplicas);
