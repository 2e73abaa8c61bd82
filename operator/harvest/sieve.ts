// The rules of a harvest, compiled: which globs hold, and where a path concerns it.
import type { Problem } from '../../catalogue/problem.ts';
import type { Slices } from '../../catalogue/slices.ts';
import { SourceFault } from '../reasons.ts';
import { isWithin } from '../source/path.ts';
import { compileGlobs, type Glob } from './globs.ts';
import { documentKinds, type Kind, type KindList, kindLists, skillKind } from './kinds.ts';
import type { HarvestRules } from './rules.ts';
import { hiddenBy, isExcludedAnywhere } from './visibility.ts';

/** Where one kind is looked for. */
export interface KindSieve {
  /** In the order of their rights. */
  globs: readonly Glob[];
  /** Those of the globs that only count for a main file of its folder's own name. */
  ofItsFolder: ReadonlySet<Glob>;
  /** Those of the globs that only count in the folder of a version. */
  ofVersions: ReadonlySet<Glob>;
  /** Whether its list in `include` was written, or conventions and plugins hold. */
  listed: boolean;
}

export interface Sieve extends Record<KindList, KindSieve> {
  /** Normalised: no `/` at either end. */
  subdirectory: string;
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
  const ofKind = ({ list, conventions, belowSubdirectory }: Kind): [KindList, KindSieve] => {
    const listed = include[list];
    if (listed !== undefined) {
      const globs = compileGlobs(listed, `spec.include.${list}`);
      return [list, { globs, ofItsFolder: new Set(), ofVersions: new Set(), listed: true }];
    }
    const places = folder === '' ? conventions : [...conventions, ...belowSubdirectory];
    const globs = compileGlobs(
      places.map(({ glob }) => glob),
      list,
    );
    const ofItsFolder = new Set(globs.filter((_glob, at) => places[at]?.ofItsFolder === true));
    const ofVersions = new Set(globs.filter((_glob, at) => places[at]?.ofVersions === true));
    return [list, { globs, ofItsFolder, ofVersions, listed: false }];
  };
  return {
    ...(Object.fromEntries([skillKind, ...documentKinds].map(ofKind)) as Record<KindList, KindSieve>),
    subdirectory: folder,
    files: compileGlobs(include.files ?? [], 'spec.include.files'),
    exclude: compileGlobs(exclude, 'spec.exclude'),
  };
}

/** The path of something of the repository as globs and addresses see it. It must lie in the subdirectory. */
export const belowSubdirectory = ({ subdirectory }: Pick<Sieve, 'subdirectory'>, path: string): string =>
  subdirectory === '' ? path : path.slice(subdirectory.length + 1);

/** The problems whose paths lie where the harvest looks. */
export async function concerning(problems: readonly Problem[], sieve: Sieve, slices: Slices): Promise<Problem[]> {
  const found: Problem[] = [];
  for (const problem of problems) {
    if (concerns(problem, sieve)) found.push(problem);
    if (slices.over) await slices.turn();
  }
  return found;
}

/** What stands in a hidden folder is no loss, unless its name is what keeps it out. */
function concerns({ path, reason }: Problem, sieve: Sieve): boolean {
  const { subdirectory, exclude } = sieve;
  if (path === '.') return subdirectory === '';
  if (!isWithin(path, subdirectory)) return false;
  const relative = belowSubdirectory(sieve, path);
  if (isExcludedAnywhere(relative, exclude)) return false;
  return reason === 'BadFileName' || hiddenBy(relative, (part) => isNamed(part, sieve)) === undefined;
}

const isNamed = (part: string, sieve: Sieve): boolean =>
  [sieve.files, ...kindLists.map((list) => sieve[list].globs)].some((globs) =>
    globs.some(({ dotParts }) => dotParts.has(part)),
  );
