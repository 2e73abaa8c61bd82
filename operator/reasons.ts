// Every reason a condition can carry, and what each means for the next look: one table, tested against docs.
import { type UpstreamReason, upstreamReasons } from '../upstream/fault.ts';

/** How a source that failed is looked at again. */
export type Retry = 'human' | 'refresh' | 'backoff';

/** Reasons of a SkillSource's conditions when Ready is not True, with when it is looked at again. */
export const sourceFaultReasons = {
  InvalidSpec: 'human',
  FileRootNotAllowed: 'human',
  AddressNotAllowed: 'refresh',
  LimitExceeded: 'refresh',
  SecretNotFound: 'backoff',
  AuthenticationFailed: 'backoff',
  AccessDenied: 'backoff',
  NotFound: 'backoff',
  TLSFailed: 'backoff',
  Unreachable: 'backoff',
  TimedOut: 'backoff',
  RateLimited: 'backoff',
  UpstreamInvalid: 'backoff',
  StorageFailed: 'backoff',
} as const satisfies Record<UpstreamReason, Retry> & Record<string, Retry>;

export type SourceFaultReason = keyof typeof sourceFaultReasons;

/** Reasons that are no faults. */
export const Succeeded = 'Succeeded';
export const Progressing = 'Progressing';

/** Reasons of a SkillGateway's Ready condition, besides Succeeded and Progressing. */
export const gatewayFaultReasons = [
  'InvalidSpec',
  'SecretNotFound',
  'VolumeNotReachable',
  'RolloutFailed',
  'StorageFailed',
] as const;
export type GatewayFaultReason = (typeof gatewayFaultReasons)[number];

/** Reasons of a SkillGateway's SourcesReady condition. */
export const sourcesReadyReasons = ['AllReady', 'SourcesStale', 'SourcesMissing'] as const;
export type SourcesReadyReason = (typeof sourcesReadyReasons)[number];

/** A look that failed for a reason of the operator's own, not of a server's. The message names the remedy. */
export class SourceFault extends Error {
  readonly reason: SourceFaultReason;
  constructor(reason: SourceFaultReason, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SourceFault';
    this.reason = reason;
  }
}

export const isUpstreamReason = (reason: string): reason is UpstreamReason =>
  (upstreamReasons as readonly string[]).includes(reason);
