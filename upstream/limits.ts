// The bounds of one look at a source, enforced while bytes stream.

export interface Limits {
  /** Files wanted. Above: LimitExceeded (`spec.limits.files`). */
  files: number;
  /** Bytes of one file. A larger one is rejected by name (`TooLarge`), the rest goes on (`spec.limits.fileSize`). */
  fileSize: number;
  /** Bytes of all wanted files. Above: LimitExceeded (`spec.limits.totalSize`). */
  totalSize: number;
}

/** Caps on a tree itself, wanted or not: beyond them a source fails with LimitExceeded. */
export const treeCaps = { entries: 500_000, depth: 64, pathBytes: 1024 } as const;
