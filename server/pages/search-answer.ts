// What the search tells a script while somebody types: the best few, and how many there are.
import { legible } from './legible.ts';
import { summary } from './listing.ts';
import { calledAs, search, termsOf } from './search.ts';
import type { Visit } from './visit.ts';

const best = 7;

export interface SearchAnswer {
  total: number;
  /** Best first. */
  results: { kind: string; name: string; library: string; description: string; href: string }[];
}

/** @throws QueryTooLong */
export async function searchAnswer({ view, links, parameters }: Visit): Promise<SearchAnswer> {
  const terms = termsOf(parameters.get('q') ?? '');
  if (terms.length === 0) return { total: 0, results: [] };
  const found = await search(view, terms);
  const results = found.slice(0, best).map((artifact) => ({
    kind: artifact.kind,
    name: legible(summary(calledAs(artifact), 128)),
    library: artifact.from.library,
    description: legible(summary(artifact.row.description, 120)),
    href: links.artifact(artifact),
  }));
  return { total: found.length, results };
}
