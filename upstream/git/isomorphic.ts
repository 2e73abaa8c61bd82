// A git server without partial clone, read through isomorphic-git: a whole commit is transferred, its pack is read by ours.
import { join } from 'node:path';
import { fetch, listServerRefs } from 'isomorphic-git';
import { UpstreamFault } from '../fault.ts';
import { treeCaps } from '../limits.ts';
import { newPace } from '../pace.ts';
import type { Advertisement } from './advertisement.ts';
import { ByteStream } from './byte-stream.ts';
import { packOfVersionZero } from './fetch-response.ts';
import { IsomorphicHttp } from './isomorphic-http.ts';
import { noFiles, nowhere, nowhereOverHttp } from './no-files.ts';
import { rootTree } from './objects.ts';
import { type PackSink, readPack } from './pack.ts';
import { chooseReference, type Reference, type Tip, tipOfCommit, type WantedReference } from './references.ts';
import type { BlobSink, CommitTree, GitRepository, ReadingOptions } from './repository.ts';
import { filesMissing, foldersMissing, type GitServer, noSuchCommit } from './server.ts';
import type { TreeMemory } from './tree-memory.ts';
import { UnfoldBudget } from './unfold-budget.ts';
import { UnpackedStore } from './unpacked-store.ts';
import { TreeMissing, walk } from './walk.ts';

const mebibyte = 2 ** 20;
const caps = {
  /** A pack may have this many bytes beside `limits.totalSize`: folders, and files that nobody wants. */
  beside: 64 * mebibyte,
  /** What is packed may have so many times its bytes on the disk. */
  unfolds: 4,
  /** The answer that holds the pack. */
  answer: 4096 * mebibyte,
  trees: 64 * mebibyte,
  /** Git stores nothing larger as a difference from something else, nor the reverse (core.bigFileThreshold). */
  deltaBase: 512 * mebibyte,
  /** Unpacked in all, what is only hashed too. */
  unpacked: 4096 * mebibyte,
};

/**
 * No request with a server of version 0, whose advertisement has told everything; else one a name, until one is there.
 * @param first the server's advertisement
 * @returns undefined where the remote has no such reference
 */
export async function openIsomorphic(
  server: GitServer,
  wanted: WantedReference,
  first: Advertisement,
  options: ReadingOptions,
): Promise<GitRepository | undefined> {
  const names = wanted.kind === 'names' ? wanted.names : [];
  const repository = (tip: Tip) => new IsomorphicRepository(server, tip, first, new Set(names), options);
  if (wanted.kind === 'commit') return repository(tipOfCommit(wanted.oid));
  if (first.version === 0 && first.lines.length === 0) return undefined;
  const fetch = () => Promise.reject(new Error('references are listed without a fetch'));
  const http = new IsomorphicHttp({ server, advertisement: first, wanted: new Set(names), fetch });
  for (const name of names) {
    const references = await listServerRefs({
      http,
      url: nowhereOverHttp,
      protocolVersion: first.version === 2 ? 2 : 1,
      prefix: name,
      symrefs: true,
      peelTags: true,
    }).catch((error: unknown) => {
      throw http.fault ?? unreadable(server, error);
    });
    const tip = chooseReference(
      [name],
      references.map(({ ref, oid, peeled, target }): Reference => {
        return { name: ref, oid, ...(peeled && { peeled }), ...(target && { symrefTarget: target }) };
      }),
    );
    if (tip !== undefined) return repository(tip);
  }
  return undefined;
}

/** Its codes are constants; its messages quote what a server sent. */
function unreadable(server: GitServer, error: unknown): UpstreamFault {
  const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
  return new UpstreamFault('UpstreamInvalid', `${server.name} answered what isomorphic-git does not read${code}`);
}

/** What came of a whole commit. */
interface Unpacked {
  store: UnpackedStore;
  commit: Buffer | undefined;
  trees: Map<string, Buffer>;
  /** Each file's place in the store, by its name. */
  files: Map<string, number>;
  /** Bytes of each file that was too large to be stored. */
  large: Map<string, number>;
  /** Bytes of objects that are too large to be read at all, and have no name therefore. */
  passedOver: number[];
}

class IsomorphicRepository implements GitRepository {
  readonly reader = 'isomorphic-git';
  readonly tip: Tip;
  readonly #server: GitServer;
  readonly #first: Advertisement;
  readonly #wanted: ReadonlySet<string>;
  readonly #options: ReadingOptions;
  #unpacked: Unpacked | undefined;

  constructor(server: GitServer, tip: Tip, first: Advertisement, wanted: ReadonlySet<string>, options: ReadingOptions) {
    this.#server = server;
    this.tip = tip;
    this.#first = first;
    this.#wanted = wanted;
    this.#options = options;
  }

