// What artifacts are called in tools, pages and counts: the bare name where one artifact of its kind has it in a view, else
// with the library in front. Every one of these forms is taken, whichever is shown.
import { byCodePoint } from '../../catalogue/names.ts';
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import type { Artifact } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';

/** A bare name that several artifacts have: the names that tell them apart, sorted. */
export interface Candidates {
  candidates: readonly string[];
}

/** `library/name`; `library/<source>--<folder>/name` of an artifact whose name's address is another one's. */
export const longName = ({ from, address }: Artifact): string => `${from.library}/${address}`;

/** @param artifact a visible one */
export function artifactName(view: View, artifact: Artifact): string {
  const { kind, row } = artifact;
  return namesakes(view, kind).get(row.name)?.length === 1 ? row.name : longName(artifact);
}

/** What a name stands for; undefined for what is absent or out of scope alike. */
export function artifactNamed(view: View, kind: ArtifactKind, name: string): Artifact | Candidates | undefined {
  const slash = name.indexOf('/');
  if (slash !== -1) {
    const shelf = view.libraries.get(name.slice(0, slash))?.library.shelves[kind];
    const artifact = shelf?.at.get(name.slice(slash + 1));
    return artifact !== undefined && view.sees(artifact) ? artifact : undefined;
  }
  const named = namesakes(view, kind).get(name);
  if (named === undefined || named.length === 1) return named?.[0];
  return { candidates: named.map(longName).sort(byCodePoint) };
}

const remembered = new WeakMap<View, Map<ArtifactKind, ReadonlyMap<string, readonly Artifact[]>>>();

/** The visible artifacts of a kind by their bare names. */
function namesakes(view: View, kind: ArtifactKind): ReadonlyMap<string, readonly Artifact[]> {
  let kinds = remembered.get(view);
  if (kinds === undefined) {
    kinds = new Map();
    remembered.set(view, kinds);
  }
  let named = kinds.get(kind);
  if (named === undefined) {
    const visible = [...view.libraries.values()].flatMap(({ artifacts }) => artifacts[kind]);
    named = Map.groupBy(visible, ({ row }) => row.name);
    kinds.set(kind, named);
  }
  return named;
}
