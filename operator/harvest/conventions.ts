// Where each kind of artifact is looked for when its list is left out of `include`, in the order of their rights.
// A kind is a row here, a parser of its main file, and its name's rule.

export interface Conventions {
  /** Globs as `include` has them. */
  anywhere: readonly string[];
  /** Tried after them where a `subdirectory` was given. */
  belowSubdirectory: readonly string[];
}

export const conventions = {
  skills: {
    anywhere: ['skills/**/SKILL.md', '{.github,.claude,.agents}/skills/*/SKILL.md'],
    belowSubdirectory: ['**/SKILL.md'],
  },
} as const satisfies Record<string, Conventions>;

export const conventionsOf = ({ anywhere, belowSubdirectory }: Conventions, subdirectory: string): string[] =>
  subdirectory === '' ? [...anywhere] : [...anywhere, ...belowSubdirectory];
