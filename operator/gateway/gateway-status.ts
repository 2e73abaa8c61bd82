// The status of a SkillGateway, from what is published and how its sources stand. Pure.
import type { GatewayFaultReason, SourcesReadyReason } from '../reasons.ts';
import { Progressing, Succeeded } from '../reasons.ts';
import { conditionsOf, transition, type WantedCondition } from '../reconcile/conditions.ts';
import type { Access } from './access.ts';
import type { Conflict } from './addresses.ts';
import type { CatalogueTotals, SourceView } from './assembly.ts';
import type { PodsStanding } from './gateway-pods.ts';

/** What a gateway has on the volume. */
export interface PublishedCatalogue {
  digest: string;
  generation: number;
  totals: CatalogueTotals;
  conflicts: readonly Conflict[];
}

export interface GatewayStanding {
  /** What kept the catalogue from being published; absent: it is published. */
  fault?: { reason: GatewayFaultReason; message: string };
  /** The sources that are served; absent where the catalogue is not published. */
  sources?: { views: readonly SourceView[]; missing: readonly string[] };
  /** Who may use it; absent where everybody may. */
  access?: Pick<Access, 'fault' | 'remark'>;
  /** Absent where the operator starts no servers, or did not look at them. */
  pods?: PodsStanding;
}

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
  const { sources, pods } = standing;
  const wanted = [...readiness(standing), ...(sources ? [sourcesReady(sources.views, sources.missing)] : [])];
  return {
    observedGeneration: generation,
    ...(standing.fault?.reason === 'InvalidSpec' ? kept(before, ['url', 'replicas', 'readyReplicas']) : {}),
    ...(url === undefined ? {} : { url }),
    ...(pods?.url === undefined ? {} : { url: pods.url }),
    ...(pods?.replicas === undefined ? {} : { replicas: pods.replicas, readyReplicas: pods.readyReplicas }),
    ...(published === undefined
      ? kept(before, ['catalogue', 'conflicts'])
      : {
          catalogue: { digest: published.digest, generation: published.generation, ...published.totals },
          conflicts: published.conflicts.slice(0, shownConflicts).map((conflict) => ({ ...conflict })),
        }),
    conditions: transition(conditionsOf(before), wanted, generation, now),
  };
}

/** What the status said before: of what was published earlier and is served on. */
function kept(before: unknown, fields: readonly string[]): Record<string, unknown> {
  const status = (before ?? {}) as Record<string, unknown>;
  return Object.fromEntries(fields.flatMap((field) => (status[field] === undefined ? [] : [[field, status[field]]])));
}

/** What must be mended in the spec. A volume that cannot be written is tried again, a Secret is looked at again. */
const stalling: ReadonlySet<GatewayFaultReason> = new Set(['InvalidSpec', 'VolumeNotReachable', 'RolloutFailed']);

/** What Ready says where there is no more to say. */
export const catalogueIsPublished = 'The catalogue is published';

/**
 * Ready, with Stalled or Reconciling beside it: a catalogue that is not published outweighs tokens that cannot be used, and
 * those outweigh pods that do not run.
 */
function readiness({ fault, access, pods }: GatewayStanding): WantedCondition[] {
  const failed = fault ?? access?.fault ?? (pods?.state === 'failed' ? pods : undefined);
  if (failed !== undefined) {
    const { reason, message } = failed;
    return [
      { type: 'Ready', status: 'False', reason, message },
      ...(stalling.has(reason) ? [{ type: 'Stalled', status: 'True' as const, reason, message }] : []),
    ];
  }
  if (pods?.state === 'progressing') {
    const progress = { reason: Progressing, message: pods.message };
    return [
      { type: 'Ready', status: 'Unknown', ...progress },
      { type: 'Reconciling', status: 'True', ...progress },
    ];
  }
  const parts = [catalogueIsPublished, pods?.message, access?.remark].filter((part) => part !== undefined);
  return [{ type: 'Ready', status: 'True', reason: Succeeded, message: parts.join('; ') }];
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
  if (parts.length === 0) return condition('True', 'AllReady', 'Every selected source is served as upstream has it');
  const onlyStale = parts.length === 1 && named('stale').length > 0;
  return condition('False', onlyStale ? 'SourcesStale' : 'SourcesMissing', parts.join('; '));
}

function part(what: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, 5).join(', ');
  return `${what}: ${shown}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
}
