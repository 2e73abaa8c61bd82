// A table of objects as `kubectl get` prints it, from the printer columns of their CustomResourceDefinition. Pure.
import type { KubernetesObject } from '../../operator/kubernetes/cluster.ts';
import type { Column } from '../../operator/resources/crd.ts';

export interface AgedObject {
  object: KubernetesObject;
  /** Milliseconds since it was first seen. */
  age: number;
}

/** Lines without line ends; none for no objects. */
export function table(columns: readonly Column[], rows: readonly AgedObject[]): string[] {
  if (rows.length === 0) return [];
  const cells = [
    ['NAME', ...columns.map(({ name }) => name.toUpperCase())],
    ...rows.map(({ object, age }) => [
      object.metadata.name,
      ...columns.map((column) => (column.type === 'date' ? ageText(age) : printable(valueAt(object, column.jsonPath)))),
    ]),
  ];
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('   ')
      .trimEnd(),
  );
}

/** A path of a printer column: `.status.conditions[?(@.type=="Ready")].message`. */
function valueAt(object: unknown, path: string): unknown {
  const steps = path.matchAll(/\.([A-Za-z]+)|\[\?\(@\.([A-Za-z]+)=="([^"]*)"\)\]/g);
  let value: unknown = object;
  for (const [, field, key, wanted] of steps) {
    if (value === null || typeof value !== 'object') return undefined;
    value =
      field !== undefined
        ? (value as Record<string, unknown>)[field]
        : (value as Record<string, unknown>[]).find?.((item) => item[key!] === wanted);
  }
  return value;
}

const printable = (value: unknown): string => (value === undefined || value === null ? '' : String(value));

/** `12s`, `3m`, `5h`, `2d`: the largest unit, as kubectl rounds. */
export function ageText(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
