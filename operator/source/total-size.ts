// The bound on the bytes of all wanted files.
import { UpstreamFault } from '../../upstream/fault.ts';

/** @param bytes `limits.totalSize` */
export const totalSizeFault = (bytes: number): UpstreamFault =>
  new UpstreamFault(
    'LimitExceeded',
    `the wanted files have more than ${bytes} bytes in all; raise spec.limits.totalSize or narrow spec.include`,
  );
