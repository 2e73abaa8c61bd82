// Completion: what may stand for the variables of an address, and the declared default of a prompt's argument. Only what
// the view shows is offered.
import { encodePath } from '../../catalogue/address.ts';
import { type Artifact, byAscii } from '../snapshot/snapshot.ts';
import type { View, VisibleLibrary } from '../view.ts';
import { settingOf } from './prompts.ts';
import { resourceTemplates } from './templates.ts';

export interface Completion {
  values: string[];
  /** How many there are, where they were counted. */
  total?: number;
  hasMore: boolean;
}

/** The protocol's bound. */
const mostValues = 100;

/** The default of a prompt's argument, where what was typed can become it. */
export function promptCompletion(prompt: Artifact, argument: string, typed: string): Completion {
  const declared = settingOf(prompt.row).arguments.find(({ name }) => name === argument);
  return complete(declared?.default === undefined ? [] : [declared.default], typed);
}

/**
 * @param filled what stands for the other variables already
 * @returns undefined where there is no such template
 */
export function templateCompletion(
  view: View,
  uriTemplate: string,
  variable: string,
  typed: string,
  filled: ReadonlyMap<string, string>,
): Completion | undefined {
  const at = resourceTemplates.findIndex((template) => template.uriTemplate === uriTemplate);
  if (at === -1) return undefined;
  const library = view.libraries.get(filled.get('library') ?? '');
  if (variable === 'library') return complete(at === 0 ? indexNames(view) : libraryNames(view), typed);
  if (variable === 'skill' && library !== undefined) return complete(skillNames(library, typed.toLowerCase()), typed);
  if (variable === 'path' && library !== undefined) return complete(pathsOf(view, library, filled.get('skill')), typed);
  return complete([], typed);
}

const libraryNames = ({ libraries }: View): string[] =>
  [...libraries.values()].filter(({ artifacts }) => artifacts.skill.length > 0).map(({ library }) => library.name);

const indexNames = (view: View): string[] => [...libraryNames(view), ...view.groups.keys()].sort(byAscii);

/** Those that begin so: of a large library only they are looked at. A second address has a slash, which no variable holds. */
function* skillNames({ artifacts: { skill: skills } }: VisibleLibrary, start: string): Generator<string> {
  let low = 0;
  let high = skills.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (skills[middle]!.address < start) low = middle + 1;
    else high = middle;
  }
  for (; low < skills.length && skills[low]!.address.startsWith(start); low++) {
    if (!skills[low]!.address.includes('/')) yield skills[low]!.address;
  }
}

/** In the form of listings: a client that fills in a template leaves that as it is. */
function* pathsOf(view: View, { library }: VisibleLibrary, name: string | undefined): Generator<string> {
  const skill = name === undefined ? undefined : library.shelves.skill.at.get(name);
  if (skill === undefined || !view.sees(skill)) return;
  for (const { path } of skill.row.files) yield encodePath(path);
}

function complete(candidates: Iterable<string>, typed: string): Completion {
  const start = typed.toLowerCase();
  const values: string[] = [];
  for (const candidate of candidates) {
    if (!candidate.toLowerCase().startsWith(start)) continue;
    if (values.length === mostValues) return { values, hasMore: true };
    values.push(candidate);
  }
  return { values, total: values.length, hasMore: false };
}
