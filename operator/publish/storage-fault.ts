// What a file operation on the volume that failed means for the person who runs Lyceum.
import { SourceFault } from '../reasons.ts';

const remedies: Record<string, string> = {
  ENOSPC: 'the volume is full: free space on it or enlarge it',
  EDQUOT: 'the volume is full (its quota is used up): free space on it or raise the quota',
  EROFS: 'the volume is mounted read-only: mount it writable in the operator',
  EACCES: "the volume's files belong to somebody else: run operator and volume with the same uid and fsGroup",
  EPERM: "the volume's files belong to somebody else: run operator and volume with the same uid and fsGroup",
  EFBIG: 'the file is larger than the volume or a limit of the process allows',
  EMFILE: 'the operator has too many open files: raise its limit',
  EIO: 'the disk under the volume reports an error',
  ESTALE: 'the file server lost the file: it is tried again',
  EXDEV: 'tmp/ stands on another file system than the rest of the volume: mount one volume for both',
};

/** The errno of a failed file operation: `ENOSPC`; undefined for any other error. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return /^E[A-Z0-9]+$/.test(error.code) ? error.code : undefined;
}

/**
 * StorageFailed for a failed file operation; errors that come from no file operation are given back as they are.
 * @param path relative to the volume's root
 */
export function storageFault(doing: string, path: string, error: unknown): unknown {
  const errno = errnoOf(error);
  if (errno === undefined) return error;
  const remedy = remedies[errno];
  return new SourceFault('StorageFailed', `cannot ${doing} ${path} (${errno})${remedy ? `: ${remedy}` : ''}`, {
    cause: error,
  });
}
