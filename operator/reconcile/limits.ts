// The bounds that hold for a source: its own spec's, below the operator's ceiling. Pure.
import type { Limits } from '../../upstream/limits.ts';
import { parseQuantity } from '../resources/quantities.ts';
import type { SkillSourceSpec } from '../resources/skill-source.ts';

export function effectiveLimits(wanted: SkillSourceSpec['limits'], ceiling: Limits): Limits {
  return {
    files: Math.min(wanted.files, ceiling.files),
    fileSize: Math.min(parseQuantity(wanted.fileSize), ceiling.fileSize),
    totalSize: Math.min(parseQuantity(wanted.totalSize), ceiling.totalSize),
  };
}
