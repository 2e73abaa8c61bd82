// Reading: what an address stands for in a view, and its content. Addresses are matched as exact strings.
import { addressScheme, listedUri } from '../../catalogue/address.ts';
import type { FileRow } from '../../catalogue/source-catalogue.ts';
import { artifactFile } from '../snapshot/keys.ts';
import { type Artifact, mainFile, type PackFile, type Shelf } from '../snapshot/snapshot.ts';
import type { View, VisibleLibrary } from '../view.ts';
import { filesBody, type IndexedKind, indexBody, manifestBody } from './bodies.ts';
import { indexName, skillIndexBody } from './discovery.ts';
import { keptBody } from './kept-bodies.ts';

/** What a read touches, for the metric of reads. */
export type ReadKind = 'index' | 'skill' | 'prompt' | 'rule' | 'profile' | 'file';

export interface Touched {
  kind: ReadKind;
  library: string;
}

/** What an address stands for: a text that depends on the view alone, an artifact's manifest, or a file of a source. */
export type Target = Touched & { mimeType: string } & (
    | { text: string }
    | { manifestOf: Artifact }
    | { file: FileRow; owner: Artifact | PackFile; listed: string }
  );

/** One element of a `resources/read` result. */
export type Contents =
  | { uri: string; mimeType: string; text: string }
  | { uri: string; mimeType: string; blob: string };

const longestUri = 8192;

/**
 * What a URI reads; undefined for everything that is absent, malformed or out of scope alike.
 * Below a library, in this order: the longest skill address, a file of that skill, `_files`, `_rules` and `_profiles` and
 * what stands there in the same manner, pack files.
 */
export function resolve(view: View, uri: string): Target | undefined {
  if (!uri.startsWith(addressScheme) || uri.length > longestUri) return undefined;
  let end = uri.length;
  while (uri[end - 1] === '/') end--;
  const address = uri.slice(addressScheme.length, end);
  const slash = address.indexOf('/');
  if (slash === -1) return resolveIndex(view, address);
  const visible = view.libraries.get(address.slice(0, slash));
  return visible && resolveContent(view, visible, address.slice(slash + 1));
}

function resolveIndex(view: View, name: string): Target | undefined {
  if (name === indexName) {
    const text = keptBody(view, name, () => skillIndexBody(view));
    return { kind: 'index', library: '', mimeType: 'application/json', text };
  }
  const isLibrary = view.snapshot.libraries.has(name);
  const skills = isLibrary ? view.libraries.get(name)?.artifacts.skill : view.groups.get(name);
  if (skills === undefined) return undefined;
  return indexOf(view, isLibrary ? name : skills[0]!.from.library, 'skill', name, skills);
}

/** What stands at a place of its own in a library. */
const places: Readonly<Record<string, IndexedKind>> = { _rules: 'rule', _profiles: 'profile' };

function resolveContent(view: View, visible: VisibleLibrary, rest: string): Target | undefined {
  const { library, artifacts, files } = visible;
  const segments = rest.split('/');
  const skill = longestAt(library.shelves.skill, segments);
  if (skill !== undefined) return resolveIn(view, skill, segments);

  const place = segments[0]!;
  const kind = Object.hasOwn(places, place) ? places[place] : undefined;
  if (kind !== undefined && segments.length === 1) {
    return indexOf(view, library.name, kind, rest, artifacts[kind]);
  }
  if (kind !== undefined) {
    const below = segments.slice(1);
    const found = longestAt(library.shelves[kind], below);
    return found && resolveIn(view, found, below);
  }
  if (rest === '_files') {
    if (files.length === 0) return undefined;
    const text = keptBody(view, `${library.name}/_files`, () => filesBody(library.name, files));
    return { kind: 'index', library: library.name, mimeType: 'text/markdown', text };
  }
  const file = library.fileAt.get(rest);
  if (file === undefined || !view.seesFile(file)) return undefined;
  return fileTarget('file', file, file.row, `${library.name}/${file.row.path}`);
}

/** @param at where the index stands: a group's name, or the address below the library */
function indexOf(
  view: View,
  library: string,
  kind: IndexedKind,
  at: string,
  artifacts: readonly Artifact[],
): Target | undefined {
  if (artifacts.length === 0) return undefined;
  const selector = kind === 'skill' ? at : library;
  const address = kind === 'skill' ? at : `${library}/${at}`;
  const text = keptBody(view, address, () => indexBody(selector, kind, artifacts));
  return { kind: 'index', library, mimeType: 'text/markdown', text };
}

interface Found {
  artifact: Artifact;
  /** How many segments its address took. */
  taken: number;
}

function longestAt({ at, depth }: Shelf, segments: readonly string[]): Found | undefined {
  for (let taken = Math.min(depth, segments.length); taken > 0; taken--) {
    const artifact = at.get(segments.slice(0, taken).join('/'));
    if (artifact !== undefined) return { artifact, taken };
  }
  return undefined;
}

/** The main text of an artifact, its manifest, or one of its files. */
function resolveIn(view: View, { artifact, taken }: Found, segments: readonly string[]): Target | undefined {
  if (!view.sees(artifact)) return undefined;
  const { kind, from, qualified, row } = artifact;
  const path = segments.slice(taken).join('/');
  if (path === '_manifest') {
    return { kind, library: from.library, mimeType: 'application/json', manifestOf: artifact };
  }
  const asSkill = kind === 'skill' && (path === '' || path === 'SKILL.md');
  const file = asSkill || path === '' ? mainFile(row) : artifactFile(row, path);
  return file && fileTarget(kind, artifact, file, `${qualified}/${asSkill ? 'SKILL.md' : file.path}`);
}

const fileTarget = (kind: ReadKind, owner: Artifact | PackFile, file: FileRow, address: string): Target => ({
  kind,
  library: owner.from.library,
  mimeType: file.mediaType,
  file,
  owner,
  listed: listedUri(address),
});

/**
 * The content of a target: text where its bytes are text, else base64.
 * @param uri what was asked for
 * @throws ContentUnavailable
 */
export async function contentsOf(view: View, target: Target, uri: string): Promise<Contents> {
  const { mimeType } = target;
  if ('text' in target) return { uri, mimeType, text: target.text };
  if ('manifestOf' in target) {
    const { manifestOf } = target;
    return { uri, mimeType, text: keptBody(view, `${manifestOf.qualified}/_manifest`, () => manifestBody(manifestOf)) };
  }
  const bytes = await bytesOf(view, target.file);
  return target.file.text
    ? { uri, mimeType, text: bytes.toString('utf8') }
    : { uri, mimeType, blob: bytes.toString('base64') };
}

/**
 * The bytes of a file: the one way in which content leaves a snapshot.
 * @throws ContentUnavailable
 */
export const bytesOf = ({ snapshot }: View, { digest }: FileRow): Promise<Buffer> => snapshot.content.read(digest);
