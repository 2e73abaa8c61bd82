// The challenges of a WWW-Authenticate header (RFC 9110, 11.6.1): schemes with their parameters.

export interface Challenge {
  /** In lower case. */
  scheme: string;
  /** Names in lower case, values without their quotes. */
  parameters: ReadonlyMap<string, string>;
}

const longestHeader = 8192;
const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const step = new RegExp(
  `[\\s,]*(?:(${token})\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|(${token}))|(${token})(?=[\\s,]|$))`,
  'y',
);

/** @param lines one a header line; what is longer than 8 KiB or cannot be read is left out from there on */
export function challengesOf(lines: readonly string[]): Challenge[] {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = [];
  for (const line of lines) {
    if (line.length > longestHeader) continue;
    step.lastIndex = 0;
    for (let found = step.exec(line); found !== null; found = step.exec(line)) {
      const [, name, quoted, bare, scheme] = found;
      if (scheme !== undefined) challenges.push({ scheme: scheme.toLowerCase(), parameters: new Map() });
      else challenges.at(-1)?.parameters.set(name!.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? bare!);
    }
  }
  return challenges;
}
