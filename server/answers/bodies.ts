// The bodies that stand behind an address without being a file: indexes, lists of files, manifests.
import { addressScheme, listedUri } from '../../catalogue/address.ts';
import type { Artifact, PackFile } from '../snapshot/snapshot.ts';
import { counted } from './words.ts';

/** What stands on an index page: the word for one of them, and what may be done with its address. */
const indexed = {
  skill: ['skill', 'for the instructions of that skill', 'that the skill ships', 'the skill'],
  rule: ['rule', 'for the text of that rule', 'that belongs to the rule', 'the rule'],
  profile: ['profile', 'for the text of that profile', 'that belongs to the profile', 'the profile'],
} as const;

export type IndexedKind = keyof typeof indexed;

/**
 * An index: of the skills of a library or group, or of a library's rules or profiles.
 * @param artifacts of one kind, sorted by qualified address
 */
export function indexBody(selector: string, kind: IndexedKind, artifacts: readonly Artifact[]): string {
  const [word, purpose, belonging, its] = indexed[kind];
  const lines = artifacts.map(({ qualified, row: { description } }) =>
    description === '' ? addressScheme + qualified : `${addressScheme}${qualified}: ${description}`,
  );
  return [
    `# ${selector} — ${counted(artifacts.length, word)}`,
    '',
    ...lines,
    '',
    `Read one of these addresses ${purpose}. Append \`/_manifest\` to it for a list of every file ` +
      `${belonging}; each of them is read at the address of ${its}, a slash and its path.`,
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

/** Every file of a skill, rule or profile with its size and digest, as JSON. Paths are raw, sorted by code point. */
export function manifestBody({ kind, qualified, row }: Artifact): string {
  const files = row.files.map(({ path, size, digest }) => ({ path, size, hash: digest }));
  return JSON.stringify({ [kind]: qualified, files }, null, 2);
}
