// The YAML documents of a manifest folder, read anew when a file of it changed.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { LineCounter, parseAllDocuments } from 'yaml';

/** One document. `order` is its place among all documents of the folder: files by name, then from top to bottom. */
export interface ManifestDocument {
  file: string;
  line: number;
  value: unknown;
}

export interface Reading {
  documents: ManifestDocument[];
  /** `file:line: what is wrong`, for files that could not be read; their last good documents stand in for them. */
  complaints: string[];
}

interface ReadFile {
  stamp: string;
  documents: ManifestDocument[];
  complaint?: string;
}

/** A manifest as the folder shows it, unread. */
interface ListedFile {
  path: string;
  stamp: string;
  size: number;
  /** Errno of a file that cannot be looked at. */
  fault?: string;
}

/** Hidden files are editors' own: lock files, swap files. */
const manifestName = /^[^.].*\.(ya?ml|json)$/;
const largestManifest = 4 * 1024 * 1024;
/** A file that moved is read when it has stood still for so long: an editor may be in the middle of writing it. */
const settleMilliseconds = 100;

export class ManifestFolder {
  readonly #folder: string;
  readonly #only: string | undefined;
  #files: ReadonlyMap<string, ReadFile> | undefined;

  /** @param only the one file that counts; every manifest of the folder when left out */
  constructor(folder: string, only?: string) {
    this.#folder = folder;
    this.#only = only;
  }

  /**
   * The folder's documents, or nothing when no file changed since the last reading. Sub-folders are not manifests.
   * @throws errors of the file system when the folder itself cannot be listed
   */
  async read(): Promise<Reading | undefined> {
    let listed = await this.#list();
    const known = this.#files;
    const files = new Map<string, ReadFile>();
    if (known !== undefined) {
      if (listed.size === known.size && [...listed].every(([name, { stamp }]) => known.get(name)?.stamp === stamp)) {
        return undefined;
      }
      const first = listed;
      await pause(settleMilliseconds);
      listed = await this.#list();
      for (const name of new Set([...first.keys(), ...listed.keys(), ...known.keys()])) {
        if (first.get(name)?.stamp === listed.get(name)?.stamp) continue;
        listed.delete(name);
        const before = known.get(name);
        if (before !== undefined) files.set(name, before);
      }
    }
    for (const [name, file] of listed) {
      const before = known?.get(name);
      files.set(name, before?.stamp === file.stamp ? before : await readManifest(name, file, before?.documents ?? []));
    }
    this.#files = files;
    const all = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, file]) => file);
    return {
      documents: all.flatMap(({ documents }) => documents),
      complaints: all.flatMap(({ complaint }) => (complaint === undefined ? [] : [complaint])),
    };
  }

  async #list(): Promise<Map<string, ListedFile>> {
    const files = new Map<string, ListedFile>();
    for (const name of await readdir(this.#folder)) {
      if (this.#only === undefined ? !manifestName.test(name) : name !== this.#only) continue;
      const path = join(this.#folder, name);
      try {
        const stats = await stat(path);
        if (!stats.isFile()) continue;
        const { ino, size, mtimeMs } = stats;
        files.set(name, { path, size, stamp: `${ino} ${size} ${mtimeMs}` });
      } catch (error) {
        const fault = (error as NodeJS.ErrnoException).code ?? 'error';
        files.set(name, { path, size: 0, stamp: fault, fault });
      }
    }
    return files;
  }
}

/** What is wrong with a file leaves the others, and its own last good documents, in place. */
async function readManifest(
  name: string,
  { path, stamp, size, fault }: ListedFile,
  lastGood: ManifestDocument[],
): Promise<ReadFile> {
  const refused = (complaint: string): ReadFile => ({ stamp, documents: lastGood, complaint: `${name}${complaint}` });
  if (fault !== undefined) return refused(`: cannot be read (${fault})`);
  if (size > largestManifest) return refused(': larger than 4 MiB');
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    return refused(`: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
  }
  const found = documentsIn(name, text);
  return Array.isArray(found) ? { stamp, documents: found } : refused(found.complaint);
}

const tooDeep = { complaint: ': nested too deeply to be read' };

/** The package throws it, or gathers it like the errors of a file, by where its stack ends. */
const isStackOverflow = ({ message }: Error): boolean => /^Maximum call stack/.test(message);

/** @returns the documents that say something; or what is wrong, with the line, to be put behind the file's name */
export function documentsIn(file: string, text: string): ManifestDocument[] | { complaint: string } {
  const lines = new LineCounter();
  // Not with `prettyErrors`: brackets that are opened a thousand times, and never closed, would take minutes.
  let parsed: ReturnType<typeof parseAllDocuments>;
  try {
    parsed = parseAllDocuments(text, { prettyErrors: false, lineCounter: lines, logLevel: 'error' });
  } catch (error) {
    if (!isStackOverflow(error as Error)) throw error;
    return tooDeep;
  }
  const documents: ManifestDocument[] = [];
  if (!Array.isArray(parsed)) return documents;
  for (const document of parsed) {
    const { line } = lines.linePos(document.range?.[0] ?? 0);
    const error = document.errors[0];
    if (error !== undefined && isStackOverflow(error)) return tooDeep;
    if (error)
      return { complaint: `:${lines.linePos(error.pos[0]).line}: not YAML: ${error.message.split('\n', 1)[0]}` };
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: 100 });
    } catch {
      return { complaint: `:${line}: aliases that stand for too much, or for nothing` };
    }
    if (value !== null && value !== undefined) documents.push({ file, line, value });
  }
  return documents;
}
