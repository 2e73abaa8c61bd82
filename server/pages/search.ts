// The search of a catalogue: every word must be found; a name counts more than a tag, a tag more than a description.
import { Slices } from '../../catalogue/slices.ts';
import { type Artifact, artifactKinds, byAscii } from '../snapshot/snapshot.ts';
import { sortInSlices } from '../snapshot/sort.ts';
import type { View } from '../view.ts';

/** More words, or longer ones, find nothing that fewer do not. */
const longestQuery = 256;
const mostTerms = 16;

/** A query that is not looked for. The message tells its sender how to mend it. */
export class QueryTooLong extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'QueryTooLong';
  }
}

/** An artifact as it is searched. */
interface Entry {
  artifact: Artifact;
  /** What it is called. */
  name: string;
  /** In lower case, as all that follows. */
  lowerName: string;
  tags: readonly string[];
  tagText: string;
  description: string;
}

/** What an artifact is called on pages. */
export const calledAs = ({ kind, qualified, row }: Artifact): string => (kind === 'prompt' ? qualified : row.name);

/**
 * The words of a query, in lower case, each once.
 * @throws QueryTooLong
 */
export function termsOf(query: string): readonly string[] {
  if (query.length > longestQuery) {
    const length = query.length.toLocaleString('en');
    throw new QueryTooLong(
      `A search has at most ${longestQuery} characters; this one has ${length}. Leave some words out.`,
    );
  }
  const terms = new Set(
    query
      .toLowerCase()
      .split(/\s+/)
      .filter((term) => term !== ''),
  );
  if (terms.size > mostTerms) {
    throw new QueryTooLong(`A search has at most ${mostTerms} words; this one has ${terms.size}. Leave some out.`);
  }
  return [...terms];
}

/** Whether a search for a tag finds it: a word with a colon is a whole tag, so a tag of several words has none. */
export const isSearchable = (tag: string): boolean => !/\s/.test(tag) || !tag.split(/\s+/).some(isWholeTag);

const isWholeTag = (term: string): boolean => term.indexOf(':') > 0;

/**
 * Everything of a view in which all terms are found, best first; what is equally good, and all where there is no term, by
 * name. A term with a colon behind its first character is a whole tag; any other may stand anywhere in a name, a tag or a
 * description.
 */
export async function search(view: View, terms: readonly string[]): Promise<readonly Artifact[]> {
  const entries = await entriesOf(view);
  if (terms.length === 0) return entries.map(({ artifact }) => artifact);
  const slices = new Slices();
  const found: { artifact: Artifact; score: number }[] = [];
  for (const [at, entry] of entries.entries()) {
    if (at % 256 === 0 && slices.over) await slices.turn();
    const score = scoreOf(entry, terms);
    if (score > 0) found.push({ artifact: entry.artifact, score });
  }
  const sorted = await sortInSlices(found, (a, b) => b.score - a.score, slices);
  return sorted.map(({ artifact }) => artifact);
}

function scoreOf(entry: Entry, terms: readonly string[]): number {
  let score = 0;
  for (const term of terms) {
    const found = isWholeTag(term) ? (entry.tags.includes(term) ? 50 : 0) : substringScore(entry, term);
    if (found === 0) return 0;
    score += found;
  }
  return score;
}

const substringScore = ({ lowerName, tagText, description }: Entry, term: string): number =>
  (lowerName.includes(term) ? 100 : 0) + (tagText.includes(term) ? 50 : 0) + (description.includes(term) ? 25 : 0);

const indexes = new WeakMap<View, Promise<readonly Entry[]>>();

/** By name. Made when a view is first searched, in slices, and kept as long as the view. */
function entriesOf(view: View): Promise<readonly Entry[]> {
  let entries = indexes.get(view);
  if (entries === undefined) {
    entries = makeEntries(view);
    indexes.set(view, entries);
  }
  return entries;
}

async function makeEntries({ libraries }: View): Promise<Entry[]> {
  const slices = new Slices();
  const entries: Entry[] = [];
  for (const { artifacts } of libraries.values()) {
    for (const kind of artifactKinds) {
      for (const artifact of artifacts[kind]) {
        entries.push(entryOf(artifact));
        if (slices.over) await slices.turn();
      }
    }
  }
  const byName = (a: Entry, b: Entry): number =>
    byAscii(a.name, b.name) || byAscii(a.artifact.qualified, b.artifact.qualified);
  return await sortInSlices(entries, byName, slices);
}

/** Artifacts are shared by snapshots and views while nothing changes. */
const known = new WeakMap<Artifact, Entry>();

function entryOf(artifact: Artifact): Entry {
  let entry = known.get(artifact);
  if (entry === undefined) {
    const name = calledAs(artifact);
    const tags = artifact.row.tags.map((tag) => tag.toLowerCase());
    const description = artifact.row.description.toLowerCase();
    entry = { artifact, name, lowerName: name.toLowerCase(), tags, tagText: tags.join('\n'), description };
    known.set(artifact, entry);
  }
  return entry;
}
