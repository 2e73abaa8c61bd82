// `lyceum server` in a process of its own, as it is deployed, on a free port.
import { join } from 'node:path';
import { Child } from '../child.ts';
import { gateway } from './catalogue.ts';
import type { Usage, UsageQuestion } from './observed.ts';

export class LyceumServer implements AsyncDisposable {
  readonly #child: Child;
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;

  private constructor(child: Child, origin: string) {
    this.#child = child;
    this.origin = origin;
  }

  /**
   * Resolves when it says that it serves.
   * @param volume the folder that was published to
   * @param options of `lyceum server`, besides those that every measured server has
   * @throws Error when it ends instead
   */
  static async start(volume: string, options: readonly string[] = []): Promise<LyceumServer> {
    const origin = Promise.withResolvers<string>();
    const args = ['server', '--volume', volume, '--namespace', gateway.namespace, '--gateway', gateway.name];
    const child = new Child('../cli/main.ts', {
      args: [...args, '--host', '127.0.0.1', '--port', '0', '--metrics-port', '0', ...options],
      nodeOptions: ['--expose-gc', '--import', join(import.meta.dirname, 'observed.ts')],
      errorLine: (line) => {
        const url = /"url":"([^"]+)"/.exec(line)?.[1];
        if (url !== undefined) origin.resolve(url);
        else if (!line.includes('"level":30')) console.error(`lyceum server: ${line}`);
      },
    });
    const stop = new AbortController();
    try {
      return new LyceumServer(child, await Promise.race([origin.promise, child.failed(stop.signal)]));
    } finally {
      stop.abort();
    }
  }

  usage(question: UsageQuestion): Promise<Usage> {
    return this.#child.ask<Usage>(question);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
  }
}
