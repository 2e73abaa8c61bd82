// The plugins that a source's own manifests describe: which folders are one, their groups, and where their skills are. Pure.
import { isLibraryName } from '../../catalogue/names.ts';
import { type Problem, type ProblemReason, problem } from '../../catalogue/problem.ts';
import { folderOf, isWithin, joinPath, nameOf } from '../source/path.ts';
import { repositoryOf } from './elsewhere.ts';
import { inside, longestManifest, type PluginEntry, readManifest } from './manifest.ts';
import { ManifestFaults, mostPlugins, shownPath } from './manifest-faults.ts';
import type { HarvestRules } from './rules.ts';

/** More paths of skills than this are not heard, of all plugins. */
const mostSkillPaths = 10_000;

/** So many addresses of plugins that are kept elsewhere are named. */
const shownAddresses = 3;

export interface Plugin {
  /** The group that it gives to the skills in it. */
  group: string | undefined;
  /** The path of the first manifest that names it, from the repository's root. */
  manifest: string;
}

/** All paths are below the subdirectory. */
export interface Plugins {
  /** By the plugin's folder. */
  at: ReadonlyMap<string, Plugin>;
  /** Folders in which every SKILL.md is a skill. */
  skillPlaces: ReadonlySet<string>;
  /** Folders whose own SKILL.md is named, and says nothing of those below. */
  skillFolders: ReadonlySet<string>;
  problems: Problem[];
}

/** A manifest that stands in the source: its bytes, or why there are none. `path` is below the subdirectory. */
export interface Manifest {
  path: string;
  bytes: Buffer | 'tooLarge';
}

export interface PluginGround extends Pick<HarvestRules, 'library' | 'url'> {
  /** Normalised. */
  subdirectory: string;
  /** Whether a folder or SKILL.md is there, by its path below the subdirectory. */
  isThere(path: string): boolean;
}

/** @param manifests in the order of `manifestPaths` */
export function pluginsOf(manifests: readonly Manifest[], ground: PluginGround): Plugins {
  const gathering = new Gathering(ground);
  for (const manifest of manifests) gathering.add(manifest);
  return gathering.end();
}

class Gathering {
  readonly #ground: PluginGround;
  readonly #plugins = new Map<string, Plugin>();
  /** By root: the folders that its plugins list, and whether one of them lists none. */
  readonly #skills = new Map<string, { listed: string[]; all: boolean }>();
  readonly #skillFolders = new Set<string>();
  readonly #problems: Problem[] = [];
  #paths = 0;

  constructor(ground: PluginGround) {
    this.#ground = ground;
  }

