// The entries of a discovery index, with the digests of archives, which are made when they are first asked for.
import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { ContentUnavailable } from '../../catalogue/content.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { ArtifactRow } from '../../catalogue/source-catalogue.ts';
import { type DiscoveryEntry, discoveryDescription, discoveryNames, isOneFile } from '../answers/discovery.ts';
import type { Budget } from '../budget.ts';
import { mainFile } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import { archiveDigest, archiveSize } from './skill-archive.ts';

/** URLs are relative to the index. */
export type DiscoveryEntries = () => AsyncGenerator<DiscoveryEntry>;

export interface DiscoveryListing {
  /** Moves when any entry does. */
  digest: string;
  entries: DiscoveryEntries;
}

/** So many archives are made at once. */
const atOnce = 8;

/** Listings by view. Only their digests are kept: thousands of entries for each of many scopes would take much memory. */
export class DiscoveryListings {
  readonly #budget: Budget;
  readonly #logger: Logger;
  readonly #digests = new WeakMap<View, Promise<string>>();

  constructor(budget: Budget, logger: Logger) {
    this.#budget = budget;
    this.#logger = logger;
  }

  /** A skill whose content cannot be read at the moment is left out, and tried again by the next call. */
  async of(view: View): Promise<DiscoveryListing> {
    const left = new Set<ArtifactRow>();
    const entries: DiscoveryEntries = () => this.#entries(view, left);
    let digest = this.#digests.get(view);
    if (digest === undefined) {
      digest = digestOfAll(entries());
      this.#digests.set(view, digest);
    }
    const all = { digest: await digest, entries };
    if (left.size > 0) this.#digests.delete(view);
    return all;
  }

  async *#entries(view: View, left: Set<ArtifactRow>): AsyncGenerator<DiscoveryEntry> {
    const slices = new Slices();
    let batch: [string, ArtifactRow][] = [];
    for (const [name, { row }] of discoveryNames(view)) {
      if (left.has(row)) continue;
      batch.push([name, row]);
      if (batch.length < atOnce) continue;
      yield* this.#made(view, batch, left);
      batch = [];
      if (slices.over) await slices.turn();
    }
    yield* this.#made(view, batch, left);
  }

  async *#made(
    view: View,
    batch: readonly [string, ArtifactRow][],
    left: Set<ArtifactRow>,
  ): AsyncGenerator<DiscoveryEntry> {
    const made = batch.map(async ([name, row]): Promise<DiscoveryEntry | undefined> => {
      const description = discoveryDescription(row);
      if (isOneFile(row)) {
        return { name, type: 'skill-md', description, url: `${name}/SKILL.md`, digest: mainFile(row)!.digest };
      }
      if (archiveSize(row) === undefined) return undefined;
      try {
        const digest = await archiveDigest(row, view.snapshot.content, this.#budget);
        return { name, type: 'archive', description, url: `${name}.zip`, digest };
      } catch (error) {
        if (!(error instanceof ContentUnavailable)) throw error;
        this.#logger.warn({ digest: error.digest, why: error.message }, 'content not available');
        left.add(row);
        return undefined;
      }
    });
    for (const entry of await Promise.all(made)) if (entry !== undefined) yield entry;
  }
}

async function digestOfAll(entries: AsyncIterable<DiscoveryEntry>): Promise<string> {
  const hash = createHash('sha256');
  for await (const entry of entries) hash.update(JSON.stringify(entry));
  return hash.digest('hex');
}
