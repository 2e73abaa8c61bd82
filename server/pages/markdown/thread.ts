// One thread that renders Markdown, a text at a time, each within a time.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { MarkdownSource } from './render.ts';

const program = new URL('./worker.ts', import.meta.url);

/** In MiB: more than the longest text takes. */
const memory = { maxOldGenerationSizeMb: 64 };

export class MarkdownThread {
  readonly #worker: Worker;
  /** Resolves when it can render: its beginning takes longer than most texts. */
  readonly #ready: Promise<unknown>;

  constructor() {
    this.#worker = new Worker(program, { resourceLimits: memory });
    this.#worker.on('error', () => {});
    // A program that ends does not wait for it.
    this.#worker.unref();
    this.#ready = once(this.#worker, 'message');
    this.#ready.catch(() => {});
  }

  /** The HTML; undefined where there is none, in time: the thread may be of no use then. */
  async render(source: MarkdownSource, withinMs: number): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const failed = (): void => resolve(undefined);
    this.#worker.once('error', failed);
    this.#worker.once('exit', failed);
    let late: NodeJS.Timeout | undefined;
    const begin = (): void => {
      late = setTimeout(failed, withinMs);
      this.#worker.once('message', resolve);
      this.#worker.postMessage(source);
    };
    this.#ready.then(begin, failed);
    const text = await promise;
    clearTimeout(late);
    this.#worker.off('error', failed);
    this.#worker.off('exit', failed);
    return text;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
