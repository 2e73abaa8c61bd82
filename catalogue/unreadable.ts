// A catalogue that cannot be loaded, and why: whoever serves keeps the last good one and says so.

/** Missing: not there, or it cannot be opened. NewerFormat: written by a newer Lyceum than the one that reads. */
export type UnreadableReason = 'Missing' | 'Corrupt' | 'NewerFormat';

/** Characters of a path in a message: what an index names may be damaged. */
const longestName = 200;

export class CatalogueUnreadable extends Error {
  readonly reason: UnreadableReason;
  /** The file, relative to the volume's root. */
  readonly path: string;
  constructor(reason: UnreadableReason, path: string, why: string, options: { cause?: unknown } = {}) {
    super(
      `${path.length > longestName ? `${path.slice(0, longestName)}…` : path} ${why}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = 'CatalogueUnreadable';
    this.reason = reason;
    this.path = path;
  }
}

/** CatalogueUnreadable for whatever opening or reading a file threw; an error of that kind is given back as it is. */
export function unreadable(path: string, error: unknown): CatalogueUnreadable {
  if (error instanceof CatalogueUnreadable) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  const why =
    code === 'ENOENT'
      ? 'is not there: the operator has not published it yet, or its custom resource is gone'
      : `cannot be read (${code})`;
  return new CatalogueUnreadable('Missing', path, why, { cause: error });
}

/** @throws CatalogueUnreadable when the format is neither this version's nor the one before */
export function checkFormat(path: string, format: unknown, own: number): void {
  if (typeof format !== 'number' || !Number.isInteger(format) || format < 1) {
    throw new CatalogueUnreadable('Corrupt', path, 'names no format version');
  }
  if (format > own) {
    const why = `has format ${format}, this version reads up to ${own}: upgrade the server to the operator's version`;
    throw new CatalogueUnreadable('NewerFormat', path, why);
  }
  if (format < own - 1) {
    const why = `has format ${format}, this version reads ${own - 1} and ${own}: let the operator publish it again`;
    throw new CatalogueUnreadable('Corrupt', path, why);
  }
}
