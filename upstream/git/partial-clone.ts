// A git server of protocol version 2 with partial clone: the commit's trees first, then the blobs that are wanted.
import { join } from 'node:path';
import { UpstreamFault } from '../fault.ts';
import { treeCaps } from '../limits.ts';
import { newPace } from '../pace.ts';
import { linesToFlush } from './advertisement.ts';
import { ByteStream } from './byte-stream.ts';
import { packOf } from './fetch-response.ts';
import { rootTree } from './objects.ts';
import { type PackOptions, type PackSink, readPack } from './pack.ts';
import {
  chooseReference,
  parseReference,
  type Reference,
  type Tip,
  tipOfCommit,
  type WantedReference,
} from './references.ts';
import type { BlobSink, CommitTree, GitRepository } from './repository.ts';
import { fetchBlobs, fetchTrees, listReferences } from './requests.ts';
import { filesMissing, foldersMissing, type GitServer, noSuchCommit } from './server.ts';
import type { TreeMemory } from './tree-memory.ts';
import { UnfoldBudget } from './unfold-budget.ts';
import { UnpackedStore } from './unpacked-store.ts';
import { TreeMissing, walk } from './walk.ts';

const mebibyte = 2 ** 20;
const caps = {
  references: 16 * mebibyte,
  /** A pack of trees, packed and unpacked. */
  trees: 64 * mebibyte,
  /** Packs of blobs on the wire, one answer; unpacked, one call. */
  blobs: 4096 * mebibyte,
  wants: 5000,
  /** Blobs that a pack did not bring in a form that can be read in bounded memory, asked for one by one. */
  singles: 64,
};

/**
 * One request, none for a commit's full name, which means itself and is not looked up.
 * @param scratch a folder that this repository alone writes to
 * @returns undefined where the remote has no such reference
 */
export async function openPartialClone(
  server: GitServer,
  wanted: WantedReference,
  scratch: string,
): Promise<GitRepository | undefined> {
  const tip = wanted.kind === 'commit' ? tipOfCommit(wanted.oid) : await findTip(server, wanted.names);
  return tip && new PartialClone(server, tip, scratch);
}

async function findTip(server: GitServer, names: readonly string[]): Promise<Tip | undefined> {
  const stream = new ByteStream(await server.request(listReferences(names), 2, caps.references));
  const found: Reference[] = [];
  try {
    for await (const line of linesToFlush(stream, server.name, newPace(server.signal))) {
      const reference = parseReference(line);
      if (reference !== undefined && names.includes(reference.name)) found.push(reference);
    }
    await stream.fill(1);
  } finally {
    await stream.cancel();
  }
  return chooseReference(names, found);
}

class PartialClone implements GitRepository {
  readonly reader = 'partial-clone';
  readonly tip: Tip;
  readonly #server: GitServer;
  readonly #scratch: string;
  #packs = 0;

  constructor(server: GitServer, tip: Tip, scratch: string) {
    this.#server = server;
    this.tip = tip;
    this.#scratch = scratch;
  }

  async tree(known: TreeMemory | undefined): Promise<CommitTree> {
    try {
      return await this.#tree(known);
    } catch (error) {
      if (!(error instanceof TreeMissing)) throw error;
    }
    try {
      return await this.#tree(undefined);
    } catch (error) {
      if (!(error instanceof TreeMissing)) throw error;
      throw foldersMissing(this.#server.name);
    }
  }

  async blobs(oids: readonly string[], keep: number, sink: BlobSink): Promise<void> {
    const budget = new UnfoldBudget(caps.blobs, 'the wanted files, those too large to keep among them,');
    const left = new Set(oids);
    for (let from = 0; from < oids.length; from += caps.wants) {
      await this.#blobs(oids.slice(from, from + caps.wants), left, keep, budget, sink);
    }
    if (left.size <= caps.singles) for (const oid of [...left]) await this.#blobs([oid], left, keep, budget, sink);
    if (left.size > 0) {
      throw filesMissing(this.#server.name, left.size);
    }
  }

  async close(): Promise<void> {}

  async #tree(known: TreeMemory | undefined): Promise<CommitTree> {
    const { commit } = this.tip;
    const trees = new Map<string, Buffer>();
    let root = known?.commit === commit ? known.root : undefined;
    if (root === undefined) {
      let commitBytes: Buffer | undefined;
      await this.#fetch(fetchTrees(commit, known?.commit), caps.trees, {
        absent: () => noSuchCommit(this.#server.name),
        keep: caps.trees,
        budget: new UnfoldBudget(caps.trees, "the repository's folders"),
        base: (oid) => {
          const data = known?.trees.get(oid);
          return data === undefined ? undefined : { type: 'tree', data };
        },
        whole: (oid, { type, data }) => {
          if (type === 'tree') trees.set(oid, data);
          if (oid === commit && type === 'commit') commitBytes = data;
        },
        large: () => {},
      });
      root = commitBytes === undefined ? undefined : rootTree(commitBytes);
    }
    if (root === undefined) throw noSuchCommit(this.#server.name);
    const find = (oid: string) => trees.get(oid) ?? known?.trees.get(oid);
    return { root, ...(await walk(root, find, newPace(this.#server.signal))) };
  }

  async #blobs(wants: string[], left: Set<string>, keep: number, budget: UnfoldBudget, sink: BlobSink): Promise<void> {
    await this.#fetch(fetchBlobs(wants), caps.blobs, {
      absent: () =>
        new UpstreamFault(
          'UpstreamInvalid',
          `${this.#server.name} does not give out files by name, as partial clone needs`,
        ),
      keep,
      budget,
      whole: (oid, { type, data }) => (type === 'blob' && left.delete(oid) ? sink.whole(oid, data) : undefined),
      large: (oid, type, size) => {
        if (type === 'blob' && left.delete(oid)) sink.large(oid, size);
      },
    });
  }

  async #fetch(
    body: Buffer,
    maxBytes: number,
    read: Pick<PackOptions, 'keep' | 'budget' | 'base'> & PackSink & { absent: () => UpstreamFault },
  ): Promise<void> {
    const { name, signal } = this.#server;
    const stream = new ByteStream(await this.#server.request(body, 2, maxBytes));
    const store = new UnpackedStore(join(this.#scratch, `pack-${++this.#packs}`));
    try {
      const options = { ...read, name, maxObjects: treeCaps.entries, largest: 0, store, signal };
      await readPack(packOf(stream, name, read.absent), options, read);
    } finally {
      await store.close();
      await stream.cancel();
    }
  }
}
