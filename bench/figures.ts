// Figures and their bars: what the benchmark gives, as a table and as JSON.

export interface Bar {
  /** `<=`: the value may be at most this; `>=`: at least. */
  is: '<=' | '>=';
  value: number;
}

export interface Figure {
  name: string;
  value: number;
  unit: string;
  /** As it is read, `<= 0.1`; null where none is set. */
  bar: string | null;
  /** null where there is no bar. */
  holds: boolean | null;
}

/** @param value rounded to three digits for people; the bar is held against the value as it was measured */
export function figure(name: string, value: number, unit: string, bar?: Bar): Figure {
  const holds = bar === undefined ? null : bar.is === '<=' ? value <= bar.value : value >= bar.value;
  const written = bar === undefined ? null : `${bar.is} ${bar.value}`;
  return { name, value: rounded(value), unit, bar: written, holds };
}

export const atMost = (value: number): Bar => ({ is: '<=', value });
export const atLeast = (value: number): Bar => ({ is: '>=', value });

/** @throws Error for no values */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low, high] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  if (low === undefined || high === undefined) throw new Error('no values were measured');
  return (low + high) / 2;
}

/**
 * The median of what each round's value is to the same round's other: a machine that is busier for a while is so for both.
 * @throws Error for no values
 */
export const medianRatio = (values: readonly number[], others: readonly number[]): number =>
  median(values.map((value, round) => value / others[round]!));

const rounded = (value: number): number => (Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(3)));

export function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, value, unit, bar, holds }) => [
    name,
    String(value),
    unit,
    bar ?? '',
    holds === null ? '' : holds ? 'yes' : 'NO',
  ]);
  const all = [['name', 'value', 'unit', 'bar', 'holds'], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (row: string[]) =>
    row
      .map((cell, column) => (column === 1 ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd();
  return all.map(line).join('\n');
}
