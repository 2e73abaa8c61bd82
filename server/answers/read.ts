// Reading: what an address stands for in a view, and its content. Addresses are matched as exact strings.
import { addressScheme, listedUri } from '../../catalogue/address.ts';
import type { FileRow } from '../../catalogue/source-catalogue.ts';
import { artifactFile } from '../snapshot/keys.ts';
import { type Artifact, mainFile } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import { filesBody, indexBody, manifestBody } from './bodies.ts';

/** What a read touches, for the metric of reads. */
export type ReadKind = 'index' | 'skill' | 'file';

export type Target =
  | { kind: ReadKind; library: string; mimeType: string; text: string }
  | { kind: ReadKind; library: string; mimeType: string; file: FileRow; listed: string };

/** One element of a `resources/read` result. */
export type Contents =
  | { uri: string; mimeType: string; text: string }
  | { uri: string; mimeType: string; blob: string };

const longestUri = 8192;

/**
 * What a URI reads; undefined for everything that is absent, malformed or out of scope alike.
 * Below a library, in this order: the longest skill address, a file of that skill, `_files`, pack files.
 */
export function resolve(view: View, uri: string): Target | undefined {
  if (!uri.startsWith(addressScheme) || uri.length > longestUri) return undefined;
  let end = uri.length;
  while (uri[end - 1] === '/') end--;
  const address = uri.slice(addressScheme.length, end);
  const slash = address.indexOf('/');
  return slash === -1
    ? resolveIndex(view, address)
    : resolveContent(view, address.slice(0, slash), address.slice(slash + 1));
}

function resolveIndex(view: View, name: string): Target | undefined {
  const skills = view.snapshot.libraries.has(name) ? view.libraries.get(name)?.artifacts.skill : view.groups.get(name);
  if (skills === undefined || skills.length === 0) return undefined;
  const library = view.snapshot.libraries.has(name) ? name : skills[0]!.from.library;
  return { kind: 'index', library, mimeType: 'text/markdown', text: indexBody(name, skills) };
}

function resolveContent(view: View, libraryName: string, rest: string): Target | undefined {
  const visible = view.libraries.get(libraryName);
  if (visible === undefined) return undefined;
  const { library } = visible;
  const segments = rest.split('/');
  for (let taken = Math.min(library.shelves.skill.depth, segments.length); taken > 0; taken--) {
    const skill = library.shelves.skill.at.get(segments.slice(0, taken).join('/'));
    if (skill === undefined) continue;
    return view.sees(skill) ? resolveInSkill(skill, segments.slice(taken).join('/')) : undefined;
  }
  if (rest === '_files') {
    if (visible.files.length === 0) return undefined;
    return {
      kind: 'index',
      library: libraryName,
      mimeType: 'text/markdown',
      text: filesBody(libraryName, visible.files),
    };
  }
  const file = library.fileAt.get(rest);
  if (file === undefined || !view.seesFile(file)) return undefined;
  return fileTarget('file', libraryName, file.row, `${libraryName}/${file.row.path}`);
}

function resolveInSkill(skill: Artifact, path: string): Target | undefined {
  const { library } = skill.from;
  if (path === '_manifest') {
    return { kind: 'skill', library, mimeType: 'application/json', text: manifestBody(skill) };
  }
  const main = path === '' || path === 'SKILL.md';
  const file = main ? mainFile(skill.row) : artifactFile(skill.row, path);
  return file && fileTarget('skill', library, file, `${skill.qualified}/${main ? 'SKILL.md' : file.path}`);
}

const fileTarget = (kind: ReadKind, library: string, file: FileRow, address: string): Target => ({
  kind,
  library,
  mimeType: file.mediaType,
  file,
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
  const bytes = await view.snapshot.content.read(target.file.digest);
  return target.file.text
    ? { uri, mimeType, text: bytes.toString('utf8') }
    : { uri, mimeType, blob: bytes.toString('base64') };
}
