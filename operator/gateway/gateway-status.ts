// The status of a SkillGateway, from what is published and how its sources stand. Pure.
import type { GatewayFaultReason, SourcesReadyReason } from '../reasons.ts';
import { Succeeded } from '../reasons.ts';
import { conditionsOf, transition, type WantedCondition } from '../reconcile/conditions.ts';
import type { Conflict } from './addresses.ts';
import type { CatalogueTotals, SourceView } from './assembly.ts';

/** What a gateway has on the volume. */
export interface PublishedCatalogue {
  digest: string;
  generation: number;
  totals: CatalogueTotals;
  conflicts: readonly Conflict[];
}

export type GatewayStanding =
  | { state: 'ready'; views: readonly SourceView[]; missing: readonly string[] }
  | { state: 'failed'; reason: GatewayFaultReason; message: string };

export interface GatewayStatusQuestion {
  /** The status as it was. */
  before: unknown;
  generation: number;
  standing: GatewayStanding;
  /** Absent: nothing was published since the start; what the status said before is kept. */
  published: PublishedCatalogue | undefined;
  /** Where clients reach this gateway, when that is known. */
  url: string | undefined;
  /** RFC 3339. */
  now: string;
}

/** Conflicts that a status shows; all of them stand in index.json as moves. */
export const shownConflicts = 20;

export function gatewayStatus(question: GatewayStatusQuestion): Record<string, unknown> {
  const { before, generation, standing, published, url, now } = question;
  const wanted = standing.state === 'ready' ? readyConditions(standing) : failedConditions(standing);
  return {
    observedGeneration: generation,
    ...(url === undefined ? {} : { url }),
    ...(published === undefined
      ? keptCatalogue(before)
      : {
          catalogue: { digest: published.digest, generation: published.generation, ...published.totals },
          conflicts: published.conflicts.slice(0, shownConflicts).map((conflict) => ({ ...conflict })),
        }),
    conditions: transition(conditionsOf(before), wanted, generation, now),
  };
}

function keptCatalogue(before: unknown): Record<string, unknown> {
  const { catalogue, conflicts } = (before ?? {}) as { catalogue?: unknown; conflicts?: unknown };
  return { ...(catalogue === undefined ? {} : { catalogue }), ...(conflicts === undefined ? {} : { conflicts }) };
}

function readyConditions({ views, missing }: Extract<GatewayStanding, { state: 'ready' }>): WantedCondition[] {
  return [
    { type: 'Ready', status: 'True', reason: Succeeded, message: 'The catalogue is published' },
    sourcesReady(views, missing),
  ];
}

function failedConditions({ reason, message }: Extract<GatewayStanding, { state: 'failed' }>): WantedCondition[] {
  return [
    { type: 'Ready', status: 'False', reason, message },
    ...(reason === 'InvalidSpec' ? [{ type: 'Stalled', status: 'True' as const, reason, message }] : []),
  ];
}

/** Which sources are missing, failed or stale; missing and failed ones outweigh stale ones. */
export function sourcesReady(views: readonly SourceView[], missing: readonly string[]): WantedCondition {
  const condition = (status: 'True' | 'False', reason: SourcesReadyReason, message: string): WantedCondition => ({
    type: 'SourcesReady',
    status,
    reason,
    message,
  });
  const named = (state: SourceView['state']): string[] =>
    views.filter((view) => view.state === state).map(({ name }) => name);
  const parts = [
    part('not there', missing),
    part('nothing to serve yet', named('pending')),
    part('failed', named('failed')),
    part('stale', named('stale')),
  ].filter((text) => text !== '');
  if (views.length === 0 && missing.length === 0) {
    return condition(
      'False',
      'SourcesMissing',
      'No SkillSource is selected: apply one in this namespace, or change spec.sources',
    );
  }
  if (parts.length === 0)
    return condition('True', 'AllReady', `All ${views.length} sources are served as upstream has them`);
  const onlyStale = parts.length === 1 && named('stale').length > 0;
  return condition('False', onlyStale ? 'SourcesStale' : 'SourcesMissing', parts.join('; '));
}

function part(what: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, 5).join(', ');
  return `${what}: ${shown}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
}
