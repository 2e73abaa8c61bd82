// One harvest: from a source's tree to the artifacts, pack files and problems of its catalogue.
import { Slices } from '../../catalogue/slices.ts';
import { resolveLinks } from '../source/links.ts';
import type { Tree, TreeEntry } from '../source/source.ts';
import { type Assembled, assemble } from './assemble.ts';
import type { KnownContents } from './content.ts';
import type { ParserName } from './parsers.ts';
import { type Manifest, type Plugins, pluginsOf } from './plugins.ts';
import { type Blobs, ContentsReader, realPathOf } from './read-contents.ts';
import type { HarvestRules } from './rules.ts';
import { type Ground, groundOf, isPluginThere, manifestsOf, type Selection, select } from './selection.ts';
import { concerning } from './sieve.ts';
import { type VersionFolders, versionFoldersOf, versionsFileOf } from './version-folders.ts';
import { longestVersionsFile } from './versions-file.ts';

export type { KnownContent, KnownContents } from './content.ts';
export type { Blobs } from './read-contents.ts';
export type { HarvestRules } from './rules.ts';

export interface HarvestResult extends Assembled {
  /** Digests that no row names and that the next harvest wants to find stored. */
  kept: string[];
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
  const ground = await groundOf(resolved.entries, rules, tree.hasSubdirectory);
  const reader = await ContentsReader.of(tree, known, blobs, rules.limits, signal);
  const { plugins, versions, kept } = await readAhead(ground, rules, reader);
  const selection = await select(ground, rules, plugins, versions);
  const contents = await reader.contents(wanted(selection), await mainsOf(selection));
  const told = [...tree.problems, ...resolved.problems];
  const problems = await concerning(told, ground.sieve, new Slices());
  const assembled = await assemble(selection, contents, rules, problems);
  return { ...assembled, kept, contents: contents.byId };
}

/**
 * What the source's own manifests and its versions.json say of where things are. What a manifest names is looked for, never
 * fetched.
 */
async function readAhead(
  ground: Ground,
  { library, url }: HarvestRules,
  reader: ContentsReader,
): Promise<{ plugins: Plugins; versions: VersionFolders; kept: string[] }> {
  const found = manifestsOf(ground);
  const versionsFile = versionsFileOf(ground);
  const isReadable = versionsFile !== undefined && (versionsFile.size ?? 0) <= longestVersionsFile;
  const read = await reader.bytes([...found.map(({ entry }) => entry), ...(isReadable ? [versionsFile] : [])]);
  const kept: string[] = [];
  const heard = (entry: TreeEntry): Buffer | 'tooLarge' => {
    const content = read.get(realPathOf(entry)) ?? 'tooLarge';
    if (content === 'tooLarge') return content;
    kept.push(content.digest);
    return content.bytes;
  };
  // A manifest that is a link to another one says nothing new.
  const manifests = new Map<string, Manifest>();
  for (const { path, entry } of found) {
    if (!manifests.has(realPathOf(entry))) manifests.set(realPathOf(entry), { path, bytes: heard(entry) });
  }
  const { subdirectory } = ground.sieve;
  const isThere = (path: string): boolean => isPluginThere(ground, path);
  return {
    plugins: pluginsOf([...manifests.values()], { library, url, subdirectory, isThere }),
    versions: await versionFoldersOf(ground, versionsFile && heard(versionsFile), new Slices()),
    kept,
  };
}

function* wanted({ artifacts, files }: Selection): Generator<TreeEntry> {
  for (const artifact of artifacts) for (const { entry } of artifact.files) yield entry;
  for (const { entry } of files) yield entry;
}

async function mainsOf({ artifacts }: Selection): Promise<Map<string, Set<ParserName>>> {
  const slices = new Slices();
  const mains = new Map<string, Set<ParserName>>();
  for (const { main, parser } of artifacts) {
    const path = realPathOf(main);
    const readers = mains.get(path);
    if (readers === undefined) mains.set(path, new Set([parser]));
    else readers.add(parser);
    if (slices.over) await slices.turn();
  }
  return mains;
}
