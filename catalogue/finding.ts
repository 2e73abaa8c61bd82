// What a file's content gives to say, before it is known where the file stands.
import type { ProblemReason } from './problem.ts';

/** Something to say about the file; its path is added by whoever knows it. */
export interface Finding {
  reason: ProblemReason;
  message: string;
  line?: number;
}