  add({ path, bytes }: Manifest): void {
    const manifest = joinPath(this.#ground.subdirectory, path);
    const say = (reason: ProblemReason, message: string): void => {
      this.#problems.push(problem(reason, manifest, message));
    };
    if (bytes === 'tooLarge' || bytes.length > longestManifest) {
      say(
        'TooLarge',
        `The manifest has more than ${longestManifest} bytes, or than spec.limits.fileSize, so no plugin is taken from it: shorten it.`,
      );
      return;
    }
    const { url, subdirectory } = this.#ground;
    const entries = readManifest(path, bytes, { repository: repositoryOf(url), subdirectory });
    if (entries === undefined) {
      const what = path.endsWith('plugin.json') ? 'no JSON object' : 'no JSON object with a list `plugins`';
      say('NothingMatched', `The manifest is ${what}, so no plugin is taken from it: correct it.`);
      return;
    }
    this.#take(entries, manifest);
  }

  #take(entries: readonly PluginEntry[], manifest: string): void {
    const faults = new ManifestFaults();
    const addresses = new Set<string>();
    const own = new Map<string, { listed: boolean }>();
    let elsewhere = 0;
    for (const { name, place, skills } of entries) {
      if (place === undefined) faults.add('unclear');
      else if (place.at === 'outside') faults.add('outside');
      else if (place.at === 'elsewhere') {
        elsewhere++;
        if (place.address !== undefined && addresses.size < shownAddresses) addresses.add(place.address);
      } else {
        const root = this.#rootOf(place);
        if (!this.#ground.isThere(root)) faults.add('missing', place.otherwise ?? root);
        else if (!this.#plugins.has(root) && this.#plugins.size === mostPlugins) faults.add('beyond', root);
        else {
          const before = own.get(root);
          if (before !== undefined && !(before.listed && skills.length > 0)) faults.add('twice', root);
          own.set(root, { listed: skills.length > 0 });
          if (!this.#plugins.has(root)) {
            this.#plugins.set(root, { group: this.#groupOf(root, name, faults), manifest });
          }
          this.#list(root, skills, faults);
        }
      }
    }
    this.#problems.push(...faults.problems(manifest));
    if (elsewhere > 0) this.#problems.push(definedElsewhere(manifest, elsewhere, addresses));
  }

  end(): Plugins {
    const skillPlaces = new Set<string>();
    for (const [root, { listed, all }] of this.#skills) {
      for (const place of listed) skillPlaces.add(place);
      if (all) skillPlaces.add(root === '' ? 'skills' : root);
    }
    return { at: this.#plugins, skillPlaces, skillFolders: this.#skillFolders, problems: this.#problems };
  }

  /** A plugin's folder below the subdirectory; manifests of the same repository write it from the repository's root. */
  #rootOf({ path, otherwise }: { path: string; otherwise?: string }): string {
    return otherwise !== undefined && !this.#ground.isThere(path) && this.#ground.isThere(otherwise) ? otherwise : path;
  }

  /** The source's own root is no group: its skills are of the groups of their folders. */
  #groupOf(root: string, name: string, faults: ManifestFaults): string | undefined {
    if (root === '' || name === this.#ground.library) return undefined;
    if (isLibraryName(name)) return name;
    faults.add('unfitName', root);
    return undefined;
  }

  #list(root: string, skills: readonly string[], faults: ManifestFaults): void {
    let known = this.#skills.get(root);
    if (known === undefined) {
      known = { listed: [], all: false };
      this.#skills.set(root, known);
    }
    if (skills.length === 0) known.all = true;
    for (const written of skills) {
      if (this.#paths === mostSkillPaths) return;
      this.#paths++;
      const path = inside(root, written);
      if (path === undefined || !isWithin(path, root)) faults.add('outside');
      else if (!this.#ground.isThere(path)) faults.add('missingSkill', path);
      else if (/^skill\.md$/i.test(nameOf(path))) this.#skillFolders.add(folderOf(path));
      else known.listed.push(path);
    }
  }
}

function definedElsewhere(manifest: string, count: number, addresses: ReadonlySet<string>): Problem {
  const are = count === 1 ? 'A plugin is' : `${count} plugins are`;
  const such = addresses.size === 0 ? '' : `, such as {${[...addresses].join('}, {')}}`;
  return problem(
    'DefinedElsewhere',
    manifest,
    `${are} kept elsewhere: write a SkillSource for each that is wanted${such}.`,
  );
}

/** A problem for each manifest that names plugins in which nothing was found. @param filled roots of the others */
export function emptyPlugins({ at }: Plugins, filled: ReadonlySet<string>): Problem[] {
  const empty = [...at].filter(([root]) => root !== '' && !filled.has(root));
  return [...Map.groupBy(empty, ([, { manifest }]) => manifest)].map(([manifest, plugins]) => {
    const which = shownPath(plugins[0]![0]);
    const message =
      plugins.length === 1
        ? `Nothing is found in the plugin ${which} that it names: say in spec.include what is to be served of it.`
        : `Nothing is found in ${plugins.length} plugins that it names, ${which} first: say in spec.include what is to be served of them.`;
    // Many a plugin has nothing but hooks or servers.
    return { ...problem('NothingMatched', manifest, message), severity: 'info' };
  });
}
