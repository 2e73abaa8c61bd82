// What differs between two views of one client: what a notice may tell him, and nothing of what he does not see.
import { isDeepStrictEqual } from 'node:util';
import type { View, VisibleLibrary } from '../view.ts';
import { resolve, type Target } from './read.ts';

export interface Changes {
  /** Anything that resources are made from: an address, a description, the bytes of a file. */
  resources: boolean;
  prompts: boolean;
}

/** Pure. */
export const changesBetween = (before: View, after: View): Changes => ({
  resources: !sameResources(before, after),
  prompts: !sameRows(before.prompts, after.prompts),
});

/** Those of the addresses that read otherwise, or no longer, or now. */
export const changedAddresses = (before: View, after: View, uris: readonly string[]): string[] =>
  uris.filter((uri) => !sameTarget(resolve(before, uri), resolve(after, uri)));

function sameResources(before: View, after: View): boolean {
  if (before.libraries.size !== after.libraries.size || !sameNames(before.groups, after.groups)) return false;
  for (const [name, library] of before.libraries) {
    const other = after.libraries.get(name);
    if (other === undefined || !sameLibrary(library, other)) return false;
  }
  return true;
}

const sameNames = (before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): boolean =>
  before.size === after.size && [...before.keys()].every((name) => after.has(name));

const sameLibrary = (before: VisibleLibrary, after: VisibleLibrary): boolean =>
  before.library.title === after.library.title &&
  before.library.description === after.library.description &&
  sameRows(before.artifacts.skill, after.artifacts.skill) &&
  sameRows(before.artifacts.rule, after.artifacts.rule) &&
  sameRows(before.artifacts.profile, after.artifacts.profile) &&
  sameRows(before.files, after.files);

interface Shown {
  /** Where it is; a pack file's row says that itself. */
  qualified?: string;
  row: object;
}

/** Snapshots share what did not change, so that most rows are compared by being the same. */
const sameRows = (before: readonly Shown[], after: readonly Shown[]): boolean =>
  before === after ||
  (before.length === after.length &&
    before.every((one, at) => {
      const other = after[at]!;
      return one === other || (one.qualified === other.qualified && sameRow(one.row, other.row));
    }));

const sameRow = (before: object, after: object): boolean => before === after || isDeepStrictEqual(before, after);

function sameTarget(before: Target | undefined, after: Target | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  if ('text' in before) return 'text' in after && before.text === after.text;
  if ('manifestOf' in before)
    return 'manifestOf' in after && sameRow(before.manifestOf.row.files, after.manifestOf.row.files);
  return 'file' in after && before.file.digest === after.file.digest && before.mimeType === after.mimeType;
}
