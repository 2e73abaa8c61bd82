// What Roles grant, and what an audit log says was asked: both as `verb resource.group`. Pure.

export interface PolicyRule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

/** A line of an audit log (audit.k8s.io/v1), as far as it counts here. */
export interface AuditEvent {
  verb: string;
  user: { username: string };
  objectRef?: { resource?: string; subresource?: string; apiGroup?: string; namespace?: string };
  responseStatus?: { code?: number };
  requestURI: string;
}

const right = (verb: string, resource: string, group: string): string =>
  `${verb} ${resource}${group === '' ? '' : `.${group}`}`;

export const granted = (rules: readonly PolicyRule[]): Set<string> =>
  new Set(
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => right(verb, resource, group)))),
    ),
  );

/** An apply that made its object (201) needed the right to create it as well. None for what is no object: discovery, health, versions. */
export function asked({ verb, objectRef, responseStatus }: AuditEvent): string[] {
  if (objectRef?.resource === undefined) return [];
  const { resource, subresource, apiGroup = '' } = objectRef;
  const full = subresource === undefined ? resource : `${resource}/${subresource}`;
  const verbs = verb === 'patch' && responseStatus?.code === 201 ? ['patch', 'create'] : [verb];
  return verbs.map((one) => right(one, full, apiGroup));
}
