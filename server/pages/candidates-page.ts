// The page of a name that several artifacts have: which they are.
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import { artifactNamed } from '../answers/artifact-names.ts';
import { html } from './html.ts';
import { cataloguePage } from './layout.ts';
import { artifactList } from './listing.ts';
import { folderOf } from './places.ts';
import type { Visit } from './visit.ts';

/** @param candidates names that tell them apart */
export function candidatesPage(visit: Visit, kind: ArtifactKind, candidates: readonly string[]): string {
  const artifacts = candidates.flatMap((candidate) => {
    const named = artifactNamed(visit.view, kind, candidate);
    return named === undefined || 'candidates' in named ? [] : [named];
  });
  const main = html`<h1>Several ${folderOf(kind)} have this name</h1>
${artifactList(visit, artifacts, 2)}`;
  return cataloguePage(visit, { title: `Several ${folderOf(kind)}`, main, here: `/${folderOf(kind)}` });
}
