// The part of a file that a request asks for: from one byte to the end, which is what a copy that broke off needs.

/** @returns the first byte; `unsatisfiable` where the file ends before; undefined where the whole is asked for, or another kind of range */
export function rangeStart(header: string | undefined, size: number): number | 'unsatisfiable' | undefined {
  const first = /^bytes=(\d{1,15})-$/.exec(header ?? '')?.[1];
  if (first === undefined) return undefined;
  return Number(first) < size ? Number(first) : 'unsatisfiable';
}
