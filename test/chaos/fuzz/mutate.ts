// Inputs that nobody foresaw: real ones, damaged at random. The same seed gives the same row of them.

/** A number in [0, below). */
export type Chance = (below: number) => number;

/** Mulberry32. */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(1, below);
  };
}

/** In bytes; a longer one is cut. */
const longest = 256 * 1024;
const interesting = [0, 1, 0x0a, 0x20, 0x22, 0x2f, 0x30, 0x3c, 0x5c, 0x7b, 0x7f, 0x80, 0xc0, 0xed, 0xf4, 0xff];

type Step = (input: Buffer, chance: Chance, seeds: readonly Buffer[], words: readonly Buffer[]) => Buffer;

const replaced = (input: Buffer, from: number, to: number, by: Buffer): Buffer =>
  Buffer.concat([input.subarray(0, from), by, input.subarray(to)]);

const stretch = (input: Buffer, chance: Chance): [number, number] => {
  const from = chance(input.length + 1);
  return [from, Math.min(input.length, from + 1 + chance(2 ** chance(10)))];
};

const steps: readonly Step[] = [
  // A bit turned.
  (input, chance) => {
    const at = chance(input.length);
    const turned = Buffer.from(input);
    if (turned.length > 0) turned[at] = turned[at]! ^ (1 << chance(8));
    return turned;
  },
  // A byte that parsers treat as something special.
  (input, chance) => {
    const set = Buffer.from(input);
    if (set.length > 0) set[chance(set.length)] = interesting[chance(interesting.length)]!;
    return set;
  },
  // Cut off.
  (input, chance) => input.subarray(0, chance(input.length + 1)),
  // A stretch taken out.
  (input, chance) => replaced(input, ...stretch(input, chance), Buffer.alloc(0)),
  // A stretch many times.
  (input, chance) => {
    const [from, to] = stretch(input, chance);
    const times = Math.min(1 + chance(2 ** chance(12)), Math.ceil(longest / Math.max(1, to - from)));
    return replaced(input, to, to, Buffer.concat(Array.from({ length: times }, () => input.subarray(from, to))));
  },
  // The beginning of one and the end of another.
  (input, chance, seeds) => {
    const other = seeds[chance(seeds.length)]!;
    return Buffer.concat([input.subarray(0, chance(input.length + 1)), other.subarray(chance(other.length + 1))]);
  },
  // A stretch of another, in the middle.
  (input, chance, seeds) => {
    const other = seeds[chance(seeds.length)]!;
    const at = chance(input.length + 1);
    return replaced(input, at, at, other.subarray(...stretch(other, chance)));
  },
  // A word of the format.
  (input, chance, _seeds, words) => {
    const [from, to] = stretch(input, chance);
    return replaced(input, from, chance(2) === 0 ? from : to, words[chance(words.length)]!);
  },
  // A number that is larger than anybody means.
  (input, chance) => {
    const [from, to] = stretch(input, chance);
    const numbers = ['0', '-1', '4294967296', '9007199254740993', '1e309', '99999999999999999999'];
    return replaced(input, from, to, Buffer.from(numbers[chance(numbers.length)]!));
  },
  // Bytes at random.
  (input, chance) => {
    const [from, to] = stretch(input, chance);
    return replaced(input, from, to, Buffer.from(Array.from({ length: to - from }, () => chance(256))));
  },
];

/** One of the seeds after some mutations, most often few. */
export function mutated(seeds: readonly Buffer[], dictionary: readonly string[], chance: Chance): Buffer {
  const words = dictionary.map((word) => Buffer.from(word, 'latin1'));
  let input = seeds[chance(seeds.length)]!;
  for (let left = 1 + chance(2 ** chance(5)); left > 0; left--) {
    input = steps[chance(steps.length)]!(input, chance, seeds, words).subarray(0, longest);
  }
  return input;
}
