// What the file system's errors mean for a source.
import { UpstreamFault } from '../../../upstream/fault.ts';

export const errnoOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** Whether something that was there a moment ago is not there any longer, or is something else now. */
export const isGone = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE', 'ENXIO'].includes(errnoOf(error) ?? '');

/** @param shown the path as the user knows it, below the file root */
export function folderFault(error: unknown, shown: string): UpstreamFault {
  const code = errnoOf(error);
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENAMETOOLONG') {
    return new UpstreamFault(
      'NotFound',
      `the folder ${shown} is not there below the file root: create it there, or correct spec.url`,
    );
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new UpstreamFault('AccessDenied', `${shown} may not be read by the operator's user: give it read access`);
  }
  if (code === undefined) throw error;
  return new UpstreamFault('Unreachable', `${shown} cannot be read (${code}): see to the mount`, { cause: error });
}

/** The folder moved while it was looked at. The next look finds it at rest. */
export const changedMeanwhile = (shown: string): UpstreamFault =>
  new UpstreamFault('UpstreamInvalid', `${shown} changed while it was read; it is looked at again`, {
    retryAfterSeconds: 1,
  });
