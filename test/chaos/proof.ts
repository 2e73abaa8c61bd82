// What a proof is, and how large it is made.

export interface Proof {
  name: string;
  /** What must hold, with its bar. */
  says: string;
  run(progress: (line: string) => void): Promise<Outcome>;
}

export interface Outcome {
  figures: Record<string, number>;
  /** What did not hold; empty where the bar is kept. */
  broken: string[];
}

/** Variables by which this run was made another size: it proves less, or more, than the bar asks. */
export const changed: string[] = [];

/** A size that an environment variable may make smaller, for a quick look. @throws Error where it is no whole number above 0 */
export function size(variable: string, otherwise: number): number {
  const given = process.env[variable];
  if (given === undefined || given === '') return otherwise;
  changed.push(variable);
  const number = Number(given);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${variable}=${given}: a whole number above 0`);
  return number;
}

/** Some of several, as an environment variable names them, with commas. @throws Error where it names one that is not there */
export function selection(variable: string, all: readonly string[]): readonly string[] {
  const given = process.env[variable];
  if (given === undefined || given === '') return all;
  changed.push(variable);
  const names = given.split(',');
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`${variable}=${given}: there are ${all.join(', ')}`);
  return names;
}

/** Words by which an environment variable chooses some of many; empty for all. */
export function part(variable: string): string {
  const given = process.env[variable] ?? '';
  if (given !== '') changed.push(variable);
  return given;
}
