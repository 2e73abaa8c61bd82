// Downloads of artifacts: counted where they happen, told wherever an artifact is shown.
import type { Taken } from '../../catalogue/downloads-file.ts';
import type { Artifact } from '../snapshot/snapshot.ts';

/** Counting never throws and never waits; nothing that is answered depends on whether it worked. */
export interface Downloads {
  /** @param what `install`: by a tool of openkata's vocabulary; `archive`: as an archive of it, its files together */
  count(artifact: Artifact, version: string, what: Taken): void;
  /** How often it was taken, in all its versions, as far as this server knows. */
  of(artifact: Artifact): number;
}

/** Counts nothing. */
export const noDownloads: Downloads = { count: () => undefined, of: () => 0 };
