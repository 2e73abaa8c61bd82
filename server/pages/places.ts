// What a page's path stands for: an artifact and one of its versions, one of its files, or its archive.
import { encodePath } from '../../catalogue/address.ts';
import type { ArtifactKind, ArtifactRow } from '../../catalogue/source-catalogue.ts';
import { artifactName, artifactNamed, type Candidates, longName } from '../answers/artifact-names.ts';
import { visiblePrompt } from '../answers/prompts.ts';
import type { Artifact } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';

/** What the pages of a kind stand below. */
export const kindsByFolder = { skills: 'skill', prompts: 'prompt', rules: 'rule', profiles: 'profile' } as const;
export type KindFolder = keyof typeof kindsByFolder;

export const folderOf = (kind: ArtifactKind): KindFolder => `${kind}s`;

export interface Place {
  artifact: Artifact;
  /** The version that is asked for: the newest where none is named. */
  row: ArtifactRow;
  at: 'page' | 'archive' | 'raw';
  /** Of a file, as it was sent; empty otherwise. */
  path: string;
}

/** The most segments that the name of an artifact has: library, qualifier, name. */
const longestName = 3;

/**
 * `<name>[/<version>]`, then nothing, `/raw/<path>` or `/archive[/<version>]`; a name as tools take it. Where a path can be
 * read in two ways, the longer name holds.
 * @param path as it was sent, below the kind's folder
 */
export function placeOf(view: View, kind: ArtifactKind, path: string): Place | Candidates | undefined {
  const segments = path.split('/');
  const names = segments.slice(0, longestName).map(decoded);
  for (let taken = kind === 'prompt' ? 1 : names.length; taken > 0; taken--) {
    const name = names.slice(0, taken);
    if (name.includes(undefined)) continue;
    const named = namedBy(view, kind, name.join('/'));
    const rest = segments.slice(taken);
    if (named === undefined) continue;
    if (!('candidates' in named)) {
      const place = placeIn(named, rest);
      if (place !== undefined) return place;
    } else if (rest.length === 0) return named;
  }
  return undefined;
}

const namedBy = (view: View, kind: ArtifactKind, name: string): Artifact | Candidates | undefined =>
  kind === 'prompt' ? visiblePrompt(view, name) : artifactNamed(view, kind, name);

function placeIn(artifact: Artifact, rest: readonly string[]): Place | undefined {
  const newest = { artifact, row: artifact.row, path: '' };
  const [word, ...below] = rest;
  if (word === undefined) return { ...newest, at: 'page' };
  if (word === 'raw' && below.length > 0) return { ...newest, at: 'raw', path: below.join('/') };
  const version = decoded(word === 'archive' ? (below[0] ?? '') : word);
  if (word === 'archive' && below.length === 0) return { ...newest, at: 'archive' };
  const row = artifact.versions.find((one) => one.version === version);
  if (row === undefined) return undefined;
  if (word === 'archive') return below.length === 1 ? { artifact, row, at: 'archive', path: '' } : undefined;
  if (below.length === 0) return { artifact, row, at: 'page', path: '' };
  return below[0] === 'raw' && below.length > 1
    ? { artifact, row, at: 'raw', path: below.slice(1).join('/') }
    : undefined;
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/**
 * The path of an artifact's page, or of one of its versions. It leads there and nowhere else, and so does what stands below it:
 * the longer name is taken where a library has the shorter one, since what follows may be the name of something there.
 */
export function pathOf(view: View, artifact: Artifact, row: ArtifactRow = artifact.row): string {
  const { kind, qualified } = artifact;
  const version = row === artifact.row ? '' : `/${versionSegment(row.version)}`;
  const path = (name: string): string => `/${folderOf(kind)}/${encodePath(name)}${version}`;
  if (kind === 'prompt') return path(qualified);
  const name = artifactName(view, artifact);
  return path(view.libraries.has(name) ? longName(artifact) : name);
}

/** A version that is called as a route is has its first letter encoded: paths are read as they are sent. */
const versionSegment = (version: string): string =>
  version === 'raw' || version === 'archive'
    ? `%${version.charCodeAt(0).toString(16)}${version.slice(1)}`
    : encodeURIComponent(version);
