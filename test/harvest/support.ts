// Trees and blobs in memory, and harvests of them, for tests.
import { digestOf } from '../../catalogue/digest.ts';
import type { Problem } from '../../catalogue/problem.ts';
import {
  type Blobs,
  type HarvestResult,
  type HarvestRules,
  harvest,
  type KnownContents,
} from '../../operator/harvest/harvest.ts';
import type { Tree, TreeEntry } from '../../operator/source/source.ts';

/** A file's content, or a link's target. */
export type Files = Record<string, string | Buffer | { link: string }>;

export interface MemoryTree extends Tree {
  /** Paths that were read. */
  reads: string[];
}

/** A tree of files that are named by their digest, or by nothing. */
export function treeOf(
  files: Files,
  { ids = true, fileSize = 4 * 1024 * 1024, problems = [] as Problem[] } = {},
): MemoryTree {
  const entries = Object.entries(files).map(([path, content]): TreeEntry => {
    if (typeof content === 'object' && 'link' in content) return { path, link: content.link };
    const bytes = Buffer.from(content as string);
    return ids ? { path, id: digestOf(bytes) } : { path };
  });
  const reads: string[] = [];
  return {
    revision: 'test',
    entries,
    problems,
    reads,
    async read(wanted, sink) {
      for (const entry of wanted) {
        if (!entries.includes(entry)) throw new Error(`${entry.path} is no entry of this tree`);
        if (reads.includes(entry.path)) throw new Error(`${entry.path} is read twice`);
        reads.push(entry.path);
        const bytes = Buffer.from(files[entry.path] as string | Buffer);
        if (bytes.length > fileSize) sink.tooLarge(entry, bytes.length);
        else await sink.take(entry, bytes);
      }
    },
    close: async () => {},
  };
}

export class MemoryBlobs implements Blobs {
  readonly bytes = new Map<string, Buffer>();
  has(digest: string): boolean {
    return this.bytes.has(digest);
  }
  add(bytes: Buffer): string {
    const digest = digestOf(bytes);
    this.bytes.set(digest, Buffer.from(bytes));
    return digest;
  }
  async read(digest: string): Promise<Buffer> {
    const bytes = this.bytes.get(digest);
    if (bytes === undefined) throw new Error(`${digest} is not there`);
    return bytes;
  }
}

export const rulesOf = (rules: Partial<HarvestRules> = {}): HarvestRules => ({
  include: {},
  exclude: [],
  subdirectory: '',
  library: 'lib',
  source: 'src',
  url: 'github://org/repo',
  limits: { files: 50_000, fileSize: 4 * 1024 * 1024, totalSize: 256 * 1024 * 1024 },
  ...rules,
});

export const harvested = (
  files: Files,
  rules: Partial<HarvestRules> = {},
  known: KnownContents = new Map(),
): Promise<HarvestResult> => {
  const whole = rulesOf(rules);
  return harvest(treeOf(files, { fileSize: whole.limits.fileSize }), whole, known, new MemoryBlobs());
};

export const skillText = (name: string, description = `Says what ${name} does.`, body = `# ${name}\n`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}`;

export const addresses = ({ artifacts }: HarvestResult): string[] => artifacts.map(({ address }) => address);

export const filePaths = (result: HarvestResult, address: string): string[] | undefined =>
  result.artifacts.find((artifact) => artifact.address === address)?.files.map(({ path }) => path);

/** `reason path[:line]` of each problem. */
export const told = ({ problems }: HarvestResult): string[] =>
  problems.map(({ reason, path, line }) => `${reason} ${path}${line === undefined ? '' : `:${line}`}`).sort();

export const messageOf = ({ problems }: HarvestResult, reason: string): string =>
  problems.find((problem) => problem.reason === reason)?.message ?? '';
