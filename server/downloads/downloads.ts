// Downloads of artifacts: counted where they happen, told wherever an artifact is shown.
import type { Artifact } from '../snapshot/snapshot.ts';

/** How an artifact was taken: by a tool of openkata's vocabulary, or as an archive. */
export type Taken = 'install' | 'archive';

/** Counting never throws and never waits; nothing that is answered depends on whether it worked. */
export interface Downloads {
  count(artifact: Artifact, version: string, what: Taken): void;
  /** How often it was taken, in all its versions, as far as this server knows. */
  of(artifact: Artifact): number;
}

/** Counts nothing. */
export const noDownloads: Downloads = { count: () => undefined, of: () => 0 };
