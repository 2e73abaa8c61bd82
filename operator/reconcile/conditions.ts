// Conditions as metav1.Condition and kstatus have them: set whole, moved only when their status flips.

/** metav1.Condition. Times are RFC 3339 in whole seconds. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  observedGeneration: number;
  lastTransitionTime: string;
}

/** A condition as a decision: its time comes from what it was before. */
export type WantedCondition = Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;

/**
 * The new list of conditions: exactly the wanted ones, each with the time of its last flip of status.
 * @param before as read from the object's status
 * @param now RFC 3339
 */
export function transition(
  before: readonly Condition[],
  wanted: readonly WantedCondition[],
  generation: number,
  now: string,
): Condition[] {
  return wanted.map((condition) => {
    const old = before.find((candidate) => candidate.type === condition.type);
    return {
      type: condition.type,
      status: condition.status,
      reason: condition.reason,
      message: shortened(condition.message, messageLimit),
      observedGeneration: generation,
      lastTransitionTime: old?.status === condition.status ? old.lastTransitionTime : now,
    };
  });
}

/** Kubernetes allows 32,768 characters; a person reads far less. */
const messageLimit = 1024;

/** The text, or its beginning where it has too many characters: code points, as the API server counts them. */
export function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const characters = Array.from(text.slice(0, 2 * longest + 2));
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join('')}…`;
}

/** The conditions of an object's status, or none where it has no status yet or somebody wrote another shape there. */
export function conditionsOf(status: unknown): Condition[] {
  const conditions = (status as { conditions?: unknown } | undefined)?.conditions;
  return Array.isArray(conditions) ? (conditions as Condition[]) : [];
}

export const conditionOf = (status: unknown, type: string): Condition | undefined =>
  conditionsOf(status).find((condition) => condition.type === type);

/** `now` as conditions carry it: whole seconds, UTC. */
export const rfc3339 = (milliseconds: number): string => new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/, 'Z');
