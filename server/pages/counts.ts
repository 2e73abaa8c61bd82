// How many artifacts of each kind there are, in numbers and in words.
import { counted } from '../answers/words.ts';
import { type Artifact, artifactKinds, type ByKind } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';

/** How many artifacts of each kind there are, wherever `among` has them. */
export function countByKind(among: Iterable<ByKind<readonly Artifact[]>>): ByKind<number> {
  const counts = { skill: 0, prompt: 0, rule: 0, profile: 0 };
  for (const artifacts of among) for (const kind of artifactKinds) counts[kind] += artifacts[kind].length;
  return counts;
}

export const visibleCounts = ({ libraries }: View): ByKind<number> =>
  countByKind([...libraries.values()].map(({ artifacts }) => artifacts));

/** "14 skills, 1 rule" */
export function kindCounts(counts: ByKind<number>): string {
  const some = artifactKinds.filter((kind) => counts[kind] > 0);
  return some.length === 0 ? 'nothing' : some.map((kind) => counted(counts[kind], kind)).join(', ');
}
