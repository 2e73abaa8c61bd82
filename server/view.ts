// A view: what one scope lets through of one snapshot. Every answer is made from a view, so no door can forget the scope.
import type { ArtifactKind } from '../catalogue/source-catalogue.ts';
import { type Ceiling, type Scope, scopeKey } from './scope.ts';
import {
  type Artifact,
  artifactKinds,
  type ByKind,
  type Library,
  type PackFile,
  type Snapshot,
  type Source,
  type SourceContent,
} from './snapshot/snapshot.ts';

/** A library with what is visible of it; some of it may be empty, but not everything. */
export interface VisibleLibrary {
  library: Library;
  /** Each kind sorted by address. */
  artifacts: ByKind<readonly Artifact[]>;
  files: readonly PackFile[];
}

export interface View {
  snapshot: Snapshot;
  /** Views of one snapshot with equal keys show the same. */
  key: string;
  /** Sorted by qualified address. */
  skills: readonly Artifact[];
  /** Sorted by name. */
  prompts: readonly Artifact[];
  /** Libraries of which anything is visible. */
  libraries: ReadonlyMap<string, VisibleLibrary>;
  /** Groups with a visible skill, and those skills. */
  groups: ReadonlyMap<string, readonly Artifact[]>;
  sees(artifact: Artifact): boolean;
  seesFile(file: PackFile): boolean;
  /** Sources that may give something to it, those that have nothing to give now among them. */
  sources: readonly Source[];
  /** Whether nothing of a source is out of scope: only then may it be told what is wrong in it. */
  seesWhole(source: Source): boolean;
  /**
   * How long an answer may be kept, in milliseconds: the shortest refresh in scope, at most 300 s; 60 s with none; not at
   * all where a source in scope is read live.
   */
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
  const view = makeView(snapshot, scope, key);
  if (scope.length === 0 || view.libraries.size > 0) {
    known.set(key, view);
    if (known.size > remembered) known.delete(known.keys().next().value!);
  }
  return view;
}

function makeView(snapshot: Snapshot, scope: Scope, key: string): View {
  const levels = scope.map((level) => levelOf(snapshot, level));
  const grouped = levels.filter(({ group }) => group !== undefined);
  const seesSkill = (skill: Artifact): boolean => levels.every((level) => reachesSkill(level, skill));
  // A group lets through what its libraries share, where the other levels leave it a skill.
  const librariesOfGroups = grouped.map((level) => {
    const others = levels.filter((other) => other !== level);
    const members = snapshot.groups.get(level.group!) ?? [];
    const left = members.filter((skill) => others.every((other) => reachesSkill(other, skill)));
    return new Set(left.map(({ from }) => from.library));
  });
  const contents = snapshot.sources.map(({ content }) => content);
  const shared = contents.filter(({ library }) => librariesOfGroups.every((libraries) => libraries.has(library)));
  const reached = (kind: ArtifactKind): ReadonlySet<SourceContent> =>
    new Set(shared.filter((from) => levels.every(({ sources }) => sources[kind].has(from))));
  const sources: ByKind<ReadonlySet<SourceContent>> = {
    skill: reached('skill'),
    prompt: reached('prompt'),
    rule: reached('rule'),
    profile: reached('profile'),
  };
  const sees = (artifact: Artifact): boolean =>
    artifact.kind === 'skill' ? seesSkill(artifact) : sources[artifact.kind].has(artifact.from);
  const seesFile = ({ from }: PackFile): boolean => sources[kindOfFiles].has(from);

  const libraries = new Map<string, VisibleLibrary>();
  for (const library of snapshot.libraries.values()) {
    const ofKind = (kind: ArtifactKind): readonly Artifact[] => {
      const whole = library.contents.every((from) => sources[kind].has(from));
      const { all } = library.shelves[kind];
      return whole && (kind !== 'skill' || grouped.length === 0) ? all : all.filter(sees);
    };
    const artifacts: ByKind<readonly Artifact[]> = {
      skill: ofKind('skill'),
      prompt: ofKind('prompt'),
      rule: ofKind('rule'),
      profile: ofKind('profile'),
    };
    const files = library.files.filter(seesFile);
    const anything = files.length > 0 || artifactKinds.some((kind) => artifacts[kind].length > 0);
    if (anything) libraries.set(library.name, { library, artifacts, files });
  }
  const everything = levels.length === 0;
  const inScope = snapshot.sources.filter(({ content }) => artifactKinds.some((kind) => sources[kind].has(content)));
  return {
    snapshot,
    key,
    skills: everything ? snapshot.skills : [...libraries.values()].flatMap(({ artifacts }) => artifacts.skill),
    prompts: everything ? snapshot.prompts : snapshot.prompts.filter(sees),
    libraries,
    groups: everything ? snapshot.groups : groupsSeen(snapshot, seesSkill),
    sees,
    seesFile,
    sources: inScope,
    seesWhole: ({ content }) => grouped.length === 0 && artifactKinds.every((kind) => sources[kind].has(content)),
    ttlMs: ttlOf(inScope.map(({ settings }) => settings)),
  };
}

/** Whether a Live source is in scope: then nothing may be kept by clients. */
export const isLive = ({ ttlMs }: View): boolean => ttlMs === 0;

function groupsSeen({ groups }: Snapshot, seesSkill: (skill: Artifact) => boolean): Map<string, Artifact[]> {
  const seen = new Map<string, Artifact[]>();
  for (const [group, members] of groups) {
    const visibleMembers = members.filter(seesSkill);
    if (visibleMembers.length > 0) seen.set(group, visibleMembers);
  }
  return seen;
}

function ttlOf(sources: readonly { refreshSeconds?: number | undefined; live?: unknown }[]): number {
  if (sources.some(({ live }) => live !== undefined)) return 0;
  const refreshes = sources.flatMap(({ refreshSeconds }) => (refreshSeconds === undefined ? [] : [refreshSeconds]));
  return 1000 * (refreshes.length === 0 ? ttlWithoutRefresh : Math.min(longestTtl, ...refreshes));
}

/** One level of a scope, against a snapshot: what a source decides is decided once a source, not once an artifact. */
interface Level {
  group: string | undefined;
  /** By kind, since the kind's word is a tag of every artifact of that kind. */
  sources: ByKind<ReadonlySet<SourceContent>>;
}

/** The files of a library beside its skills have the tags of skills. */
const kindOfFiles = 'skill';

function levelOf(snapshot: Snapshot, { library, tags }: Ceiling): Level {
  // A library's name always means the library; any other word means a group.
  const isLibrary = library !== undefined && snapshot.libraries.has(library);
  const wanted = tags && new Set(tags);
  const contents = snapshot.sources.map(({ content }) => content);
  const inLibrary = new Set(contents.filter((from) => !isLibrary || library === from.library));
  const tagged = new Set([...inLibrary].filter(({ tags: own }) => wanted === undefined || !own.isDisjointFrom(wanted)));
  const ofKind = (kind: ArtifactKind) => (wanted?.has(kind) ? inLibrary : tagged);
  return {
    group: isLibrary ? undefined : library,
    sources: { skill: ofKind('skill'), prompt: ofKind('prompt'), rule: ofKind('rule'), profile: ofKind('profile') },
  };
}

const reachesSkill = ({ group, sources }: Level, skill: Artifact): boolean =>
  sources.skill.has(skill.from) && (group === undefined || group === skill.row.group);
