// Who owns which field of an object: the operator's name as a field manager, and what others have written beside it.

/** The one name under which the operator applies. */
export const fieldManager = 'lyceum';

/** Annotations of the pods are open to others: `kubectl rollout restart` writes one. */
const open = '/f:template/f:metadata/f:annotations';

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
  return [...others].some((path) => !own.has(path) && path !== open && !path.startsWith(`${open}/`));
}

interface ManagedFields {
  manager?: string;
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
