// A remote git repository over HTTP at what a ref means now, read by whichever reader its server allows.
import { UpstreamFault } from '../fault.ts';
import { readerFor } from './advertisement.ts';
import { openPartialClone } from './partial-clone.ts';
import { type Tip, wantedReference } from './references.ts';
import { GitServer, type GitServerOptions } from './server.ts';
import type { TreeMemory } from './tree-memory.ts';
import type { Walked } from './walk.ts';

/**
 * How a server is read: as a partial clone, of which only what is wanted is transferred; or through isomorphic-git, which
 * transfers a whole commit, where a server has no partial clone.
 */
export const gitReaders = ['partial-clone', 'isomorphic-git'] as const;
export type GitReader = (typeof gitReaders)[number];

export type CommitTree = Walked & {
  /** The name of the root tree. */
  root: string;
};

export interface BlobSink {
  whole(oid: string, bytes: Buffer): void | Promise<void>;
  /** @param size bytes */
  large(oid: string, size: number): void;
}

export interface GitRepository {
  readonly reader: GitReader;
  readonly tip: Tip;
  /**
   * The tree of the tip, without content.
   * @param known trees of an earlier commit, if any are kept: what they hold need not be transferred
   * @throws UpstreamFault NotFound for a commit that is not there, LimitExceeded, UpstreamInvalid
   */
  tree(known: TreeMemory | undefined): Promise<CommitTree>;
  /**
   * The bytes of blobs of the tree, in any order.
   * @param keep bytes; a larger blob is told to `sink.large`
   * @throws UpstreamFault UpstreamInvalid when one does not come, LimitExceeded
   */
  blobs(oids: readonly string[], keep: number, sink: BlobSink): Promise<void>;
  /** Removes temporary files. Safe to call twice. */
  close(): Promise<void>;
}

export interface RepositoryOptions extends GitServerOptions {
  /** A folder that this repository alone writes to, from `tree` on. */
  scratch: string;
  limits: {
    /** Bytes of one file that is wanted whole. */
    fileSize: number;
    /** Bytes of all wanted files. */
    totalSize: number;
  };
}

/**
 * Asks the server what it can do and what `ref` means: one or two requests with a partial clone.
 * @param ref `spec.ref`; undefined for the remote's HEAD
 * @throws UpstreamFault NotFound for a reference that the remote does not have, and whatever the guard finds
 */
export async function openRepository(ref: string | undefined, options: RepositoryOptions): Promise<GitRepository> {
  const wanted = wantedReference(ref);
  const server = new GitServer(options);
  const advertisement = await server.advertisement(2, new Set(wanted.kind === 'names' ? wanted.names : []));
  const repository =
    readerFor(advertisement, server.name) === 'partial-clone'
      ? await openPartialClone(server, wanted, options.scratch)
      : await (await import('./isomorphic.ts')).openIsomorphic(server, wanted, advertisement, options);
  if (repository !== undefined) return repository;
  throw new UpstreamFault(
    'NotFound',
    ref === undefined
      ? `the repository at ${server.name} has no default branch or is empty; name a branch in spec.ref`
      : `the repository at ${server.name} has no branch or tag named by spec.ref`,
  );
}
