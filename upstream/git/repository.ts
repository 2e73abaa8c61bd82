// A remote git repository at what a ref means now, as whichever reader of its server gives it.
import type { Tip } from './references.ts';
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

export interface ReadingOptions {
  /** A folder that this repository alone writes to, from `tree` on. */
  scratch: string;
  limits: {
    /** Bytes of one file that is wanted whole. */
    fileSize: number;
    /** Bytes of all wanted files. */
    totalSize: number;
  };
}
