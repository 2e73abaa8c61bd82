// Directories: what stands directly below a library, a folder in it, a skill, or a folder of a skill.
import { addressScheme, encodePath, listedUri, pathOfListed } from '../../catalogue/address.ts';
import { byCodePoint } from '../../catalogue/names.ts';
import type { FileRow } from '../../catalogue/source-catalogue.ts';
import { type Artifact, byAscii, mainFile } from '../snapshot/snapshot.ts';
import type { View, VisibleLibrary } from '../view.ts';
import { type PageOf, pageOf } from './page.ts';

/** A row of `resources/directory/read`: a file with its metadata, or a folder. */
export interface DirectoryRow {
  uri: string;
  name: string;
  description?: string;
  mimeType: string;
  size?: number;
}

const directoryType = 'inode/directory';

/**
 * One page of a directory's children; undefined for what is no directory, or is not visible.
 * @param uri the directory's URI, word for word, without a slash at its end
 * @throws BadCursor
 */
export function directoryPage(view: View, uri: string, cursor: string | undefined): PageOf<DirectoryRow> | undefined {
  const children = childrenOf(view, uri);
  return (
    children &&
    pageOf(
      'c',
      {
        length: children.length,
        keyAt: (index) => keyOf(children[index]!),
        rowAt: (index) => children[index]!,
        bytesAt: (index) => Buffer.byteLength(JSON.stringify(children[index]!)),
        compare: byAscii,
      },
      cursor,
    )
  );
}

/** By what their addresses end with; of a file and a folder of one name the file goes first. */
function keyOf({ uri, mimeType }: DirectoryRow): string {
  const last = uri.slice(uri.lastIndexOf('/') + 1);
  return mimeType === directoryType ? `${last}/` : last;
}

function childrenOf(view: View, uri: string): readonly DirectoryRow[] | undefined {
  if (!uri.startsWith(addressScheme) || uri.endsWith('/')) return undefined;
  const known = remembered.get(view)?.get(uri);
  if (known !== undefined) return known;
  const address = uri.slice(addressScheme.length);
  const slash = address.indexOf('/');
  const visible = view.libraries.get(slash === -1 ? address : address.slice(0, slash));
  if (visible === undefined) return undefined;
  const children = slash === -1 ? inLibrary(visible, '') : below(view, visible, address.slice(slash + 1));
  if (children === undefined) return undefined;
  const sorted = children.sort((a, b) => byAscii(keyOf(a), keyOf(b)));
  if (sorted.length >= worthRemembering) remember(view, uri, sorted);
  return sorted;
}

/** Directories so large that a page must not cost all of them; a few for each view, the one used last kept longest. */
const worthRemembering = 1000;
const mostRemembered = 4;
const remembered = new WeakMap<View, Map<string, readonly DirectoryRow[]>>();

function remember(view: View, uri: string, children: readonly DirectoryRow[]): void {
  const known = remembered.get(view) ?? new Map<string, readonly DirectoryRow[]>();
  remembered.set(view, known);
  known.set(uri, children);
  if (known.size > mostRemembered) known.delete(known.keys().next().value!);
}

function below(view: View, visible: VisibleLibrary, rest: string): DirectoryRow[] | undefined {
  const { library } = visible;
  const { skill: shelf } = library.shelves;
  const segments = rest.split('/');
  for (let taken = Math.min(shelf.depth, segments.length); taken > 0; taken--) {
    const skill = shelf.at.get(segments.slice(0, taken).join('/'));
    if (skill === undefined) continue;
    return view.sees(skill) ? inSkill(skill, segments.slice(taken).join('/')) : undefined;
  }
  // A folder is asked for as a file is: in the form of a listing, or raw.
  for (const folder of new Set([pathOfListed(rest), rest])) {
    const children = folder === undefined ? [] : inLibrary(visible, `${folder}/`);
    if (children.length > 0) return children;
  }
  return undefined;
}

function inSkill({ qualified, row }: Artifact, rest: string): DirectoryRow[] | undefined {
  for (const folder of new Set([pathOfListed(rest), rest])) {
    if (folder === undefined) continue;
    const children = fileChildren(row.files, folder === '' ? '' : `${folder}/`, `${qualified}/`);
    if (children.length > 0 || folder === '') return children.map((child) => asMain(child, qualified, row));
  }
  return undefined;
}

/** SKILL.md has the name and the description of its skill, as the extension asks; every other row is left as it is. */
function asMain(child: DirectoryRow, qualified: string, row: Artifact['row']): DirectoryRow {
  if (child.uri !== listedUri(`${qualified}/${mainFile(row)?.path}`)) return child;
  const { description = row.description } = row.frontmatter ?? {};
  return typeof description === 'string' && description !== ''
    ? { ...child, name: row.name, description }
    : { ...child, name: row.name };
}

/** @param prefix the folder with a slash behind it; `` for the library itself */
function inLibrary({ library, artifacts, files }: VisibleLibrary, prefix: string): DirectoryRow[] {
  const folders = new Set<string>();
  const rows: DirectoryRow[] = [];
  for (const { address, row } of artifacts.skill) {
    if (!address.startsWith(prefix)) continue;
    const [name, ...deeper] = address.slice(prefix.length).split('/');
    if (folders.has(name!)) continue;
    folders.add(name!);
    const described = deeper.length === 0 && row.description !== '' ? { description: row.description } : {};
    rows.push({ ...directory(`${library.name}/${prefix}`, name!), ...described });
  }
  const children = fileChildren(
    files.map(({ row }) => row),
    prefix,
    `${library.name}/`,
  );
  return [...rows, ...children.filter(({ name, mimeType }) => mimeType !== directoryType || !folders.has(name))];
}

/**
 * The children of a folder among files.
 * @param files sorted by code point of the path
 * @param prefix the folder with a slash behind it, `` for the root
 * @param base the address of the root, with a slash behind it
 */
function fileChildren(files: readonly FileRow[], prefix: string, base: string): DirectoryRow[] {
  const children: DirectoryRow[] = [];
  for (let at = firstFrom(files, prefix); at < files.length; ) {
    const { path, mediaType, size } = files[at]!;
    if (!path.startsWith(prefix)) break;
    const slash = path.indexOf('/', prefix.length);
    if (slash === -1) {
      const name = path.slice(prefix.length);
      children.push({ uri: listedUri(base + path), name, mimeType: mediaType, size });
      at++;
    } else {
      children.push(directory(base + prefix, path.slice(prefix.length, slash)));
      // `0` is the character behind the slash: the first path that is not in this folder.
      at = firstFrom(files, `${path.slice(0, slash)}0`, at);
    }
  }
  return children;
}

const directory = (parent: string, name: string): DirectoryRow => ({
  uri: `${addressScheme}${encodePath(parent + name)}`,
  name,
  mimeType: directoryType,
});

function firstFrom(files: readonly FileRow[], path: string, from = 0): number {
  let low = from;
  let high = files.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (byCodePoint(files[middle]!.path, path) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
