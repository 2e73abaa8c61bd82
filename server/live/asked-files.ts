// Files of a Live source that a request is about to read.
import type { Row } from './overlay.ts';

/** All files of an artifact, or those at these paths. */
export interface AskedFiles {
  source: string;
  row: Row;
  /** Left out: every file. */
  paths?: ReadonlySet<string>;
}
