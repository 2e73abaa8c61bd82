// The wanted files of a server: read side by side, handed on one after the other, within the limits of the look.
import type { LookContext } from './backend.ts';
import type { TreeEntry, TreeSink } from './source.ts';
import { readTogether } from './together.ts';
import { totalSizeFault } from './total-size.ts';

export class WantedFiles {
  readonly #context: Pick<LookContext, 'limits' | 'signal'>;
  #total = 0;
  #handing: Promise<void> = Promise.resolve();

  /** @param context of one tree, whose files count together against `limits.totalSize` */
  constructor(context: Pick<LookContext, 'limits' | 'signal'>) {
    this.#context = context;
  }

  /**
   * @param get the bytes of an entry; undefined for one over `limits.fileSize`
   * @throws UpstreamFault LimitExceeded beyond `limits.totalSize`; what `get` and the sink throw; the signal's reason
   */
  read(
    wanted: readonly TreeEntry[],
    sink: TreeSink,
    get: (entry: TreeEntry, signal: AbortSignal) => Promise<Buffer | undefined>,
  ): Promise<void> {
    const { limits, signal } = this.#context;
    return readTogether(wanted, limits, signal, async (entry, stop) => {
      const isLarge = entry.size !== undefined && entry.size > limits.fileSize;
      const bytes = isLarge ? undefined : await get(entry, stop);
      if (bytes === undefined) return sink.tooLarge(entry, entry.size ?? limits.fileSize + 1);
      this.#total += bytes.length;
      if (this.#total > limits.totalSize) throw totalSizeFault(limits.totalSize);
      this.#handing = this.#handing.then(() => sink.take(entry, bytes));
      await this.#handing;
    });
  }
}
