// Who owns which field of an object: the operator's name as a field manager, and what others have written beside it.

/** The one name under which the operator applies. */
export const fieldManager = 'lyceum';

/** Holds the number of pods between the operator, which gives it up, and the autoscaler, which has not set it yet. */
export const replicasManager = 'lyceum-replicas';

/** Annotations of the pods are open to others: `kubectl rollout restart` writes one. */
const annotations = '/f:template/f:metadata/f:annotations';
/** Where the operator does not say how many pods there are, an autoscaler does. */
const replicas = '/f:replicas';

const isOpen = (path: string): boolean =>
  path === replicas || path === annotations || path.startsWith(`${annotations}/`);

/**
 * Whether somebody else has put into the spec what the operator did not: an environment variable, a container, a port. Where
 * both say the same the field is the operator's. Pure.
 * @param managedFields metadata.managedFields, as the API server sends it
 */
export function othersWroteSpec(managedFields: unknown): boolean {
  const entries = (Array.isArray(managedFields) ? managedFields : []) as ManagedFields[];
  const [own, others] = [new Set<string>(), new Set<string>()];
  for (const { manager, fieldsV1 } of entries) {
    collect(fieldsV1?.['f:spec'], '', manager === fieldManager ? own : others);
  }
  return [...others].some((path) => !own.has(path) && !isOpen(path));
}

/** Whether the operator has applied how many pods there are. Pure. @param managedFields as above */
export function appliedReplicas(managedFields: unknown): boolean {
  const entries = (Array.isArray(managedFields) ? managedFields : []) as ManagedFields[];
  return entries.some(
    ({ manager, operation, fieldsV1 }) =>
      manager === fieldManager && operation === 'Apply' && fieldsV1?.['f:spec']?.['f:replicas'] !== undefined,
  );
}

interface ManagedFields {
  manager?: string;
  operation?: string;
  fieldsV1?: Record<string, Fields>;
}

/** `f:` a field, `k:` and `v:` an item of a list, `.` the thing itself; an empty one is a leaf. */
interface Fields {
  [step: string]: Fields;
}

function collect(fields: Fields | undefined, path: string, into: Set<string>): void {
  if (fields === undefined) return;
  const steps = Object.entries(fields);
  if (steps.length === 0) into.add(path);
  for (const [step, inner] of steps) collect(inner, step === '.' ? path : `${path}/${step}`, into);
}
