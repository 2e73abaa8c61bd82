// The trees of the commit that was read last, kept so that the next refresh transfers only what differs.
import { createHash } from 'node:crypto';

export interface TreeMemory {
  commit: string;
  /** The commit's root tree. */
  root: string;
  trees: ReadonlyMap<string, Buffer>;
  /** Targets of symbolic links, by the blob that holds each. */
  links: ReadonlyMap<string, Buffer>;
}

const magic = Buffer.from('lyceum git trees 1\n');
const nameBytes = 20;
const digestBytes = 32;

/** The file: magic, commit, root, two counted lists of (name, length, bytes), and the SHA-256 of all that. */
export function encodeTreeMemory(memory: TreeMemory): Buffer {
  const parts: Buffer[] = [magic, Buffer.from(memory.commit, 'hex'), Buffer.from(memory.root, 'hex')];
  for (const objects of [memory.trees, memory.links]) {
    parts.push(unsigned(objects.size));
    for (const [oid, bytes] of objects) parts.push(Buffer.from(oid, 'hex'), unsigned(bytes.length), bytes);
  }
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return Buffer.concat([...parts, hash.digest()]);
}

/** @returns undefined for what is damaged, cut short or of another version: the next look then reads everything */
export function decodeTreeMemory(file: Buffer): TreeMemory | undefined {
  const end = file.length - digestBytes;
  if (end < magic.length + 2 * nameBytes + 8 || !file.subarray(0, magic.length).equals(magic)) return undefined;
  if (!createHash('sha256').update(file.subarray(0, end)).digest().equals(file.subarray(end))) return undefined;
  let at = magic.length;
  const take = (bytes: number): Buffer => {
    at += bytes;
    return file.subarray(at - bytes, at);
  };
  const commit = take(nameBytes).toString('hex');
  const root = take(nameBytes).toString('hex');
  const objects = (): Map<string, Buffer> => {
    const list = new Map<string, Buffer>();
    for (let count = take(4).readUInt32BE(); count > 0; count--) {
      const oid = take(nameBytes).toString('hex');
      list.set(oid, take(take(4).readUInt32BE()));
    }
    return list;
  };
  return { commit, root, trees: objects(), links: objects() };
}

function unsigned(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
