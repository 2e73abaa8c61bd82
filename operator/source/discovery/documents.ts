// The documents that an index names: which are known, which have to be fetched, and whether they are what it says.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ArchiveFault } from '../../../upstream/archive-fault.ts';
import { type ArchiveBounds, listArchive, readArchive } from '../../../upstream/discovery/archive.ts';
import { type Downloaded, download } from '../../../upstream/discovery/download.ts';
import type { PublishedDocument } from '../../../upstream/discovery/entries.ts';
import { UpstreamFault } from '../../../upstream/fault.ts';
import type { Credential, GuardedClient } from '../../../upstream/guard/client.ts';
import { treeCaps } from '../../../upstream/limits.ts';
import { newPace } from '../../../upstream/pace.ts';
import type { LookContext } from '../backend.ts';
import type { DiscoveryMemory, KnownArchive, LooseDocument } from './memory.ts';

export interface Publisher {
  /** Of the index. */
  url: URL;
  client: GuardedClient;
  credential: Credential | undefined;
}

/** What became of a document: what it holds, or why it is left out. */
export type Settled = { document: PublishedDocument } & (
  | { digest: string; size: number; listing?: KnownArchive }
  | { digest: string; size: number; tooLarge: string }
  | { why: string }
);

/** So many are fetched at once. */
const together = 4;
/** Far more files than any client takes of a skill. */
const mostInArchive = 10_000;

export class Documents {
  readonly #publisher: Publisher;
  readonly #context: LookContext;
  readonly #known: DiscoveryMemory | undefined;
  readonly #loose = new Map<string, LooseDocument>();
  readonly #files = new Map<string, number>();
  readonly #archives = new Map<string, KnownArchive>();
  /** By digest, files in the scratch folder whose bytes have it. */
  readonly #fetched = new Map<string, string>();
  #names = 0;
  #bytes = 0;
  #inArchives = 0;

  constructor(publisher: Publisher, context: LookContext, known: DiscoveryMemory | undefined) {
    this.#publisher = publisher;
    this.#context = context;
    this.#known = known;
  }

