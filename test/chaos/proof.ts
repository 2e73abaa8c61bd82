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

/** A size that an environment variable may make smaller, for a quick look. @throws Error where it is no whole number above 0 */
export function size(variable: string, otherwise: number): number {
  const given = process.env[variable];
  if (given === undefined || given === '') return otherwise;
  const number = Number(given);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${variable}=${given}: a whole number above 0`);
  return number;
}
