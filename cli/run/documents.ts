// The YAML documents of a manifest folder, read anew when a file of it changed.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

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

type ReadFiles = Map<string, { stamp: string; documents: ManifestDocument[]; complaint?: string }>;

const manifestName = /\.(ya?ml|json)$/;
const largestManifest = 4 * 1024 * 1024;

export class ManifestFolder {
  readonly #folder: string;
  readonly #only: string | undefined;
  #files: ReadFiles = new Map();

  /** @param only the one file that counts; every manifest of the folder when left out */
  constructor(folder: string, only?: string) {
    this.#folder = folder;
    this.#only = only;
  }

  /** The folder's documents, or nothing when no file changed since the last reading. Sub-folders are not manifests. */
  async read(): Promise<Reading | undefined> {
    const names = (await readdir(this.#folder))
      .filter((name) => (this.#only === undefined ? manifestName.test(name) : name === this.#only))
      .sort();
    let changed = names.length !== this.#files.size;
    const files: ReadFiles = new Map();
    for (const name of names) {
      const path = join(this.#folder, name);
      const { mtimeMs, size, ino } = await stat(path);
      const stamp = `${ino} ${size} ${mtimeMs}`;
      const known = this.#files.get(name);
      if (known?.stamp === stamp) {
        files.set(name, known);
        continue;
      }
      changed = true;
      files.set(name, { stamp, ...(await this.#parse(name, path, size, known?.documents ?? [])) });
    }
    this.#files = files;
    if (!changed) return undefined;
    const all = [...files.values()];
    return {
      documents: all.flatMap(({ documents }) => documents),
      complaints: all.flatMap(({ complaint }) => (complaint === undefined ? [] : [complaint])),
    };
  }

  async #parse(
    file: string,
    path: string,
    size: number,
    lastGood: ManifestDocument[],
  ): Promise<{ documents: ManifestDocument[]; complaint?: string }> {
    if (size > largestManifest) return { documents: lastGood, complaint: `${file}: larger than 4 MiB` };
    const text = await readFile(path, 'utf8');
    const parsed = parseAllDocuments(text, { prettyErrors: true });
    const documents: ManifestDocument[] = [];
    if (!Array.isArray(parsed)) return { documents };
    for (const document of parsed) {
      const line = text.slice(0, document.range?.[0] ?? 0).split('\n').length;
      const error = document.errors[0];
      if (error) {
        const at = error.linePos?.[0].line ?? line;
        return { documents: lastGood, complaint: `${file}:${at}: not YAML (${error.code})` };
      }
      const value: unknown = document.toJS({ maxAliasCount: 100 });
      if (value !== null && value !== undefined) documents.push({ file, line, value });
    }
    return { documents };
  }
}
