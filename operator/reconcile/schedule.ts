// When a source is looked at next: its refresh, or a growing pause after failures. Pure, chance comes in as a number.
import { type SourceFaultReason, sourceFaultReasons } from '../reasons.ts';

const firstPauseSeconds = 1;
const longestPauseSeconds = 300;

/**
 * Seconds to the next planned look at a source that succeeded. Sources of one refresh are spread by up to a tenth, always
 * early and never late, since `refresh` promises how old content can be.
 * @param chance in [0, 1)
 */
export const refreshDelay = (refreshSeconds: number, chance: number): number => refreshSeconds * (1 - 0.1 * chance);

/**
 * Seconds to the next look after a failure, or nothing where only a changed spec or a person's request helps.
 * @param failures failed looks in a row, at least 1
 * @param retryAfterSeconds upstream's own wish
 */
export function retryDelay(
  reason: SourceFaultReason,
  failures: number,
  chance: number,
  refreshSeconds: number | undefined,
  retryAfterSeconds?: number,
): number | undefined {
  switch (sourceFaultReasons[reason]) {
    case 'human':
      return undefined;
    case 'refresh':
      return refreshSeconds === undefined ? undefined : refreshDelay(refreshSeconds, chance);
    case 'backoff': {
      const ceiling = Math.min(longestPauseSeconds, firstPauseSeconds * 2 ** Math.min(failures - 1, 16));
      const pause = ceiling * (0.5 + 0.5 * chance);
      return Math.max(pause, Math.min(retryAfterSeconds ?? 0, 3600));
    }
  }
}
