// What is known of a file's bytes, whatever the file is called.
import { isUtf8 } from 'node:buffer';
import { digestOf } from '../../catalogue/digest.ts';

export interface Content {
  /** `sha256:<hex>` */
  digest: string;
  /** In bytes. */
  size: number;
  /** Whether the bytes are UTF-8, so that they survive being a string. */
  text: boolean;
  /** Whether they only point at a file in Git LFS. */
  lfsPointer: boolean;
}

/** A file's content, or the size of one that is over `limits.fileSize`. */
export type KnownContent = Content | { tooLarge: number };

/** By upstream's id. */
export type KnownContents = ReadonlyMap<string, KnownContent>;

const lfsHeader = Buffer.from('version https://git-lfs.github.com/spec/v1\n');

/** A pointer has a few short lines. */
const largestPointer = 1024;

export const contentOf = (bytes: Buffer): Content => ({
  digest: digestOf(bytes),
  size: bytes.length,
  text: isUtf8(bytes),
  lfsPointer: bytes.length <= largestPointer && bytes.subarray(0, lfsHeader.length).equals(lfsHeader),
});
