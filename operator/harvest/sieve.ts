// The rules of a harvest, compiled: which globs hold, and where a path concerns it.
import type { Problem } from '../../catalogue/problem.ts';
import type { Slices } from '../../catalogue/slices.ts';
import { SourceFault } from '../reasons.ts';
import { isWithin } from '../source/path.ts';
import { conventions, conventionsOf } from './conventions.ts';
import { compileGlobs, type Glob } from './globs.ts';
import type { HarvestRules } from './rules.ts';
import { isExcludedAnywhere } from './visibility.ts';

export interface Sieve {
  /** Normalised: no `/` at either end. */
  subdirectory: string;
  skills: readonly Glob[];
  /** Whether `include.skills` was written, or the conventions hold. */
  skillsListed: boolean;
  files: readonly Glob[];
  exclude: readonly Glob[];
}

/** @throws SourceFault InvalidSpec */
export function compileRules({
  include,
  exclude,
  subdirectory,
}: Pick<HarvestRules, 'include' | 'exclude' | 'subdirectory'>): Sieve {
  const parts = subdirectory.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) {
    throw new SourceFault('InvalidSpec', 'spec.subdirectory leads out of the source: write a path without ..');
  }
  const folder = parts.join('/');
  return {
    subdirectory: folder,
    skills: compileGlobs(include.skills ?? conventionsOf(conventions.skills, folder), 'spec.include.skills'),
    skillsListed: include.skills !== undefined,
    files: compileGlobs(include.files ?? [], 'spec.include.files'),
    exclude: compileGlobs(exclude, 'spec.exclude'),
  };
}

/** The problems whose paths lie where the harvest looks. */
export async function concerning(problems: readonly Problem[], sieve: Sieve, slices: Slices): Promise<Problem[]> {
  const found: Problem[] = [];
  for (const problem of problems) {
    if (concerns(problem.path, sieve)) found.push(problem);
    if (slices.over) await slices.turn();
  }
  return found;
}

function concerns(path: string, { subdirectory, exclude }: Sieve): boolean {
  if (path === '.') return subdirectory === '';
  return isWithin(path, subdirectory) && !isExcludedAnywhere(relativeTo(subdirectory, path), exclude);
}

const relativeTo = (folder: string, path: string): string => (folder === '' ? path : path.slice(folder.length + 1));
