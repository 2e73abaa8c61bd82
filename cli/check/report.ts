// What `lyceum check` prints, as text for people or as one JSON document; and its exit status. Pure.
import type { ArtifactKind, ArtifactRow } from '../../catalogue/source-catalogue.ts';
import { compareVersions } from '../../catalogue/versions.ts';
import { artifactsOf } from '../../operator/reconcile/source-status.ts';
import { printable } from '../../operator/source/path.ts';
import type { Harvested } from './harvest-once.ts';

/** How the check of one source ended. */
export type Verdict =
  | { source: string; url: string; harvested: Harvested }
  | { source: string; url: string; fault: { reason: string; message: string } };

export interface Report {
  /** Manifests that an API server would refuse, each as `file:line: why`. */
  refused: readonly string[];
  verdicts: readonly Verdict[];
}

/** 2: something could not be checked. 1: something is rejected. 0: everything is served. */
export function exitStatus({ refused, verdicts }: Report): number {
  if (verdicts.some((verdict) => 'fault' in verdict)) return 2;
  const rejects = (verdict: Verdict): boolean =>
    'harvested' in verdict && verdict.harvested.result.problems.some(({ severity }) => severity === 'error');
  return refused.length > 0 || verdicts.some(rejects) ? 1 : 0;
}

/**
 * Lines as compilers print them: `path:line: severity Reason: message`. A file's name may hold what a terminal would obey,
 * so control characters come as escapes.
 */
export function textReport({ refused, verdicts }: Report): string[] {
  const lines = [...refused];
  for (const verdict of verdicts) {
    if (lines.length > 0) lines.push('');
    lines.push(...('fault' in verdict ? faultLines(verdict) : harvestLines(verdict)));
  }
  return lines.length > 0 ? lines : ['No SkillSource is here, so nothing would be harvested; nothing is refused'];
}

const faultLines = ({ source, url, fault }: Extract<Verdict, { fault: object }>): string[] => [
  `${source} (${url}): ${fault.reason}: ${fault.message}`,
];

function harvestLines({ source, url, harvested }: Extract<Verdict, { harvested: object }>): string[] {
  const { artifacts, counts, problems } = harvested.result;
  const { files, discovered, duplicates, rejected } = counts;
  const told = [
    `${artifactsOf(counts).join(', ')} of ${discovered} would be served${versionsWord(artifacts)}`,
    ...(duplicates > 0 ? [counted(duplicates, 'duplicate')] : []),
    ...(rejected > 0 ? [`${rejected} rejected`] : []),
    ...(files > 0 ? [counted(files, 'pack file')] : []),
    counted(counts.problems, 'problem'),
  ];
  return [
    `${source} (${url}, ${harvested.revision}): ${told.join(', ')}`,
    ...problems.map(({ path, line, severity, reason, message }) =>
      printable(`${path || '.'}${line === undefined ? '' : `:${line}`}: ${severity} ${reason}: ${message}`),
    ),
    ...(problems.length < counts.problems ? [`… and ${counts.problems - problems.length} more problems`] : []),
  ];
}

export function jsonReport(report: Report): string {
  const sources = report.verdicts.map((verdict) => {
    const { source, url } = verdict;
    if ('fault' in verdict) return { source, url, fault: verdict.fault };
    const { revision, result } = verdict.harvested;
    return {
      source,
      url,
      revision,
      counts: result.counts,
      skills: ofKind(result, 'skill').map((versions) => ({
        ...shownOf(versions),
        advertised: versions[0].advertised,
      })),
      prompts: ofKind(result, 'prompt').map((versions) => ({
        ...shownOf(versions),
        title: versions[0].title,
        ...versions[0].prompt,
      })),
      rules: ofKind(result, 'rule').map((versions) => ({ ...shownOf(versions), title: versions[0].title })),
      profiles: ofKind(result, 'profile').map((versions) => ({ ...shownOf(versions), title: versions[0].title })),
      problems: result.problems.map(({ row: _row, ...problem }) => problem),
    };
  });
  return JSON.stringify({ refused: report.refused, sources }, null, 2);
}

/** The rows of one address, as many as there are versions: the newest one first. */
type Versions = [ArtifactRow, ...ArtifactRow[]];

function ofKind({ artifacts }: Harvested['result'], kind: ArtifactKind): Versions[] {
  const rows = artifacts.filter((artifact) => artifact.kind === kind);
  return [...Map.groupBy(rows, ({ address }) => address).values()] as Versions[];
}

/** All versions are told where each has a folder of its own. */
function shownOf(versions: Versions): object {
  const [{ address, name, version, folder, versionsIn }] = versions;
  return {
    address,
    name,
    version,
    ...(versionsIn === undefined ? {} : { versions: versions.map((row) => row.version).sort(compareVersions) }),
    folder: versionsIn ?? folder,
  };
}

/** How many versions there are, where some artifact has folders for them. */
const versionsWord = (artifacts: readonly ArtifactRow[]): string =>
  artifacts.some(({ versionsIn }) => versionsIn !== undefined) ? ` in ${counted(artifacts.length, 'version')}` : '';

const counted = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? '' : 's'}`;
