// Pages of a sorted list: at most 250 rows or 256 KB, and at least one row, which is never split.
import { cursorOf, keyOf } from './cursor.ts';

export const pageRows = 250;
export const pageBytes = 256 * 1024;

export interface Sorted<Row> {
  length: number;
  /** Ascending by `compare`, each once. */
  keyAt(index: number): string;
  rowAt(index: number): Row;
  /** What the row takes in an answer, in bytes. */
  bytesAt(index: number): number;
  compare(a: string, b: string): number;
}

export interface PageOf<Row> {
  rows: Row[];
  /** Where the list goes on: behind the last row's key, whatever catalogue is in force by then. */
  nextCursor?: string;
}

/**
 * @param list what a cursor of this list begins with, so that another list's is told from it
 * @throws BadCursor
 */
export function pageOf<Row>(list: string, rows: Sorted<Row>, cursor: string | undefined): PageOf<Row> {
  const prefix = `${list}\0`;
  const behind = cursor === undefined ? undefined : keyOf(cursor, cursorShape(list)).slice(prefix.length);
  const page: Row[] = [];
  let bytes = 0;
  for (let at = firstBehind(rows, behind); at < rows.length; at++) {
    bytes += rows.bytesAt(at) + 1;
    if (page.length === pageRows || (bytes > pageBytes && page.length > 0)) {
      return { rows: page, nextCursor: cursorOf(prefix + rows.keyAt(at - 1)) };
    }
    page.push(rows.rowAt(at));
  }
  return { rows: page };
}

const cursorShape = (list: string): RegExp => new RegExp(`^${list}\\0[^\\0]+$`);

function firstBehind<Row>({ length, keyAt, compare }: Sorted<Row>, behind: string | undefined): number {
  let low = 0;
  let high = behind === undefined ? 0 : length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(keyAt(middle), behind!) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
