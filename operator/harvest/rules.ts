// What a harvest is told: the part of a SkillSource's spec that decides what is taken and under which addresses.
import type { Limits } from '../../upstream/limits.ts';
import type { KindList } from './kinds.ts';

/** Raised whenever a tree gives another catalogue than before, so that an operator that was upgraded harvests it anew. */
export const rulesVersion = 3;

export interface HarvestRules {
  /** Globs per kind. A kind left out follows its conventions and plugins, an empty list switches it off. */
  include: { [list in KindList | 'files']?: readonly string[] | undefined };
  /** Globs, for every kind and for skills' own files. */
  exclude: readonly string[];
  /** Harvest only this folder, and see everything relative to it; `` for the whole tree. */
  subdirectory: string;
  /** The first address segment: a skill at the source's root falls back to it, and no group has its name. */
  library: string;
  /** The SkillSource's name, which qualifies the addresses of rivals. */
  source: string;
  /** The SkillSource's URL: what a marketplace lists at the same place is inside the source. */
  url: string;
  limits: Limits;
}
