// What a backend is given for one look: the parsed spec's part of it, its Secret, its bounds, and where it may write.
import type { GitReader } from '../../upstream/git/repository.ts';
import type { Limits } from '../../upstream/limits.ts';
import type { Memory } from './source.ts';

export interface LookContext {
  limits: Limits;
  /** Aborts at `spec.timeout` (reason: an UpstreamFault TimedOut) or when the operator stops. */
  signal: AbortSignal;
  /** Keys and values of the Secret that `spec.secretRef` names; empty without one. Never logged. */
  secret: ReadonlyMap<string, Buffer>;
  memory: Memory;
  /** A folder that this look alone may fill, from `open` on; removed afterwards by the caller. */
  scratch: string;
  /** Called with bytes received, as they arrive. */
  received(bytes: number): void;
  /** Told how a git server is read, once it has said what it can. */
  gitReader(reader: GitReader): void;
}
