// Why a catalogue could not be copied. A message names the thing and the remedy, and nothing that another program sent.

/** Reasons as logs and metrics tell them. */
export const syncFaultReasons = [
  'Unreachable',
  'NotAllowed',
  'NotPublished',
  'OperatorFailed',
  'DigestMismatch',
  'NewerFormat',
  'TooLarge',
  'StorageFailed',
] as const;
export type SyncFaultReason = (typeof syncFaultReasons)[number];

export class SyncFault extends Error {
  readonly reason: SyncFaultReason;
  constructor(reason: SyncFaultReason, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SyncFault';
    this.reason = reason;
  }
}
