// A view: what one scope lets through of one snapshot. Every answer is made from a view, so no door can forget the scope.
import { type Ceiling, type Scope, scopeKey } from './scope.ts';
import type { Library, PackFile, Skill, Snapshot, SourceContent } from './snapshot/snapshot.ts';

/** A library with what is visible of it; it may have no skill, or no file, but not neither. */
export interface VisibleLibrary {
  library: Library;
  skills: readonly Skill[];
  files: readonly PackFile[];
}

export interface View {
  snapshot: Snapshot;
  /** Sorted by qualified address. */
  skills: readonly Skill[];
  libraries: ReadonlyMap<string, VisibleLibrary>;
  /** Groups with a visible skill, and those skills. */
  groups: ReadonlyMap<string, readonly Skill[]>;
  seesSkill(skill: Skill): boolean;
  seesFile(file: PackFile): boolean;
  /** How long an answer may be kept, in milliseconds: the shortest refresh in scope, at most 300 s; 60 s with none. */
  ttlMs: number;
}

const longestTtl = 300;
const ttlWithoutRefresh = 60;
const remembered = 64;
const views = new WeakMap<Snapshot, Map<string, View>>();

/** Pure; remembered for the last 64 scopes of a snapshot, but for those in which nothing is visible. */
export function visible(snapshot: Snapshot, scope: Scope): View {
  let known = views.get(snapshot);
  if (known === undefined) {
    known = new Map();
    views.set(snapshot, known);
  }
  const key = scopeKey(scope);
  const before = known.get(key);
  if (before !== undefined) {
    known.delete(key);
    known.set(key, before);
    return before;
  }
  const view = makeView(snapshot, scope);
  if (scope.length === 0 || view.libraries.size > 0) {
    known.set(key, view);
    if (known.size > remembered) known.delete(known.keys().next().value!);
  }
  return view;
}

function makeView(snapshot: Snapshot, scope: Scope): View {
  const rules = scope.map((level) => ruleOf(snapshot, level));
  const reachesSkill = (rule: Rule, skill: Skill): boolean =>
    rule.sources.has(skill.from) && (rule.group === undefined || rule.group === skill.row.group);
  // A group lets through the shared files of the libraries in which the other levels leave it a skill.
  const librariesOfGroups = rules
    .filter(({ group }) => group !== undefined)
    .map((rule) => {
      const others = rules.filter((other) => other !== rule);
      const members = snapshot.groups.get(rule.group!) ?? [];
      return new Set(
        members.filter((skill) => others.every((other) => reachesSkill(other, skill))).map(({ from }) => from.library),
      );
    });
  const seesSkill = (skill: Skill): boolean => rules.every((rule) => reachesSkill(rule, skill));
  const seesSource = (from: SourceContent): boolean =>
    rules.every(({ sources }) => sources.has(from)) &&
    librariesOfGroups.every((libraries) => libraries.has(from.library));
  const sourcesSeen = new Set(snapshot.sources.map(({ content }) => content).filter(seesSource));
  const seesFile = (file: PackFile): boolean => sourcesSeen.has(file.from);

  const skills = rules.length === 0 ? snapshot.skills : snapshot.skills.filter(seesSkill);
  const groups = new Map<string, Skill[]>();
  const skillsOf = new Map<string, Skill[]>();
  for (const skill of skills) {
    put(skillsOf, skill.from.library, skill);
    const { group } = skill.row;
    if (group !== undefined && snapshot.groups.has(group)) put(groups, group, skill);
  }
  const libraries = new Map<string, VisibleLibrary>();
  for (const library of snapshot.libraries.values()) {
    const files = library.files.filter(seesFile);
    const seen = skillsOf.get(library.name) ?? [];
    if (seen.length > 0 || files.length > 0) libraries.set(library.name, { library, skills: seen, files });
  }
  const refreshes = snapshot.sources
    .filter(({ content }) => sourcesSeen.has(content))
    .flatMap(({ settings: { refreshSeconds } }) => (refreshSeconds === undefined ? [] : [refreshSeconds]));
  const ttl = refreshes.length === 0 ? ttlWithoutRefresh : Math.min(longestTtl, ...refreshes);
  return { snapshot, skills, libraries, groups, seesSkill, seesFile, ttlMs: ttl * 1000 };
}

/** One level of a scope, against a snapshot: what a source decides is decided once a source, not once a skill. */
interface Rule {
  group: string | undefined;
  sources: ReadonlySet<SourceContent>;
}

/** The tag that every skill has, and every file beside the skills. */
const kindWord = 'skill';

function ruleOf(snapshot: Snapshot, { library, tags }: Ceiling): Rule {
  // A library's name always means the library; any other word means a group.
  const isLibrary = library !== undefined && snapshot.libraries.has(library);
  const wanted = tags && new Set(tags);
  const isWanted = (from: SourceContent): boolean =>
    wanted === undefined || wanted.has(kindWord) || !from.tags.isDisjointFrom(wanted);
  const contents = snapshot.sources.map(({ content }) => content);
  return {
    group: isLibrary ? undefined : library,
    sources: new Set(contents.filter((from) => (!isLibrary || library === from.library) && isWanted(from))),
  };
}

function put<T>(table: Map<string, T[]>, key: string, value: T): void {
  const list = table.get(key);
  if (list) list.push(value);
  else table.set(key, [value]);
}
