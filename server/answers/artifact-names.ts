// What artifacts are called in tools, pages and counts: the bare name where one artifact of its kind has it in a view, else
// with the library in front. Every one of these forms is taken, whichever is shown.
import { byCodePoint } from '../../catalogue/names.ts';
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import type { Artifact, Snapshot } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import { rememberedByKind } from './remembered.ts';

/** A bare name that several artifacts have: the names that tell them apart, sorted. */
export interface Candidates {
  candidates: readonly string[];
}

/** `library/name`; `library/<source>--<folder>/name` of an artifact whose name's address is another one's. */
export const longName = ({ from, address }: Artifact): string => `${from.library}/${address}`;

/** @param artifact a visible one */
export function artifactName(view: View, artifact: Artifact): string {
  const { name } = artifact.row;
  return sharedNames(view, artifact.kind).has(name) ? longName(artifact) : name;
}

/** What a name stands for; undefined for what is absent or out of scope alike. */
export function artifactNamed(view: View, kind: ArtifactKind, name: string): Artifact | Candidates | undefined {
  const slash = name.indexOf('/');
  if (slash !== -1) {
    const shelf = view.libraries.get(name.slice(0, slash))?.library.shelves[kind];
    const artifact = shelf?.at.get(name.slice(slash + 1));
    return artifact !== undefined && view.sees(artifact) ? artifact : undefined;
  }
  const named = namesakes(view.snapshot, kind).get(name)?.filter(view.sees) ?? [];
  if (named.length < 2) return named[0];
  return { candidates: named.map(longName) };
}

/** The visible artifacts of a kind, sorted by what they are called. */
export const artifactsByName = rememberedByKind((view: View, kind): readonly Artifact[] =>
  [...view.libraries.values()]
    .flatMap(({ artifacts }) => artifacts[kind])
    .map((artifact) => ({ artifact, name: artifactName(view, artifact) }))
    .sort((a, b) => byCodePoint(a.name, b.name))
    .map(({ artifact }) => artifact),
);

/**
 * The artifacts of a kind by their bare names, whoever sees them: a table for each scope would take megabytes. Those of one
 * name are sorted by the longer one.
 */
const namesakes = rememberedByKind(({ libraries }: Snapshot, kind): ReadonlyMap<string, readonly Artifact[]> => {
  const all = [...libraries.values()].flatMap(({ shelves }) => shelves[kind].all);
  return Map.groupBy(all, ({ row }) => row.name);
});

/** The bare names that several visible artifacts of a kind have. */
const sharedNames = rememberedByKind((view: View, kind): ReadonlySet<string> => {
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const { artifacts } of view.libraries.values()) {
    for (const { row } of artifacts[kind]) (seen.has(row.name) ? shared : seen).add(row.name);
  }
  return shared;
});
