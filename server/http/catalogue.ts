// The catalogue as the routes see it: what is served now, and why nothing newer is.
import type { AskedFiles } from '../live/asked-files.ts';
import type { LiveState } from '../live/live-source.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { LoadFault } from '../snapshot/watch.ts';

export interface CurrentCatalogue {
  readonly snapshot: Snapshot | undefined;
  readonly fault: LoadFault | undefined;
  /**
   * Looks upstream for the newest bytes of files of Live sources, and gives the snapshot that has them. Never rejects.
   * Left out: there are no Live sources.
   */
  fresh?(snapshot: Snapshot, asked: readonly AskedFiles[]): Promise<Snapshot>;
  /** Undefined for a source that is not Live. */
  liveState?(source: string): LiveState | undefined;
}