  async tree(known: TreeMemory | undefined): Promise<CommitTree> {
    if (known?.commit === this.tip.commit) {
      const walked = await this.#walk(known.root, known.trees);
      if (walked !== undefined) return walked;
    }
    const { commit, trees } = await this.#fetched();
    const root = commit === undefined ? undefined : rootTree(commit);
    if (root === undefined) throw noSuchCommit(this.#server.name);
    const walked = await this.#walk(root, trees);
    if (walked === undefined) throw foldersMissing(this.#server.name);
    return walked;
  }

  async blobs(oids: readonly string[], keep: number, sink: BlobSink): Promise<void> {
    if (oids.length === 0) return;
    const { store, files, large, passedOver } = await this.#fetched();
    const pace = newPace(this.#server.signal);
    const missing: string[] = [];
    for (const oid of oids) {
      await pace();
      const offset = files.get(oid);
      const size = large.get(oid);
      if (offset !== undefined) {
        const { data } = (await store.get(offset))!;
        if (data.length > keep) sink.large(oid, data.length);
        else await sink.whole(oid, data);
      } else if (size !== undefined) sink.large(oid, size);
      else missing.push(oid);
    }
    if (missing.length > passedOver.length) throw filesMissing(this.#server.name, missing.length);
    for (const oid of missing) sink.large(oid, Math.min(...passedOver));
  }

  async close(): Promise<void> {
    await this.#unpacked?.store.close();
    this.#unpacked = undefined;
  }

  /** @returns undefined where a tree is missing */
  async #walk(root: string, trees: ReadonlyMap<string, Buffer>): Promise<CommitTree | undefined> {
    try {
      return { root, ...(await walk(root, (oid) => trees.get(oid), newPace(this.#server.signal))) };
    } catch (error) {
      if (error instanceof TreeMissing) return undefined;
      throw error;
    }
  }

  /** The whole commit, transferred when it is first needed. */
  async #fetched(): Promise<Unpacked> {
    if (this.#unpacked !== undefined) return this.#unpacked;
    const http = new IsomorphicHttp({
      server: this.#server,
      advertisement: this.#first,
      wanted: this.#wanted,
      fetch: (body) => this.#unpack(body),
    });
    try {
      await fetch({
        fs: noFiles,
        gitdir: nowhere,
        http,
        url: nowhereOverHttp,
        remote: 'origin',
        ref: 'HEAD',
        remoteRef: this.tip.object,
        depth: 1,
        singleBranch: true,
        tags: false,
      });
    } catch (error) {
      // What it still looks for once the pack is here, such as the remote's HEAD, is nothing that a pack needs.
      if (this.#unpacked === undefined) throw http.fault ?? unreadable(this.#server, error);
    }
    if (this.#unpacked === undefined) throw noSuchCommit(this.#server.name);
    return this.#unpacked;
  }

  /** @returns the lines before the pack */
  async #unpack(body: Buffer): Promise<string[]> {
    const { scratch, limits } = this.#options;
    const { name, signal } = this.#server;
    const stream = new ByteStream(await this.#server.request(body, 0, caps.answer));
    const most = limits.totalSize + caps.beside;
    const unpacked: Unpacked = {
      store: new UnpackedStore(join(scratch, 'commit'), {
        bytes: most * caps.unfolds,
        exceeded: () => tooMuch(name, `${most * caps.unfolds} bytes unpacked`),
      }),
      commit: undefined,
      trees: new Map(),
      files: new Map(),
      large: new Map(),
      passedOver: [],
    };
    const lines: string[] = [];
    try {
      const pack = packOfVersionZero(stream, name, () => noSuchCommit(this.#server.name), lines);
      await readPack(
        bounded(pack, most, () => tooMuch(name, `${most} bytes`)),
        {
          name,
          signal,
          store: unpacked.store,
          maxObjects: treeCaps.entries,
          keep: limits.fileSize,
          largest: caps.deltaBase,
          budget: new UnfoldBudget(caps.unpacked, "the repository's files"),
        },
        this.#sinkOf(unpacked),
      );
    } catch (error) {
      await unpacked.store.close();
      throw error;
    } finally {
      await stream.cancel();
    }
    this.#unpacked = unpacked;
    return lines;
  }

  #sinkOf(unpacked: Unpacked): PackSink {
    const { commit } = this.tip;
    const { trees, files, large, passedOver } = unpacked;
    const budget = new UnfoldBudget(caps.trees, "the repository's folders");
    return {
      whole: (oid, { type, data }, offset) => {
        if (type === 'blob') files.set(oid, offset);
        else if (type === 'tree') {
          budget.spend(data.length);
          trees.set(oid, data);
        } else if (oid === commit) unpacked.commit = data;
      },
      large: (oid, type, size) => {
        if (type === 'blob') large.set(oid, size);
      },
      passedOver: (size) => void passedOver.push(size),
    };
  }
}

const tooMuch = (name: string, what: string): UpstreamFault =>
  new UpstreamFault(
    'LimitExceeded',
    `${name} does not offer partial clone and sends more than ${what} for the whole commit; raise spec.limits.totalSize`,
  );

async function* bounded(
  pieces: AsyncIterable<Buffer>,
  most: number,
  tooMany: () => UpstreamFault,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > most) throw tooMany();
    yield piece;
  }
}
