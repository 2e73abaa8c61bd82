// The plugins that a source's own manifests describe: which folders are one, their groups, and where their skills are. Pure.
import { isLibraryName } from '../../catalogue/names.ts';
import { type Problem, type ProblemReason, problem } from '../../catalogue/problem.ts';
import { isWithin, joinPath, nameOf, printable } from '../source/path.ts';
import { repositoryOf } from './elsewhere.ts';
import { shortened } from './main-text.ts';
import { inside, longestManifest, type PluginEntry, readManifest } from './manifest.ts';
import type { HarvestRules } from './rules.ts';

/** More folders of plugins than this are not looked at. */
const mostPlugins = 512;

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
  problems: Problem[];
}

export const noPlugins: Plugins = { at: new Map(), skillPlaces: new Set(), problems: [] };

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

/** Things of one sort that a manifest has to say: how many, and the first. */
class Told {
  count = 0;
  first = '';
  add(what: string): void {
    if (this.count++ === 0) this.first = what;
  }
}

class Gathering {
  readonly #ground: PluginGround;
  readonly #plugins = new Map<string, Plugin>();
  /** By root: the folders and skills that its plugins list, and whether one of them lists none. */
  readonly #skills = new Map<string, { listed: string[]; all: boolean }>();
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
      say('TooLarge', `The manifest has more than ${longestManifest} bytes, so no plugin is taken from it: split it.`);
      return;
    }
    const { url, subdirectory } = this.#ground;
    const entries = readManifest(path, bytes, { repository: repositoryOf(url), subdirectory });
    if (entries === undefined) {
      const what = path.endsWith('plugin.json') ? 'no JSON object' : 'no JSON object with a list `plugins`';
      say('NothingMatched', `The manifest is ${what}, so no plugin is taken from it: correct it.`);
      return;
    }
    this.#take(entries, manifest, say);
  }

  #take(
    entries: readonly PluginEntry[],
    manifest: string,
    say: (reason: ProblemReason, message: string) => void,
  ): void {
    const unclear = new Told();
    const outside = new Told();
    const missing = new Told();
    const missingSkills = new Told();
    const twice = new Told();
    const unfit = new Told();
    const beyond = new Told();
    const elsewhere = new Told();
    const addresses = new Set<string>();
    const own = new Map<string, { listed: boolean }>();
    for (const { name, place, skills } of entries) {
      if (place === undefined) unclear.add('');
      else if (place.at === 'outside') outside.add('');
      else if (place.at === 'elsewhere') {
        elsewhere.add('');
        if (place.address !== undefined && addresses.size < shownAddresses) addresses.add(place.address);
      } else {
        const root = this.#rootOf(place);
        if (root === undefined) outside.add('');
        else if (!this.#ground.isThere(root)) missing.add(place.otherwise ?? root);
        else if (!this.#plugins.has(root) && this.#plugins.size === mostPlugins) beyond.add(root);
        else {
          const before = own.get(root);
          if (before !== undefined && !(before.listed && skills.length > 0)) twice.add(root);
          own.set(root, { listed: skills.length > 0 });
          if (!this.#plugins.has(root)) {
            this.#plugins.set(root, { group: this.#groupOf(root, name, unfit), manifest });
          }
          this.#list(root, skills, outside, missingSkills);
        }
      }
    }
    const plugins = (count: number): string => (count === 1 ? 'a plugin' : `${count} plugins`);
    const first = ({ count, first: one }: Told): string => (count === 1 ? shown(one) : `${shown(one)} first`);
    if (outside.count > 0) {
      say(
        'LinkEscapes',
        `What it says of ${plugins(outside.count)} leads out of the source and is not followed: name folders inside, without .. and / in front.`,
      );
    }
    if (beyond.count > 0) {
      say(
        'TooLarge',
        `More than ${mostPlugins} folders of plugins are not looked at, so ${beyond.count} are left out, ${first(beyond)}: name what they hold in spec.include.`,
      );
    }
    if (missing.count > 0) {
      say(
        'NothingMatched',
        `It names ${plugins(missing.count)} whose folder is not there, ${first(missing)}: correct or remove ${missing.count === 1 ? 'it' : 'them'}.`,
      );
    }
    if (missingSkills.count > 0) {
      say(
        'NothingMatched',
        `It lists ${missingSkills.count === 1 ? 'a skill that is' : `${missingSkills.count} skills that are`} not there, ${first(missingSkills)}: correct or remove ${missingSkills.count === 1 ? 'it' : 'them'}.`,
      );
    }
    if (unclear.count > 0) {
      say(
        'NothingMatched',
        `It has ${unclear.count === 1 ? 'an entry' : `${unclear.count} entries`} without a \`source\` that can be understood: write a folder such as ./plugins/one.`,
      );
    }
    if (unfit.count > 0) {
      say(
        'GroupName',
        `The name of ${plugins(unfit.count)} cannot be a group, so what is in ${first(unfit)} is of the library's own group: use lower-case letters, digits and hyphens only.`,
      );
    }
    if (twice.count > 0) {
      say(
        'Duplicate',
        `A folder is listed again ${twice.count === 1 ? 'once' : `${twice.count} times`}, ${first(twice)}: it counts as one plugin, by its first name.`,
      );
    }
    if (elsewhere.count > 0) {
      const such = addresses.size === 0 ? '' : `, such as {${[...addresses].join('}, {')}}`;
      say(
        'DefinedElsewhere',
        `${elsewhere.count === 1 ? 'A plugin is' : `${elsewhere.count} plugins are`} kept elsewhere: write a SkillSource for each that is wanted${such}.`,
      );
    }
  }

  end(): Plugins {
    const skillPlaces = new Set<string>();
    for (const [root, { listed, all }] of this.#skills) {
      for (const place of listed) skillPlaces.add(place);
      if (all) skillPlaces.add(root === '' ? 'skills' : root);
    }
    return { at: this.#plugins, skillPlaces, problems: this.#problems };
  }

  /** A plugin's folder below the subdirectory; manifests of the same repository write it from the repository's root. */
  #rootOf({ path, otherwise }: { path: string; otherwise?: string }): string | undefined {
    return otherwise !== undefined && !this.#ground.isThere(path) && this.#ground.isThere(otherwise) ? otherwise : path;
  }

  /** The source's own root is no group: its skills are of the groups of their folders. */
  #groupOf(root: string, name: string, unfit: Told): string | undefined {
    if (root === '' || name === this.#ground.library) return undefined;
    if (isLibraryName(name)) return name;
    unfit.add(root);
    return undefined;
  }

  #list(root: string, skills: readonly string[], outside: Told, missing: Told): void {
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
      if (path === undefined || !isWithin(path, root)) outside.add('');
      else if (!this.#ground.isThere(path)) missing.add(path);
      else
        known.listed.push(/^skill\.md$/i.test(nameOf(path)) ? path.slice(0, Math.max(0, path.lastIndexOf('/'))) : path);
    }
  }
}

/** A path as a message may carry it, though nobody has checked that it is one. */
/** A problem for each manifest that names plugins in which nothing was found. @param filled roots of the others */
export function emptyPlugins({ at }: Plugins, filled: ReadonlySet<string>): Problem[] {
  const empty = [...at].filter(([root]) => root !== '' && !filled.has(root));
  return [...Map.groupBy(empty, ([, { manifest }]) => manifest)].map(([manifest, plugins]) => {
    const which = shown(plugins[0]![0]);
    const message =
      plugins.length === 1
        ? `Nothing is found in the plugin ${which} that it names: say in spec.include what is to be served of it.`
        : `Nothing is found in ${plugins.length} plugins that it names, ${which} first: say in spec.include what is to be served of them.`;
    // Many a plugin has nothing but hooks or servers.
    return { ...problem('NothingMatched', manifest, message), severity: 'info' };
  });
}

const shown = (path: string): string => `"${path === '' ? './' : printable(shortened(path, longestShown))}"`;

const longestShown = 200;
