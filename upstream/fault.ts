// Why a look at somebody else's server failed: a reason a script may match, and words that quote nothing upstream sent.

/** The reasons that a client for a remote server can find. The operator's table of condition reasons includes them. */
export const upstreamReasons = [
  'AddressNotAllowed',
  'LimitExceeded',
  'AuthenticationFailed',
  'AccessDenied',
  'NotFound',
  'TLSFailed',
  'Unreachable',
  'TimedOut',
  'RateLimited',
  'UpstreamInvalid',
] as const;

export type UpstreamReason = (typeof upstreamReasons)[number];

/** A failed look. The message names the thing and the remedy; it never holds a secret or what upstream sent. */
export class UpstreamFault extends Error {
  readonly reason: UpstreamReason;
  /** Upstream's own wish, from Retry-After, in seconds. */
  readonly retryAfterSeconds: number | undefined;
  constructor(reason: UpstreamReason, message: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'UpstreamFault';
    this.reason = reason;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Upstream moved between two requests of one look. A look that begins anew at once finds it as it is now. */
export class MovedMeanwhile extends UpstreamFault {
  constructor(message: string) {
    super('UpstreamInvalid', message, { retryAfterSeconds: 1 });
  }
}
