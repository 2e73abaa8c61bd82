// The status of a SkillSource, from what is published and how the last look went. Pure.
import { compareProblems, type Problem } from '../../catalogue/problem.ts';
import type { Counts, ProblemRow } from '../../catalogue/source-catalogue.ts';
import { Progressing, type SourceFaultReason, Succeeded, sourceFaultReasons } from '../reasons.ts';
import { conditionOf, conditionsOf, shortened, transition, type WantedCondition } from './conditions.ts';

/** How a source stands. */
export type Standing =
  | { state: 'ready' }
  | { state: 'progressing'; message: string }
  | { state: 'suspended' }
  | { state: 'failed'; reason: SourceFaultReason; message: string };

/** What is published for a source. */
export interface Publication {
  revision: string;
  /** `sha256:` over what is served: moves only when the content does. */
  artifactDigest: string;
  /** When the content last changed, RFC 3339. */
  built: string;
  size: number;
  files: number;
  counts: Counts;
  problems: readonly ProblemRow[];
}

/** Problems that a status shows; all of them are published with the catalogue. */
export const shownProblems = 20;

/**
 * @param publication what is published; `as before` where that cannot be told now
 * @param now RFC 3339
 */
export function sourceStatus(
  before: unknown,
  generation: number,
  standing: Standing,
  publication: Publication | 'as before' | undefined,
  handledRequest: string | undefined,
  now: string,
): Record<string, unknown> {
  const told = publication === 'as before' ? undefined : publication;
  const conditions = transition(conditionsOf(before), wantedConditions(before, standing, told), generation, now);
  return {
    observedGeneration: generation,
    conditions,
    ...(publication === 'as before' ? publishedBefore(before) : published(told)),
    ...(handledRequest === undefined ? {} : { lastHandledReconcileAt: handledRequest }),
  };
}

function wantedConditions(before: unknown, standing: Standing, publication?: Publication): WantedCondition[] {
  switch (standing.state) {
    case 'ready':
      return [{ type: 'Ready', status: 'True', reason: Succeeded, message: summary(publication?.counts) }];
    case 'progressing':
      return [
        { type: 'Ready', status: 'Unknown', reason: Progressing, message: standing.message },
        { type: 'Reconciling', status: 'True', reason: Progressing, message: standing.message },
      ];
    case 'suspended': {
      const ready = conditionOf(before, 'Ready');
      return [
        ready === undefined
          ? { type: 'Ready', status: 'Unknown', reason: Progressing, message: 'Suspended before the first look' }
          : { type: 'Ready', status: ready.status, reason: ready.reason, message: ready.message },
        { type: 'Suspended', status: 'True', reason: Succeeded, message: 'Not looked at while spec.suspend is true' },
      ];
    }
    case 'failed': {
      const kept =
        publication === undefined ? '' : `. The last good catalogue (${publication.revision}) is still served`;
      const message = `${standing.message}${kept}`;
      const ready: WantedCondition = { type: 'Ready', status: 'False', reason: standing.reason, message };
      switch (sourceFaultReasons[standing.reason]) {
        case 'human':
          return [ready, { type: 'Stalled', status: 'True', reason: standing.reason, message: standing.message }];
        case 'refresh':
          return [ready];
        case 'backoff':
          return [
            ready,
            { type: 'Reconciling', status: 'True', reason: Progressing, message: 'Looking again with growing pauses' },
          ];
      }
    }
  }
}

function publishedBefore(before: unknown): Record<string, unknown> {
  const status = Object.entries((before ?? {}) as Record<string, unknown>);
  return Object.fromEntries(status.filter(([field]) => publishedFields.includes(field)));
}

const publishedFields = ['revision', 'artifact', 'counts', 'problems'];

function published(publication: Publication | undefined): Record<string, unknown> {
  if (publication === undefined) return {};
  const { revision: whole, artifactDigest, built, size, files, counts } = publication;
  return {
    revision: shortened(whole, longestRevision),
    artifact: { digest: artifactDigest, lastUpdateTime: built, size, files },
    counts: { ...counts },
    problems: worst(publication.problems),
  };
}

const worst = (problems: readonly ProblemRow[]): ProblemRow[] =>
  [...problems]
    .sort((a, b) => compareProblems(a as Problem, b as Problem))
    .slice(0, shownProblems)
    .map(({ path, line, severity, reason, message }) => ({
      path: shortened(path, longestProblemText),
      ...(line === undefined ? {} : { line }),
      severity,
      reason,
      message: shortened(message, longestProblemText),
    })) as ProblemRow[];

// In characters, as the CustomResourceDefinition has them: a status with one field too long is refused whole.
const longestRevision = 512;
const longestProblemText = 4096;
export const longestRequest = 256;

/** `14 skills and 40 files; 3 problems`. */
export function summary(counts: Counts | undefined): string {
  if (counts === undefined) return '';
  const files = counts.files === 0 ? [] : [counted(counts.files, 'pack file')];
  const parts = [...artifactsOf(counts), ...files];
  return `Serving ${parts.join(', ')}${counts.problems === 0 ? '' : `; ${counted(counts.problems, 'problem')}`}`;
}

/** `14 skills`, `1 prompt`: each kind that there is, and skills where there is none at all. */
export function artifactsOf({ skills, prompts, rules, profiles }: Counts): string[] {
  const kinds = [
    [skills, 'skill'],
    [prompts, 'prompt'],
    [rules, 'rule'],
    [profiles, 'profile'],
  ] as const;
  const there = kinds.filter(([number]) => number > 0);
  return (there.length === 0 ? kinds.slice(0, 1) : there).map(([number, kind]) => counted(number, kind));
}

const counted = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? '' : 's'}`;
