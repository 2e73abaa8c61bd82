// Git's tree objects by their raw bytes, and which names in them are fit to be a file's.
import { isUtf8 } from 'node:buffer';

export type TreeKind = 'file' | 'link' | 'folder' | 'submodule' | 'special';

export interface TreeItem {
  kind: TreeKind;
  /** The name as it stands, for people: what is no text or would break a line is escaped. */
  shown: string;
  /** The name, never normalised; undefined when it is not fit (`why` says so). */
  name: string | undefined;
  why: string | undefined;
  nameBytes: number;
  oid: string;
}

/** Bytes that are no tree object. */
export class TreeDamaged extends Error {}

/**
 * The items in their order, one at a time: a folder may have half a million.
 * @throws TreeDamaged
 */
export function* treeItems(data: Buffer): Generator<TreeItem> {
  for (let at = 0; at < data.length; ) {
    const space = data.indexOf(0x20, at);
    const nul = data.indexOf(0, space + 1);
    if (space < 0 || space - at > 7 || nul < 0 || nul + 21 > data.length) throw new TreeDamaged();
    const mode = data.toString('latin1', at, space);
    if (!/^[0-7]+$/.test(mode)) throw new TreeDamaged();
    const raw = data.subarray(space + 1, nul);
    const oid = data.toString('hex', nul + 1, nul + 21);
    at = nul + 21;
    const text = isUtf8(raw) ? raw.toString('utf8') : undefined;
    const why = text === undefined ? 'is not UTF-8' : unfit(text);
    yield {
      kind: kindOf(Number.parseInt(mode, 8)),
      shown: shownName(raw, text),
      name: why === undefined ? text : undefined,
      why,
      nameBytes: raw.length,
      oid,
    };
  }
}

/** By the file type alone: permissions vary with the tool that wrote the tree (100664 is a file as well). */
function kindOf(mode: number): TreeKind {
  switch (mode & 0o170000) {
    case 0o040000:
      return 'folder';
    case 0o100000:
      return 'file';
    case 0o120000:
      return 'link';
    case 0o160000:
      return 'submodule';
    default:
      return 'special';
  }
}

/** Characters that HFS+ drops from names, so that what is left may read `.git`. */
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
const gitFolder = /^(\.git|git~1)[ .]*(:.*)?$/i;

function unfit(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name === '.' || name === '..') return 'means another folder';
  if (name.includes('/')) return 'holds a slash';
  if (name.includes('\\')) return 'holds a backslash';
  if (/[\n\r]/.test(name)) return 'holds a line break';
  if (gitFolder.test(name.replace(ignoredByHfs, ''))) return "is git's own";
  return undefined;
}

function shownName(raw: Buffer, text: string | undefined): string {
  const readable = text ?? raw.toString('latin1');
  const escaped = text === undefined ? /[^\x20-\x7e]/g : /\p{Cc}/gu;
  return readable.replace(escaped, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
