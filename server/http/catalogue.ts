// The catalogue as the routes see it: what is served now, and why nothing newer is.
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { LoadFault } from '../snapshot/watch.ts';

export interface CurrentCatalogue {
  readonly snapshot: Snapshot | undefined;
  readonly fault: LoadFault | undefined;
}
