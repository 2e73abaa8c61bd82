// The bodies that stand behind an address without being a file: indexes, lists of files, manifests.
import { addressScheme, listedUri } from '../../catalogue/address.ts';
import type { Artifact, PackFile } from '../snapshot/snapshot.ts';
import { counted } from './words.ts';

/** The index of a library or a group. @param skills sorted by qualified address */
export function indexBody(selector: string, skills: readonly Artifact[]): string {
  const lines = skills.map(({ qualified, row: { description } }) =>
    description === '' ? addressScheme + qualified : `${addressScheme}${qualified}: ${description}`,
  );
  return [
    `# ${selector} — ${counted(skills.length, 'skill')}`,
    '',
    ...lines,
    '',
    'Read one of these addresses for the instructions of that skill. Append `/_manifest` to it for a list of every file ' +
      'that the skill ships; each of them is read at the address of the skill, a slash and its path.',
  ].join('\n');
}

/** The list of a library's files outside its skills. @param files sorted by path */
export function filesBody(library: string, files: readonly PackFile[]): string {
  return [
    `# ${library} — ${counted(files.length, 'pack-level file')}`,
    '',
    'Files that the pack ships outside its skills; read any of them by its address.',
    '',
    ...files.map(({ row }) => listedUri(`${library}/${row.path}`)),
  ].join('\n');
}

/** Every file of a skill with its size and digest, as JSON. Paths are raw, sorted by code point. */
export function manifestBody({ qualified, row }: Artifact): string {
  const files = row.files.map(({ path, size, digest }) => ({ path, size, hash: digest }));
  return JSON.stringify({ skill: qualified, files }, null, 2);
}
