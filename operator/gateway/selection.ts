// Which SkillSources a SkillGateway serves: by name, by label selector, or every one of its namespace.
import type { KubernetesObject } from '../kubernetes/cluster.ts';
import type { SkillGatewaySpec } from '../resources/skill-gateway.ts';

type Selector = NonNullable<NonNullable<SkillGatewaySpec['sources']>['selector']>;

/** What a gateway selects, in the order of the sources' right to an address, and the names that no source has. */
export interface Selection {
  selected: KubernetesObject[];
  missing: string[];
}

/** @param candidates every SkillSource of the gateway's namespace; those being deleted are left out */
export function selectSources(
  sources: SkillGatewaySpec['sources'],
  candidates: readonly KubernetesObject[],
): Selection {
  const living = candidates.filter((candidate) => candidate.metadata.deletionTimestamp === undefined);
  const names = sources?.names;
  const selector = sources?.selector;
  const selected = living.filter(
    (candidate) =>
      (names === undefined || names.includes(candidate.metadata.name)) &&
      (selector === undefined || matches(selector, candidate.metadata.labels)),
  );
  const missing = (names ?? []).filter((name) => !living.some((candidate) => candidate.metadata.name === name));
  return { selected: selected.sort(byAge), missing };
}

/** Older first, then by name: the older SkillSource keeps a disputed address. */
function byAge(a: KubernetesObject, b: KubernetesObject): number {
  const age = Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp);
  if (age !== 0) return age;
  return a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0;
}

/** metav1.LabelSelector: every requirement must hold; an empty selector selects everything. */
export function matches(selector: Selector, labels: Readonly<Record<string, string>>): boolean {
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) if (labels[key] !== value) return false;
  return (selector.matchExpressions ?? []).every((requirement) => holds(requirement, labels[requirement.key]));
}

type Requirement = NonNullable<Selector['matchExpressions']>[number];

function holds({ operator, values = [] }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
