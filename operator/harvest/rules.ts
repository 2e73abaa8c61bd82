// What a harvest is told: the part of a SkillSource's spec that decides what is taken and under which addresses.
import type { Limits } from '../../upstream/limits.ts';

export interface HarvestRules {
  /** Globs per kind. A kind left out follows its conventions, an empty list switches it off. */
  include: { skills?: readonly string[]; files?: readonly string[] };
  /** Globs, for every kind and for skills' own files. */
  exclude: readonly string[];
  /** Harvest only this folder, and see everything relative to it; `` for the whole tree. */
  subdirectory: string;
  /** The first address segment: a skill at the source's root falls back to it, and no group has its name. */
  library: string;
  /** The SkillSource's name, which qualifies the addresses of rivals. */
  source: string;
  limits: Limits;
}
