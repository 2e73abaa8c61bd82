// One look at a publisher's index: what it names is fetched unless it is known, held against its digest, and made a tree.

import { digestOf } from '../../../catalogue/digest.ts';
import { byCodePoint } from '../../../catalogue/names.ts';
import { type Problem, problem } from '../../../catalogue/problem.ts';
import { ask, validatorsOf } from '../../../upstream/discovery/download.ts';
import { documentsOf, type PublishedDocument, type Remark } from '../../../upstream/discovery/entries.ts';
import { largestIndex, type RawIndex, readIndex } from '../../../upstream/discovery/read-index.ts';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { treeCaps } from '../../../upstream/limits.ts';
import { newPace } from '../../../upstream/pace.ts';
import type { LookContext } from '../backend.ts';
import type { Source, Tree, TreeEntry, TreeSink } from '../source.ts';
import { totalSizeFault } from '../total-size.ts';
import { Documents, type Publisher, type Settled } from './documents.ts';
import { type DiscoveryMemory, decodeMemory, encodeMemory } from './memory.ts';

type Validators = DiscoveryMemory['validators'];

/** The index as it is now. */
interface Seen extends RawIndex {
  validators: Validators;
  /** Where it came from, after redirects. */
  origin: string;
}

/** So often the index is read again when something in it could not be had: it may have moved in between. */
const readings = 2;

export class DiscoveryLook implements Pick<Source, 'probe' | 'open'> {
  readonly #publisher: Publisher;
  readonly #context: LookContext;
  #known: Promise<DiscoveryMemory | undefined> | undefined;
  #seen: Seen | undefined;

  constructor(publisher: Publisher, context: LookContext) {
    this.#publisher = publisher;
    this.#context = context;
  }

  /** One request, where the index has a digest of everything in it; one more for each document that has none. */
  async probe(): Promise<string> {
    const known = await this.#memory();
    const seen = await this.#readIndex(known?.validators);
    if (seen !== undefined) this.#seen = seen;
    if (known === undefined || (seen !== undefined && seen.digest !== known.digest))
      return revisionOf(seen!.digest, [], []);
    const loose = await new Documents(this.#publisher, this.#context, known).looseNow();
    return revisionOf(known.digest, loose, []);
  }

  async open(): Promise<Tree> {
    const known = await this.#memory();
    let seen = this.#seen ?? (await this.#readIndex(undefined))!;
    for (let reading = 1; ; reading++) {
      const documents = new Documents(this.#publisher, this.#context, known);
      const { settled, remarks } = await this.#settle(seen, documents);
      const isWhole = settled.every((one) => !('why' in one));
      if (isWhole || reading === readings) return await this.#tree(seen, settled, remarks, documents);
      const again = (await this.#readIndex(undefined))!;
      if (again.digest === seen.digest) return await this.#tree(seen, settled, remarks, documents);
      seen = again;
    }
  }

  async #memory(): Promise<DiscoveryMemory | undefined> {
    this.#known ??= this.#context.memory.load().then((bytes) => bytes && decodeMemory(this.#publisher.url.href, bytes));
    return await this.#known;
  }

  /** Undefined: it is what it was when it was given these validators. */
  async #readIndex(validators: Validators | undefined): Promise<Seen | undefined> {
    const { url, client, credential } = this.#publisher;
    const { signal, received } = this.#context;
    const answer = await ask(client, { url, credential, maxBytes: largestIndex, signal, received }, validators);
    try {
      if (answer.status === 304) return undefined;
      const index = await readIndex(answer.body, url.host, newPace(signal));
      return { ...index, validators: validatorsOf(answer.headers), origin: answer.url.origin };
    } finally {
      answer.discard();
    }
  }

  async #settle(seen: Seen, documents: Documents): Promise<{ settled: Settled[]; remarks: Remark[] }> {
    const { url } = this.#publisher;
    const { limits, signal } = this.#context;
    const origins = new Set([url.origin, seen.origin]);
    const { documents: named, remarks } = await documentsOf(seen, url, origins, newPace(signal));
    if (named.length > limits.files) {
      throw new UpstreamFault(
        'LimitExceeded',
        `the index names more than ${limits.files} files; raise spec.limits.files, or publish less`,
      );
    }
    return { settled: await documents.settle(named), remarks };
  }

