// What a list+watch loop does after its list or its watch has ended, however it ended. Pure.
import { isKind, KubernetesError, type KubernetesErrorKind } from './kubernetes-error.ts';
import { MalformedWatch } from './watch-stream.ts';

/** Why a list or a watch has to start anew: a label of metrics and readiness. */
export type RestartReason = KubernetesErrorKind | 'ended' | 'short' | 'idle' | 'errorEvent' | 'malformed' | 'internal';

/** A watch that ended without a broken connection, but not as it should. */
export class WatchFault extends Error {
  readonly reason: RestartReason;
  readonly retryAfterSeconds: number | undefined;
  constructor(reason: RestartReason, message: string, retryAfterSeconds?: number) {
    super(message);
    this.name = 'WatchFault';
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export interface Step {
  reason: RestartReason;
  /** List before watching again: what was missed is unknown. */
  relist: boolean;
  /** `slow`: a human has to install or grant something first. */
  pace: 'backoff' | 'slow';
  /** The server's own wish. */
  atLeastSeconds: number;
  message: string;
}

/** Kinds of errors after which the last seen resource version is still a good place to go on from. */
const resumable: ReadonlySet<RestartReason> = new Set([
  'short',
  'idle',
  'tooMany',
  'unauthorized',
  'server',
  'network',
]);

/** The step after a failure of either request. */
export function stepAfter(error: unknown): Step {
  const reason = reasonOf(error);
  const wish = error instanceof KubernetesError || error instanceof WatchFault ? (error.retryAfterSeconds ?? 0) : 0;
  return {
    reason,
    relist: !resumable.has(reason),
    pace: isKind(error, 'notFound', 'forbidden') ? 'slow' : 'backoff',
    atLeastSeconds: wish,
    message: reason === 'internal' ? 'an unforeseen error' : (error as Error).message + remedyOf(reason),
  };
}

/** An empty collection is a list; one that is not found has no definition. */
const remedyOf = (reason: RestartReason): string =>
  reason === 'notFound' ? ": install Lyceum's CustomResourceDefinitions (kubectl apply --server-side -f crds/)" : '';

function reasonOf(error: unknown): RestartReason {
  if (error instanceof KubernetesError) return error.kind;
  if (error instanceof WatchFault) return error.reason;
  if (error instanceof MalformedWatch) return 'malformed';
  return 'internal';
}
