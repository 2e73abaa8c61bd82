// The events of a SkillGateway: one when it turns bad, one when it is well again. Pure.
import type { EventRecord } from '../kubernetes/cluster.ts';
import type { Condition } from '../reconcile/conditions.ts';

type Ready = Pick<Condition, 'status' | 'reason' | 'message'>;

/** The reason for which a gateway is bad; undefined: it is not. */
export const faultOf = (ready: Ready | undefined): string | undefined =>
  ready?.status === 'False' ? ready.reason : undefined;

/**
 * A Warning when it turns bad or turns bad in another way, a Normal when it is well again, nothing on repetition. Pods that
 * start or are replaced are neither.
 * @param before the fault that was told last
 */
export function standingEvent(
  before: string | undefined,
  ready: Ready | undefined,
): { fault: string | undefined; event?: EventRecord } {
  if (ready === undefined || ready.status === 'Unknown') return { fault: before };
  const fault = faultOf(ready);
  if (fault === before) return { fault };
  const type = fault === undefined ? 'Normal' : 'Warning';
  return { fault, event: { type, reason: ready.reason, action: 'Serve', note: ready.message } };
}