  async #tree(
    seen: Seen,
    settled: readonly Settled[],
    remarks: readonly Remark[],
    documents: Documents,
  ): Promise<Tree> {
    const pace = newPace(this.#context.signal);
    const problems: Problem[] = remarks.map(({ reason, path, message }) => problem(reason, path, message));
    const entries: TreeEntry[] = [];
    const places = new Map<string, { document: PublishedDocument; digest: string; inside: string | undefined }>();
    const loose: [url: string, digest: string][] = [];
    const missing: string[] = [];
    const add = (entry: TreeEntry, document: PublishedDocument, digest: string, inside?: string): void => {
      if (entries.length === treeCaps.entries) {
        throw new UpstreamFault(
          'LimitExceeded',
          `the skills have more than ${treeCaps.entries} files, which no field raises`,
        );
      }
      if (places.has(entry.path)) return;
      places.set(entry.path, { document, digest, inside });
      entries.push(entry);
    };
    for (const one of settled) {
      await pace();
      const { document } = one;
      if ('why' in one) {
        missing.push(document.url);
        problems.push(problem('NotFetched', document.path, one.why));
        continue;
      }
      const { digest, size } = one;
      if (document.digest === undefined && digest !== '') loose.push([document.url, digest]);
      if ('tooLarge' in one) {
        if (document.kind === 'archive') problems.push(problem('TooLarge', document.path, one.tooLarge));
        else add({ path: document.path, size }, document, digest);
        continue;
      }
      if (document.kind === 'file') {
        add({ path: document.path, id: digest, size }, document, digest);
        continue;
      }
      for (const { path, size } of one.listing!.files) {
        add({ path: `${document.path}/${path}`, id: `${digest}/${path}`, size }, document, digest, path);
        await pace();
      }
      if (one.listing!.leftOut > 0) {
        const message = `${one.listing!.leftOut} links, devices and second files at one path in the archive are left out: pack plain files.`;
        problems.push(problem('SpecialFile', document.path, message));
      }
    }
    await this.#remember(seen, documents, missing);
    return {
      revision: revisionOf(seen.digest, loose, missing),
      entries,
      problems,
      read: (wanted, sink) => this.#read(wanted, sink, places, documents),
      close: async () => {},
    };
  }

  async #read(
    wanted: readonly TreeEntry[],
    sink: TreeSink,
    places: ReadonlyMap<string, { document: PublishedDocument; digest: string; inside: string | undefined }>,
    documents: Documents,
  ): Promise<void> {
    const { limits } = this.#context;
    let total = 0;
    const take = async (entry: TreeEntry, bytes: Buffer): Promise<void> => {
      total += bytes.length;
      if (total > limits.totalSize) throw totalSizeFault(limits.totalSize);
      await sink.take(entry, bytes);
    };
    const inArchives = new Map<
      string,
      { document: PublishedDocument; digest: string; entries: Map<string, TreeEntry> }
    >();
    for (const entry of wanted) {
      const { document, digest, inside } = places.get(entry.path)!;
      if (entry.size !== undefined && entry.size > limits.fileSize) {
        sink.tooLarge(entry, entry.size);
      } else if (inside === undefined) {
        await take(entry, await documents.file(document, digest));
      } else {
        const archive = inArchives.get(document.path) ?? { document, digest, entries: new Map() };
        archive.entries.set(inside, entry);
        inArchives.set(document.path, archive);
      }
    }
    for (const { document, digest, entries } of inArchives.values()) {
      await documents.inArchive(document, digest, new Set(entries.keys()), (path, bytes) =>
        take(entries.get(path)!, bytes),
      );
    }
  }

  async #remember({ digest, validators }: Seen, documents: Documents, missing: readonly string[]): Promise<void> {
    const bytes = await encodeMemory(this.#publisher.url.href, {
      digest,
      validators,
      ...documents.learnt(),
      missing,
    });
    const before = await this.#context.memory.load();
    if (before === undefined || !before.equals(bytes)) await this.#context.memory.save(bytes);
  }
}

/**
 * What the state of a publisher is called. What could not be had is part of it, so that the next look tries again.
 * @param loose documents without a digest in the index, with that of their content
 */
const revisionOf = (
  index: string,
  loose: readonly (readonly [url: string, digest: string])[],
  missing: readonly string[],
): string =>
  loose.length === 0 && missing.length === 0
    ? index
    : digestOf(JSON.stringify([index, loose.toSorted(([a], [b]) => byCodePoint(a, b)), missing.toSorted(byCodePoint)]));
