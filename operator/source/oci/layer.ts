// What a layer holds, in its order, each file with the digest of its bytes; and the bytes of files that are wanted.
import { createHash } from 'node:crypto';
import { ArchiveFault, ArchiveTooLarge } from '../../../upstream/archive-fault.ts';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { treeCaps } from '../../../upstream/limits.ts';
import { gathering, readTar, type TarBounds, type TarEntry, type TarTaker } from '../../../upstream/tar.ts';
import { tooManyEntries } from '../folder-tree.ts';
import { unpack } from './unpack.ts';

/** One entry of a layer. */
export type LayerRecord =
  | { type: 'file'; path: string; size: number /** `sha256:<hex>` of its bytes. */; id: string }
  | { type: 'link' | 'hardLink'; path: string; target: string }
  | { type: 'folder' | 'special'; path: string };

export interface LayerListing {
  records: LayerRecord[];
  /** Of all its files. */
  bytes: number;
}

/** What the layers of one artifact may hold together; each that is listed takes its part. */
export class LayerBudget {
  readonly #most: number;
  readonly #totalSize: number;
  #bytes: number;
  #entries: number = treeCaps.entries;
  #names = mostOfNames;

  /** @param totalSize `limits.totalSize`: of all that is wanted, and unpacked some times as much in all */
  constructor(totalSize: number) {
    this.#totalSize = totalSize;
    this.#most = mostUnpacked * totalSize;
    this.#bytes = this.#most;
  }

  bounds(signal: AbortSignal): TarBounds {
    return { bytes: this.#bytes, entries: this.#entries, signal };
  }

  /** @throws UpstreamFault LimitExceeded */
  take(record: LayerRecord): void {
    this.#entries -= 1;
    this.#names -= record.path.length + ('target' in record ? record.target.length : 0);
    if (record.type === 'file') this.#bytes -= record.size;
    if (this.#entries < 0) throw tooManyEntries();
    if (this.#bytes < 0) throw this.tooLarge();
    if (this.#names < 0) {
      throw new UpstreamFault(
        'LimitExceeded',
        `the layers have more than ${mostOfNames} bytes of names, which no field raises: publish less`,
      );
    }
  }

  tooLarge(): UpstreamFault {
    return new UpstreamFault(
      'LimitExceeded',
      `the layers unpack to more than ${this.#most} bytes, which is ${mostUnpacked} times spec.limits.totalSize (${this.#totalSize}): raise it, or publish less`,
    );
  }
}

/** Times `limits.totalSize`. */
const mostUnpacked = 4;
/** Of all entries, so that as many as there may be do not fill the memory. */
const mostOfNames = 64 * 2 ** 20;

/**
 * @param path of the layer on the disk
 * @throws UpstreamFault UpstreamInvalid for a damaged layer, LimitExceeded beyond the budget; the signal's reason
 */
export async function listLayer(path: string, budget: LayerBudget, signal: AbortSignal): Promise<LayerListing> {
  const records: LayerRecord[] = [];
  let bytes = 0;
  for await (const { entry, result } of entriesOf(path, budget, signal, hashing)) {
    const record = recordOf(entry, result);
    budget.take(record);
    if (record.type === 'file') bytes += record.size;
    records.push(record);
  }
  return { records, bytes };
}

/**
 * Files of a layer that has been listed, one after the other.
 * @param wanted their numbers among its files
 * @throws as `listLayer`; what `take` throws
 */
export async function readLayer(
  path: string,
  wanted: ReadonlySet<number>,
  budget: LayerBudget,
  signal: AbortSignal,
  take: (at: number, bytes: Buffer) => Promise<void>,
): Promise<void> {
  let begun = 0;
  let ended = 0;
  let left = wanted.size;
  const begin = () => (wanted.has(begun++) ? gathering() : undefined);
  for await (const { entry, result } of entriesOf(path, budget, signal, begin)) {
    if (entry.type !== 'file') continue;
    const at = ended++;
    if (result === undefined) continue;
    await take(at, result);
    left -= 1;
    if (left === 0) break;
  }
}

async function* entriesOf<Result>(
  path: string,
  budget: LayerBudget,
  signal: AbortSignal,
  begin: () => TarTaker<Result> | undefined,
): AsyncGenerator<{ entry: TarEntry; result: Result | undefined }> {
  try {
    yield* readTar(await unpack(path), budget.bounds(signal), begin);
  } catch (error) {
    if (error instanceof ArchiveTooLarge) throw error.what === 'entries' ? tooManyEntries() : budget.tooLarge();
    if (!(error instanceof ArchiveFault)) throw error;
    throw new UpstreamFault('UpstreamInvalid', `a layer ${error.message}: push the artifact again`, { cause: error });
  }
}

function recordOf({ path: written, type, size, target }: TarEntry, digest: string | undefined): LayerRecord {
  const path = copyOf(written);
  switch (type) {
    case 'file':
      return { type, path, size, id: copyOf(digest!) };
    case 'link':
    case 'hardLink':
      return { type, path, target: copyOf(target) };
    default:
      return { type, path };
  }
}

/** A piece of a text keeps the whole of it in memory, and one that was joined its pieces; a copy keeps itself. */
const copyOf = (text: string): string => Buffer.from(text).toString();

function hashing(): TarTaker<string> {
  const hash = createHash('sha256');
  return { data: (chunk) => void hash.update(chunk), end: () => `sha256:${hash.digest('hex')}` };
}
