// One harvest: from a source's tree to the artifacts, pack files and problems of its catalogue.
import { Slices } from '../../catalogue/slices.ts';
import { resolveLinks } from '../source/links.ts';
import type { Tree, TreeEntry } from '../source/source.ts';
import { type Assembled, assemble } from './assemble.ts';
import type { KnownContents } from './content.ts';
import { type Blobs, readContents, realPathOf } from './read-contents.ts';
import type { HarvestRules } from './rules.ts';
import { type Selection, select } from './selection.ts';
import { compileRules, concerning } from './sieve.ts';

export type { KnownContent, KnownContents } from './content.ts';
export type { Blobs } from './read-contents.ts';
export type { HarvestRules } from './rules.ts';

export interface HarvestResult extends Assembled {
  /** By upstream's id, for the next harvest: what it need not read again. */
  contents: KnownContents;
}

/**
 * Harvests a tree. The same tree, listed in any order, gives the same result. Only what is wanted and not known is read.
 * @param known what the last harvest of this source gave as `contents`
 * @param blobs where content is stored; what is known is expected there, and is read again where it is not
 * @throws UpstreamFault NotFound for a subdirectory that is not there, LimitExceeded for a tree beyond its caps, and
 *   whatever `tree.read` finds; SourceFault LimitExceeded beyond `rules.limits`, InvalidSpec for globs beyond their bounds;
 *   the signal's reason
 */
export async function harvest(
  tree: Tree,
  rules: HarvestRules,
  known: KnownContents,
  blobs: Blobs,
  signal?: AbortSignal,
): Promise<HarvestResult> {
  const resolved = await resolveLinks(tree.entries);
  const selection = await select(resolved.entries, rules);
  const mains = new Set(selection.skills.map(({ main }) => realPathOf(main)));
  const contents = await readContents(tree, wanted(selection), mains, known, blobs, rules.limits, signal);
  const told = [...tree.problems, ...resolved.problems];
  const problems = await concerning(told, compileRules(rules), new Slices());
  const assembled = await assemble(selection, contents, rules, problems);
  return { ...assembled, contents: contents.byId };
}

function* wanted({ skills, files }: Selection): Generator<TreeEntry> {
  for (const skill of skills) for (const { entry } of skill.files) yield entry;
  for (const { entry } of files) yield entry;
}
