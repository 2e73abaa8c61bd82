// What one manifest of plugins has wrong: a problem for each sort of fault, with its number and the first. Pure.

import { shortened } from '../../catalogue/main-text.ts';
import { type Problem, type ProblemReason, problem } from '../../catalogue/problem.ts';
import { printable } from '../source/path.ts';

/** More folders of plugins than this are not looked at. */
export const mostPlugins = 512;

const plugins = (count: number): string => (count === 1 ? 'a plugin' : `${count} plugins`);
const them = (count: number): string => (count === 1 ? 'it' : 'them');

/** The sorts of fault, worst first, each with its words. `first`: the first path that has it, in quotes. */
const sorts = {
  outside: {
    reason: 'LinkEscapes',
    message: (count) =>
      `What it says of ${plugins(count)} leads out of the source and is not followed: name folders inside, without .. and / in front.`,
  },
  beyond: {
    reason: 'TooLarge',
    message: (count, first) =>
      `More than ${mostPlugins} folders of plugins are not looked at, so ${count} are left out, ${first}: name what they hold in spec.include.`,
  },
  missing: {
    reason: 'NothingMatched',
    message: (count, first) =>
      `It names ${plugins(count)} whose folder is not there, ${first}: correct or remove ${them(count)}.`,
  },
  missingSkill: {
    reason: 'NothingMatched',
    message: (count, first) =>
      `It lists ${count === 1 ? 'a skill that is' : `${count} skills that are`} not there, ${first}: correct or remove ${them(count)}.`,
  },
  unclear: {
    reason: 'NothingMatched',
    message: (count) =>
      `It has ${count === 1 ? 'an entry' : `${count} entries`} without a \`source\` that can be understood: write a folder such as ./plugins/one.`,
  },
  unfitName: {
    reason: 'GroupName',
    message: (count, first) =>
      `The name of ${plugins(count)} cannot be a group, so what is in ${first} is of the library's own group: use lower-case letters, digits and hyphens only.`,
  },
  twice: {
    reason: 'Duplicate',
    message: (count, first) =>
      `A folder is listed again ${count === 1 ? 'once' : `${count} times`}, ${first}: it counts as one plugin, by its first name.`,
  },
} as const satisfies Record<string, { reason: ProblemReason; message(count: number, first: string): string }>;

export type FaultSort = keyof typeof sorts;

export class ManifestFaults {
  readonly #told = new Map<FaultSort, { count: number; first: string }>();

  /** @param path what has it, below the subdirectory */
  add(sort: FaultSort, path = ''): void {
    const told = this.#told.get(sort);
    if (told === undefined) this.#told.set(sort, { count: 1, first: path });
    else told.count++;
  }

  /** @param manifest its path from the repository's root */
  problems(manifest: string): Problem[] {
    return (Object.keys(sorts) as FaultSort[]).flatMap((sort) => {
      const told = this.#told.get(sort);
      if (told === undefined) return [];
      const { reason, message } = sorts[sort];
      const first = told.count === 1 ? shownPath(told.first) : `${shownPath(told.first)} first`;
      return [problem(reason, manifest, message(told.count, first))];
    });
  }
}

const longestShown = 200;

/** A path as a message may carry it, though nobody has checked that it is one. */
export const shownPath = (path: string): string => `"${path === '' ? './' : printable(shortened(path, longestShown))}"`;
