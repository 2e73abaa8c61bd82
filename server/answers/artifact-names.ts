// What artifacts are called in tools, pages and counts: the bare name where one artifact of its kind has it in a view, else
// with the library in front. Every one of these forms is taken, whichever is shown.
import { byCodePoint } from '../../catalogue/names.ts';
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import type { Artifact } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import { rememberedByKind } from './remembered.ts';

/** A bare name that several artifacts have: the names that tell them apart, sorted. */
export interface Candidates {
  candidates: readonly string[];
}

/** An artifact and what it is called in a view. */
export interface Named {
  name: string;
  artifact: Artifact;
}

/** `library/name`; `library/<source>--<folder>/name` of an artifact whose name's address is another one's. */
export const longName = ({ from, address }: Artifact): string => `${from.library}/${address}`;

/** @param artifact a visible one */
export function artifactName(view: View, artifact: Artifact): string {
  const { name } = artifact.row;
  return namesakes(view, artifact.kind).get(name)?.length === 1 ? name : longName(artifact);
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
  return { candidates: named.map(longName) };
}

/** The visible artifacts of a kind, sorted by what they are called. */
export const namedArtifacts = rememberedByKind((view, kind): readonly Named[] => {
  const named: Named[] = [];
  for (const [name, artifacts] of namesakes(view, kind)) {
    for (const artifact of artifacts) {
      named.push({ name: artifacts.length === 1 ? name : longName(artifact), artifact });
    }
  }
  return named.sort((a, b) => byCodePoint(a.name, b.name));
});

/** The visible artifacts of a kind by their bare names; those of one name sorted by the longer one. */
const namesakes = rememberedByKind((view, kind): ReadonlyMap<string, readonly Artifact[]> => {
  const visible = [...view.libraries.values()].flatMap(({ artifacts }) => artifacts[kind]);
  return Map.groupBy(visible, ({ row }) => row.name);
});
