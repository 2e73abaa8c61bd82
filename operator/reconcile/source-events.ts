// The events of a SkillSource: one when it turns bad, one when files are rejected, one when content changes. Pure.
import type { ProblemRow } from '../../catalogue/source-catalogue.ts';
import type { EventRecord } from '../kubernetes/cluster.ts';
import type { SourceFaultReason } from '../reasons.ts';
import type { SourceState } from './source-state.ts';

/** A Warning when a source turns bad or turns bad in another way; nothing on repetition. */
export function faultEvent(before: SourceState['fault'], reason: SourceFaultReason, message: string): EventRecord[] {
  return before?.reason === reason ? [] : [{ type: 'Warning', reason, action: 'Fetch', note: message }];
}

/** A Warning when other files are rejected than before. */
export function rejectionEvent(before: readonly ProblemRow[], after: readonly ProblemRow[]): EventRecord[] {
  const known = new Set(rejections(before).map(identity));
  const rejected = rejections(after);
  const fresh = rejected.filter((problem) => !known.has(identity(problem)));
  const first = fresh[0];
  if (first === undefined) return [];
  const more = rejected.length > 1 ? ` (${rejected.length} in all, see status.problems)` : '';
  return [
    { type: 'Warning', reason: 'FilesRejected', action: 'Harvest', note: `${first.path}: ${first.message}${more}` },
  ];
}

export function contentEvent(revision: string, summary: string): EventRecord {
  return { type: 'Normal', reason: 'ContentChanged', action: 'Publish', note: `${summary} (${revision})` };
}

const rejections = (problems: readonly ProblemRow[]): ProblemRow[] =>
  problems.filter(({ severity }) => severity === 'error');

const identity = ({ path, reason }: ProblemRow): string => `${reason} ${path}`;
