// Zip archives without compression, byte for byte the same wherever and whenever they are made: sorted by who calls, of
// 1 January 1980, which is zip's zero, rw-r--r--. Nothing of them depends on a compressor's version, so their digest can be
// published before they are asked for, by every replica alike (APPNOTE 6.3.10, 4.3 and 4.4).
import { crc32 } from 'node:zlib';

export interface ZipEntry {
  /** `/`-joined, relative, raw: it goes as UTF-8. */
  path: string;
  /** In bytes. */
  size: number;
}

const localHeaderBytes = 30;
const centralHeaderBytes = 46;
const endBytes = 22;
const mostEntries = 0xfffe;
const mostBytes = 0xfffffffe;

const utf8Names = 0x0800;
const stored = 0;
const firstOfJanuary1980 = 0x0021;
const readVersion = 10;
const madeByUnix = 0x0314;
const regularFile = 0o100644;

/** The size of the archive in bytes; undefined where it is more than the format has room for. */
export function zipSize(entries: readonly ZipEntry[]): number | undefined {
  let bytes = endBytes;
  for (const { path, size } of entries) {
    bytes += localHeaderBytes + centralHeaderBytes + 2 * Buffer.byteLength(path) + size;
  }
  return entries.length > mostEntries || bytes > mostBytes ? undefined : bytes;
}

/**
 * The archive in pieces, a file's content in one. Each file is asked for when what stands before it has been taken.
 * @param entries those of a `zipSize` that is defined
 * @param contentOf a file's bytes, as many as its entry says
 */
export async function* zip<Entry extends ZipEntry>(
  entries: readonly Entry[],
  contentOf: (entry: Entry) => Promise<Buffer>,
): AsyncGenerator<Buffer> {
  const central: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.path);
    const content = await contentOf(entry);
    if (content.length !== entry.size) throw new Error(`${entry.path} has ${content.length} bytes, not ${entry.size}`);
    const fields = commonFields(crc32(content), content.length, name.length);
    central.push(centralHeader(fields, offset), name);
    const header = localHeader(fields);
    yield header;
    yield name;
    if (content.length > 0) yield content;
    offset += header.length + name.length + content.length;
  }
  const directory = Buffer.concat(central);
  yield directory;
  yield endOfDirectory(entries.length, directory.length, offset);
}

/** What stands in both headers of a file, from the version that reads it to the length of the extra field. */
function commonFields(crc: number, size: number, nameBytes: number): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(readVersion, 0);
  fields.writeUInt16LE(utf8Names, 2);
  fields.writeUInt16LE(stored, 4);
  fields.writeUInt16LE(firstOfJanuary1980, 8);
  fields.writeUInt32LE(crc, 10);
  fields.writeUInt32LE(size, 14);
  fields.writeUInt32LE(size, 18);
  fields.writeUInt16LE(nameBytes, 22);
  return fields;
}

const localHeader = (fields: Buffer): Buffer => Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), fields]);

function centralHeader(fields: Buffer, offset: number): Buffer {
  const header = Buffer.alloc(centralHeaderBytes);
  header.write('PK\x01\x02', 'latin1');
  header.writeUInt16LE(madeByUnix, 4);
  fields.copy(header, 6);
  header.writeUInt32LE(regularFile * 0x10000, 38);
  header.writeUInt32LE(offset, 42);
  return header;
}

function endOfDirectory(entries: number, size: number, offset: number): Buffer {
  const end = Buffer.alloc(endBytes);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries, 8);
  end.writeUInt16LE(entries, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(offset, 16);
  return end;
}
