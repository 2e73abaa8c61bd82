// Whether a file is still the one that was read, without reading it: the operator renames another one over it.
import { type FileHandle, open } from 'node:fs/promises';

/** A file younger than this may change again within the resolution of its times. */
const racyMs = 2000;

/** Undefined when the file may have changed without its identity showing it, or is not there. */
export async function fileIdentity(path: string): Promise<string | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const { dev, ino, size, mtimeMs, mtimeNs, ctimeNs } = await handle.stat({ bigint: true });
    return Date.now() - Number(mtimeMs) < racyMs ? undefined : `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } finally {
    await handle.close();
  }
}
