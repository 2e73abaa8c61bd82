// What is known of a WebDAV folder from the look before: its listings and the files that were racy, as JSON lines with their
// digest behind them.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Slices } from '../../../catalogue/slices.ts';
import type { Entry } from '../../../upstream/webdav/listing.ts';
import type { Folder } from '../../../upstream/webdav/walk.ts';
import { joinPath } from '../path.ts';
import type { FileState } from './files.ts';

export interface WebDavMemory {
  folders: ReadonlyMap<string, Folder>;
  files: ReadonlyMap<string, FileState>;
}

const format = 'lyceum webdav 1';
const entriesPerLine = 128;

const headerSchema = z.tuple([z.literal(format), z.string()]);
const remarkSchema = z.object({
  reason: z.enum(['BadFileName', 'AccessDenied']),
  name: z.string().optional(),
  message: z.string(),
});
/** A folder; a folder's entries follow it. */
const folderLine = z.tuple([z.literal('folder'), z.string(), z.string(), z.array(remarkSchema)]);
/** Name, whether it is a folder, ETag, size, time, hash, whether it is racy, whether its ETag is deep. */
const entrySchema = z.tuple([
  z.string(),
  z.boolean(),
  z.string().nullable(),
  z.number().nullable(),
  z.number().nullable(),
  z.string().nullable(),
  z.boolean(),
  z.boolean(),
]);
const entriesLine = z.tuple([z.literal('entries'), z.array(entrySchema)]);
const lineSchema = z.union([folderLine, entriesLine]);

/** @param base the source's address: what is known of another one is worth nothing */
export async function encodeMemory(base: string, { folders, files }: WebDavMemory): Promise<Buffer> {
  const slices = new Slices();
  const lines: Buffer[] = [line([format, base])];
  for (const [path, { hash, remarks, entries }] of folders) {
    lines.push(line(['folder', path, hash, remarks]));
    for (let at = 0; at < entries.length; at += entriesPerLine) {
      lines.push(
        line([
          'entries',
          entries.slice(at, at + entriesPerLine).map((entry) => row(entry, files.get(joinPath(path, entry.name)))),
        ]),
      );
      if (slices.over) await slices.turn();
    }
    if (slices.over) await slices.turn();
  }
  const bytes = Buffer.concat(lines);
  return Buffer.concat([bytes, await digested(bytes, slices)]);
}

const digestBytes = 32;
const hashedAtOnce = 2 ** 20;

async function digested(bytes: Buffer, slices: Slices): Promise<Buffer> {
  const digest = createHash('sha256');
  for (let at = 0; at < bytes.length; at += hashedAtOnce) {
    digest.update(bytes.subarray(at, at + hashedAtOnce));
    if (slices.over) await slices.turn();
  }
  return digest.digest();
}

const line = (content: unknown): Buffer => Buffer.from(`${JSON.stringify(content)}\n`);

const row = (
  { name, folder, etag, size, modified, deep }: Entry,
  state: FileState | undefined,
): z.infer<typeof entrySchema> => [
  name,
  folder,
  etag ?? null,
  size ?? null,
  modified ?? null,
  state?.hash ?? null,
  state?.racy ?? false,
  deep ?? false,
];

/** @returns undefined for what is damaged, of another version or of another address: the next look then reads everything */
export async function decodeMemory(base: string, file: Buffer): Promise<WebDavMemory | undefined> {
  try {
    return await decoded(base, file);
  } catch {
    return undefined;
  }
}

async function decoded(base: string, written: Buffer): Promise<WebDavMemory | undefined> {
  const slices = new Slices();
  const file = written.subarray(0, -digestBytes);
  if (!(await digested(file, slices)).equals(written.subarray(-digestBytes))) return undefined;
  const folders = new Map<string, Folder>();
  const files = new Map<string, FileState>();
  let folder: { path: string; entries: Entry[] } | undefined;
  for (let from = 0, end = file.indexOf('\n'); end !== -1; from = end + 1, end = file.indexOf('\n', from)) {
    if (slices.over) await slices.turn();
    const content: unknown = JSON.parse(file.toString('utf8', from, end));
    if (from === 0) {
      if (headerSchema.parse(content)[1] !== base) return undefined;
      continue;
    }
    const found = lineSchema.parse(content);
    if (found[0] === 'folder') {
      const [, path, hash, remarks] = found;
      folder = { path, entries: [] };
      folders.set(path, { hash, entries: folder.entries, remarks: remarks.map(remarkOf) });
    } else if (folder === undefined) return undefined;
    else {
      for (const [name, isFolder, etag, size, modified, hash, racy, deep] of found[1]) {
        const entry: Entry = {
          name,
          folder: isFolder,
          ...(etag === null ? {} : { etag }),
          ...(size === null ? {} : { size }),
          ...(modified === null ? {} : { modified }),
          ...(deep ? { deep } : {}),
        };
        folder.entries.push(entry);
        const path = joinPath(folder.path, name);
        if (!isFolder) files.set(path, { path, entry, racy, ...(hash === null ? {} : { hash }) });
      }
    }
  }
  return { folders, files };
}

const remarkOf = ({ name, ...remark }: z.infer<typeof remarkSchema>) => ({
  ...remark,
  ...(name === undefined ? {} : { name }),
});
