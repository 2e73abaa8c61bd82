// Problems: what a harvest has to say about one file, and the reasons a script may match.

export type Severity = 'error' | 'warning' | 'info';

/** Every reason a problem can have, with how bad it is. `error`: something is not served. */
export const problemReasons = {
  AccessDenied: 'error',
  AddressTaken: 'error',
  BadEntry: 'error',
  BadFileName: 'error',
  DefinedElsewhere: 'info',
  Duplicate: 'info',
  Empty: 'error',
  GroupName: 'warning',
  HiddenFiles: 'info',
  LenientYaml: 'warning',
  LfsPointer: 'warning',
  LinkBroken: 'warning',
  LinkEscapes: 'error',
  Moved: 'warning',
  NameMended: 'warning',
  NoFrontmatter: 'warning',
  NotAdvertised: 'warning',
  NotFetched: 'error',
  NothingMatched: 'warning',
  NotReached: 'warning',
  NotText: 'error',
  RequiredWithDefault: 'error',
  ReservedName: 'error',
  SkillRoot: 'error',
  SpecialFile: 'error',
  Submodule: 'warning',
  TooLarge: 'error',
  UnclosedFrontmatter: 'warning',
  UndeclaredPlaceholder: 'error',
} as const satisfies Record<string, Severity>;

export type ProblemReason = keyof typeof problemReasons;

/** One problem. `path` starts at the repository's root, where its author looks; `line` counts from 1. */
export interface Problem {
  path: string;
  line?: number;
  severity: Severity;
  reason: ProblemReason;
  message: string;
}

/** A problem of the reason's own severity. The message says what is wrong and what to do, in one sentence or two. */
export function problem(reason: ProblemReason, path: string, message: string, line?: number): Problem {
  return { path, ...(line === undefined ? {} : { line }), severity: problemReasons[reason], reason, message };
}

const rank: Record<Severity, number> = { error: 0, warning: 1, info: 2 };

/** What is in other places is no fault of this one: it is told last. */
const rankOf = ({ severity, reason }: Problem): number => (reason === 'DefinedElsewhere' ? 3 : rank[severity]);

/** Worst first, then by path, line and reason: the order in which problems are published and cut. */
export function compareProblems(a: Problem, b: Problem): number {
  return (
    rankOf(a) - rankOf(b) ||
    (a.path < b.path ? -1 : a.path > b.path ? 1 : 0) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    (a.reason < b.reason ? -1 : a.reason > b.reason ? 1 : 0)
  );
}