  /** What is known now, for the next look. */
  learnt(): Pick<DiscoveryMemory, 'loose' | 'files' | 'archives'> {
    return { loose: this.#loose, files: this.#files, archives: this.#archives };
  }

  /**
   * The documents without a digest that were there before, with the digest of what they hold now. Ends at the first one
   * that has moved: that is enough to know.
   */
  async looseNow(): Promise<[url: string, digest: string][]> {
    const now: [string, string][] = [];
    let hasMoved = false;
    await this.#each([...(this.#known?.loose ?? [])], async ([url, before]) => {
      if (hasMoved) return;
      const limit = this.#context.limits.totalSize;
      const found = await this.#orGone(() => this.#download(url, limit, before, undefined));
      const digest = found?.found === 'content' ? found.digest : found?.found === 'same' ? before.digest : '';
      if (digest !== before.digest) hasMoved = true;
      now.push([url, digest]);
    });
    return now;
  }

  /** @throws UpstreamFault LimitExceeded beyond `limits.totalSize`, and for every fault that is not one document's own */
  async settle(documents: readonly PublishedDocument[]): Promise<Settled[]> {
    const settled: Settled[] = [];
    await this.#each([...documents.entries()], async ([at, document]) => {
      settled[at] = { document, ...(await this.#settle(document)) };
    });
    return settled;
  }

  /** The bytes of a document that is a file. @throws UpstreamFault UpstreamInvalid where it is another one by now */
  async file(document: PublishedDocument, digest: string): Promise<Buffer> {
    return await readFile(await this.#local(document, digest));
  }

  /** The wanted files of an archive, one after the other. @throws UpstreamFault UpstreamInvalid where it is another one by now */
  async inArchive(
    document: PublishedDocument,
    digest: string,
    wanted: ReadonlySet<string>,
    take: (path: string, bytes: Buffer) => Promise<void>,
  ): Promise<void> {
    try {
      await readArchive(await this.#local(document, digest), wanted, this.#bounds(), take);
    } catch (error) {
      if (!(error instanceof ArchiveFault)) throw error;
      throw new UpstreamFault('UpstreamInvalid', `an archive of ${this.#publisher.url.host} ${error.message}`);
    }
  }

  async #settle(document: PublishedDocument) {
    const { kind, url, digest } = document;
    const before = digest === undefined ? this.#known?.loose.get(url) : undefined;
    const supposed = digest ?? before?.digest;
    const known = supposed === undefined ? undefined : this.#knownContent(kind, supposed);
    if (digest !== undefined && known !== undefined) return known;
    const { fileSize, totalSize } = this.#context.limits;
    const limit = kind === 'file' ? fileSize : totalSize;
    const into = join(this.#context.scratch, `published-${this.#names++}`);
    const found = await this.#orGone(() => this.#download(url, limit, known && before, into));
    if (found === undefined) return { why: 'The publisher does not give what its index names: tell the publisher.' };
    if (found.found === 'tooLarge') {
      const tooLarge = `The archive is larger than ${limit} bytes, so it is left out: raise spec.limits.totalSize.`;
      return { digest: '', size: found.size, tooLarge };
    }
    if (found.found === 'same') {
      this.#loose.set(url, before!);
      return known!;
    }
    this.#fetched.set(found.digest, into);
    if (digest !== undefined && found.digest !== digest) {
      return { why: 'What the publisher gives is not what its index says, by its digest: tell the publisher.' };
    }
    if (digest === undefined) {
      if (found.isPage) return { why: 'The publisher gives a web page in its place: tell the publisher.' };
      const { size, etag, lastModified } = found;
      this.#loose.set(url, { digest: found.digest, size, etag, lastModified });
    }
    if (kind === 'file') {
      this.#files.set(found.digest, found.size);
      return { digest: found.digest, size: found.size };
    }
    return await this.#listed(found.digest, found.size, into);
  }

  async #listed(digest: string, size: number, path: string) {
    try {
      const listing = await listArchive(path, this.#bounds());
      this.#inArchives += listing.files.length;
      if (this.#inArchives > treeCaps.entries) {
        throw new UpstreamFault(
          'LimitExceeded',
          `the archives hold more than ${treeCaps.entries} files, which no field raises`,
        );
      }
      if (!listing.files.some((file) => file.path === 'SKILL.md')) {
        return { why: 'The archive has no SKILL.md at its root: tell the publisher.' };
      }
      this.#archives.set(digest, listing);
      return { digest, size, listing };
    } catch (error) {
      if (!(error instanceof ArchiveFault)) throw error;
      return { why: `The archive is left out, since it ${error.message}: tell the publisher.` };
    }
  }

  #knownContent(kind: PublishedDocument['kind'], digest: string) {
    if (kind === 'file') {
      const size = this.#files.get(digest) ?? this.#known?.files.get(digest);
      if (size === undefined) return undefined;
      this.#files.set(digest, size);
      return { digest, size };
    }
    const listing = this.#archives.get(digest) ?? this.#known?.archives.get(digest);
    if (listing === undefined) return undefined;
    this.#archives.set(digest, listing);
    return { digest, size: 0, listing };
  }

  async #local(document: PublishedDocument, digest: string): Promise<string> {
    const path = this.#fetched.get(digest);
    if (path !== undefined) return path;
    const into = join(this.#context.scratch, `published-${this.#names++}`);
    const { fileSize, totalSize } = this.#context.limits;
    const found = await this.#download(document.url, document.kind === 'file' ? fileSize : totalSize, undefined, into);
    if (found.found !== 'content' || found.digest !== digest) {
      // What is known of it has led here, and would again.
      await this.#context.memory.save(Buffer.alloc(0));
      throw new UpstreamFault(
        'UpstreamInvalid',
        `${this.#publisher.url.host} gives something else than its index says; it may have changed while it was read`,
      );
    }
    this.#fetched.set(digest, into);
    return into;
  }

  async #download(
    url: string,
    maxBytes: number,
    known: LooseDocument | undefined,
    into: string | undefined,
  ): Promise<Downloaded> {
    const { client, credential } = this.#publisher;
    const { signal, received, limits } = this.#context;
    const name = this.#publisher.url.host;
    const request = { url: new URL(url), name, credential, maxBytes, signal, received };
    const found = await download(client, request, known, into);
    if (into !== undefined && found.found === 'content') {
      this.#bytes += found.size;
      if (this.#bytes > limits.totalSize) {
        throw new UpstreamFault(
          'LimitExceeded',
          `what the index names has more than ${limits.totalSize} bytes in all; raise spec.limits.totalSize, or publish less`,
        );
      }
    }
    return found;
  }

  /** Undefined for a document that is not there, or not for us; every other fault is the source's. */
  async #orGone(fetch: () => Promise<Downloaded>): Promise<Downloaded | undefined> {
    try {
      return await fetch();
    } catch (error) {
      if (error instanceof UpstreamFault && (error.reason === 'NotFound' || error.reason === 'AccessDenied')) {
        return undefined;
      }
      throw error;
    }
  }

  #bounds(): ArchiveBounds {
    const { limits, signal } = this.#context;
    return { bytes: limits.totalSize, entries: mostInArchive, signal };
  }

  /** All of them, some at once; the first failure ends it. */
  async #each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
    const pace = newPace(this.#context.signal);
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < items.length) {
        try {
          await work(items[next++]!);
          await pace();
        } catch (error) {
          next = items.length;
          throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(together, items.length) }, worker));
  }
}
