// Which files of a WebDAV folder can be told to be unchanged without reading them, and the revision of them all. Pure.
import { createHash, hash } from 'node:crypto';
import { byCodePoint } from '../../../catalogue/names.ts';
import { Slices } from '../../../catalogue/slices.ts';
import type { Entry, Remark } from '../../../upstream/webdav/listing.ts';
import { isRacy, sameValidator, validatorOf } from '../../../upstream/webdav/validator.ts';
import type { WalkedFolder } from '../../../upstream/webdav/walk.ts';
import { joinPath } from '../path.ts';
import { sorted } from '../sorted.ts';

/** What the server says of a file, and what is known of its bytes beyond that. */
export interface FileState {
  path: string;
  entry: Entry;
  /** SHA-256 of its bytes, hex, where they were read while it was racy. It is part of the revision from then on. */
  hash?: string;
  /** It may change, or may have changed since it was read, without the server saying anything else of it. */
  racy: boolean;
}

/**
 * @param known the states of the look before
 * @returns the files as they stand now, and those of them that have to be read to know whether they have changed
 */
export async function fileStates(
  folders: ReadonlyMap<string, WalkedFolder>,
  known: ReadonlyMap<string, FileState>,
): Promise<{ files: Map<string, FileState>; doubtful: Set<FileState> }> {
  const slices = new Slices();
  const files = new Map<string, FileState>();
  const doubtful = new Set<FileState>();
  for (const [folder, { entries, at }] of folders) {
    for (const entry of entries) {
      if (slices.over) await slices.turn();
      if (entry.folder) continue;
      const path = joinPath(folder, entry.name);
      const before = known.get(path);
      const racy = isRacy(entry, at);
      const same = before !== undefined && sameValidator(before.entry, entry);
      const state: FileState = { path, entry, racy, ...(same && before.hash ? { hash: before.hash } : {}) };
      if (state.hash !== undefined && (racy || before?.racy)) doubtful.add(state);
      files.set(path, state);
    }
  }
  return { files, doubtful };
}

/** A name for exactly these bytes: of the place, what the server says, and what is known beyond that. */
export const idOf = (base: string, { path, entry, hash: known }: FileState): string =>
  `webdav:${hash('sha256', JSON.stringify([base, path, ...validatorOf(entry), known ?? null]))}`;

/** `sha256:<hex>` over every file and remark, whatever order they are listed in. */
export async function revisionOf(
  files: ReadonlyMap<string, FileState>,
  folders: ReadonlyMap<string, { remarks: readonly Remark[] }>,
): Promise<string> {
  const slices = new Slices();
  const digest = createHash('sha256');
  for (const { path, entry, hash: known } of await sorted([...files.values()], byPath, slices)) {
    digest.update(`${JSON.stringify([path, ...validatorOf(entry), ...(known === undefined ? [] : [known])])}\n`);
    if (slices.over) await slices.turn();
  }
  const remarks = [...folders].flatMap(([path, folder]) =>
    folder.remarks.map((remark) => JSON.stringify([path, remark])),
  );
  for (const line of await sorted(remarks, byCodePoint, slices)) {
    digest.update(`${line}\n`);
    if (slices.over) await slices.turn();
  }
  return `sha256:${digest.digest('hex')}`;
}

const byPath = (a: FileState, b: FileState): number => byCodePoint(a.path, b.path);
